//! A mailbox whose sender is its receiver.

#[path = "../fixture/mailbox.rs"]
mod fixture;
use fixture::*;

#[baton::kernel(threads = 128)]
fn alone(cta: Cta<'_, NoShared, 128>, mailbox: Mailbox<u32, 1, 1>) -> Exit<'_> {
    let mut cta = cta;
    let _end = mailbox.end(&mut cta);
    let (cta, ()) = cta.claim();
    cta.join().exit(())
}

fn main() {
    let _ = alone;
}
