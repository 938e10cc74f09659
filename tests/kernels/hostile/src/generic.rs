//! Generic kernels whose type parameters hide types, and whose arguments are called like parameters.

use baton::prelude::*;
use baton::tile::Element;

/// What an instance stores.
pub trait Stored: Element {
    /// The array that it is stored to.
    type Words;
    /// The number.
    fn stored() -> Self;
}
impl Stored for u32 {
    type Words = GlobalPtr<u32>;
    fn stored() -> u32 {
        32
    }
}
impl Stored for u64 {
    type Words = GlobalPtr<u64>;
    fn stored() -> u64 {
        64
    }
}
impl Stored for f32 {
    type Words = GlobalPtr<f32>;
    fn stored() -> f32 {
        0.5
    }
}

/// Called like a parameter below.
pub type T = u32;
/// Called like a parameter below.
pub type U = u64;

baton::shared! {
    /// With a parameter that hides the type, a condition and a constant.
    pub struct Smem<T: Stored, const N: usize> where T: Element in smem {
        values: Exchange<T, N>,
    }
}

/// `T` and `U` are the parameters; in the instances they are the types of this module.
#[baton::kernel(threads = 32, instances(generic_tu = <T, U>, generic_ut = <U, T>, generic_f = <f32, f32>))]
pub fn generic<T: Stored<Words = GlobalPtr<T>>, U>(
    cta: Cta<'_, Smem<T, 32>, 32>,
    first: T::Words,
    second: GlobalPtr<U>,
    number: u32,
) -> Exit<'_>
where
    U: Stored,
{
    let (mut cta, smem::Parts { values }) = cta.claim();
    let values =
        values.open(&mut cta).fill(&mut cta, |_| T::stored()).arrive(&mut cta).wait(&mut cta);
    for mut element in first.partition(&cta) {
        element.put(values.get(number % 32));
    }
    for mut element in second.partition(&cta) {
        element.put(U::stored());
    }
    values.close(&mut cta);
    cta.join().exit(())
}

/// An instance may have the name of its kernel, whose token says nothing of the parameter.
#[allow(non_camel_case_types, clippy::builtin_type_shadow)]
#[baton::kernel(threads = 32, instances(unused = <T>))]
fn unused<u32: Stored>(cta: Cta<'_, NoShared, 32>, out: GlobalPtr<u32>) -> Exit<'_> {
    let (cta, ()) = cta.claim();
    for mut element in out.partition(&cta) {
        element.put(u32::stored());
    }
    cta.join().exit(())
}

/// The call of a kernel that is private.
#[cfg(not(target_arch = "nvptx64"))]
pub fn call_unused(out: baton::launch::DeviceSliceMut<'_, u32>) -> baton::launch::Call<'_> {
    unused(out)
}
