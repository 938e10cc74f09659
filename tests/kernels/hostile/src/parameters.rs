//! Parameters with the names that the macro could use for itself, and patterns that have none.

use baton::prelude::*;

/// Each of them counts.
#[baton::kernel(threads = 32)]
pub fn called_alike(
    root: Cta<'_, NoShared, 32>,
    params: GlobalPtr<u32>,
    run: u32,
    entered: u32,
    body: u32,
    call: u32,
    address: u32,
    at: u32,
    abi: u32,
    cta: u32,
    received0: u32,
    argument1: u32,
    kernel: u32,
) -> Exit<'_> {
    let (root, ()) = root.claim();
    let sum = [run, entered, body, call, address, at, abi, cta, received0, argument1, kernel];
    for mut element in params.partition(&root) {
        element.put(sum.iter().fold(0, |sum, digit| 10 * sum % 1_000_000_007 + digit));
    }
    root.join().exit(())
}

/// Patterns, of which some have no name.
#[baton::kernel(threads = 32)]
pub fn patterns(
    mut cta: Cta<'_, NoShared, 32>,
    mut first: u32,
    _: u32,
    _unused: u32,
    last @ 0..: u32,
    r#in: u32,
    argument1: u32,
    out: GlobalPtr<u32>,
) -> Exit<'_> {
    first += 1;
    cta.barrier();
    let (cta, ()) = cta.claim();
    for mut element in out.partition(&cta) {
        element.put(first * 1000 + last * 100 + r#in * 10 + argument1);
    }
    cta.join().exit(())
}

/// No parameter but the token.
#[baton::kernel(threads = 32)]
pub fn nothing(cta: Cta<'_, NoShared, 32>) -> Exit<'_> {
    let (cta, ()) = cta.claim();
    cta.join().exit(())
}
