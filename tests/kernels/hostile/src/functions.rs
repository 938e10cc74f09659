//! Kernels and layouts inside functions, with types that are known there alone.

use baton::prelude::*;

/// Not the one inside.
pub type Inside = ReadOnly<u8>;

macro_rules! kernels {
    () => {
        type Inside = GlobalPtr<u32>;
        const NUMBERS: usize = 64;
        baton::shared! { struct Smem in smem { numbers: Exchange<u32, NUMBERS>, more: Exchange<u32, 32> } }

        #[baton::kernel(threads = 32)]
        fn in_a_function(cta: Cta<'_, Smem, 32>, out: Inside) -> Exit<'_> {
            let (mut cta, smem::Parts { numbers, .. }) = cta.claim();
            let numbers = numbers.open(&mut cta).fill(&mut cta, |i| 7 * i).arrive(&mut cta).wait(&mut cta);
            for mut element in out.partition(&cta) {
                element.put(numbers.get(63));
            }
            numbers.close(&mut cta);
            cta.join().exit(())
        }

        #[baton::kernel(threads = 64)]
        fn in_a_function_too(cta: Cta<'_, NoShared, { NUMBERS as u32 }>, out: Inside) -> Exit<'_> {
            let (cta, ()) = cta.claim();
            for mut element in out.partition(&cta) {
                element.put(8);
            }
            cta.join().exit(())
        }
    };
}
/// What the host calls, of kernels that nobody else can name.
#[cfg(not(target_arch = "nvptx64"))]
pub type Calls = (
    fn(baton::launch::DeviceSliceMut<'_, u32>) -> baton::launch::Call<'_>,
    fn(baton::launch::DeviceSliceMut<'_, u32>) -> baton::launch::Call<'_>,
);

/// Two kernels and a layout in the body of a function.
#[cfg(not(target_arch = "nvptx64"))]
pub fn calls() -> Calls {
    kernels!();
    (|out| in_a_function(out), |out| in_a_function_too(out))
}

/// The same function where there are no calls.
#[cfg(target_arch = "nvptx64")]
pub fn calls() {
    kernels!();
}
