//! Marks: comments in the PTX that say what a register is for, or what the code behind them stands on.
//!
//! | mark | in front of | says |
//! |---|---|---|
//! | `//@baton same SET` | a `mov` | all threads of the set (`warp`, `group`: 128 threads, `cta`) hold one value here |
//! | `//@baton agree SET REG` | anything | the threads of the set come here together, and this register holds one value in all of them, since their leader uses it for all |
//! | `//@baton copies` | a `cp.async.commit_group` | the copies of the group are a stage's: every way to the end of the kernel waits for them |
//! | `//@baton roles SIZES` | anything | the threads of the CTA come here together; the warps of each role, a digit for each |
//! | `//@baton end FIELD END HOLDER` | anything | the threads that come here hold this end of this field of the layout, as the set that its number names |
//! | `//@baton opened REG WHAT HOLDER` | anything | likewise, the parameter whose words, or array, are at this address |
//!
//! The builder relies on the first and checks the others; the emulator checks the first at run time. A mark costs nothing: the
//! move is one of those that ptxas makes disappear, and a register that stands in a comment alone is not kept.

use crate::layout::Tag;
use crate::token::{Acts, Roles};

macro_rules! same {
    ($($name:ident $set:literal $class:ident $ty:ident $mov:literal;)*) => {$(
        /// This value is one for all threads of the set.
        #[inline(always)]
        pub(crate) fn $name(value: $ty) -> $ty {
            device! {
                super::anchor();
                let one: $ty;
                asm!(
                    concat!("//@baton same ", $set),
                    concat!($mov, " {}, {};"),
                    out($class) one, in($class) value, options(nostack, nomem)
                );
                one
            }
        }
    )*};
}

same! {
    same_in_warp "warp" reg32 u32 "mov.b32";
    same_in_group "group" reg32 u32 "mov.b32";
    same_in_cta "cta" reg32 u32 "mov.b32";
    same_in_warp_64 "warp" reg64 u64 "mov.b64";
    same_in_group_64 "group" reg64 u64 "mov.b64";
    same_in_cta_64 "cta" reg64 u64 "mov.b64";
}

/// A register that all threads of a set hold one value in.
pub(crate) trait One: Copy {
    /// In a warp.
    fn agreed_in_warp(self);
    /// In four warps.
    fn agreed_in_group(self);
    /// In a CTA.
    fn agreed_in_cta(self);
}

macro_rules! one {
    ($($ty:ident $class:ident;)*) => {$(
        impl One for $ty {
            #[inline(always)]
            fn agreed_in_warp(self) {
                device! { asm!("//@baton agree warp {0}", in($class) self, options(nostack)) }
            }
            #[inline(always)]
            fn agreed_in_group(self) {
                device! { asm!("//@baton agree group {0}", in($class) self, options(nostack)) }
            }
            #[inline(always)]
            fn agreed_in_cta(self) {
                device! { asm!("//@baton agree cta {0}", in($class) self, options(nostack)) }
            }
        }
    )*};
}
one! {
    u32 reg32;
    u64 reg64;
}

/// [`commit_group`](super::cp_async::commit_group) of the copies that fill a stage.
#[inline(always)]
pub(crate) fn commit_copies() {
    device! { asm!("//@baton copies", "cp.async.commit_group;", options(nostack)) }
}

/// All threads of the CTA are here, and become roles of these sizes. (Sizes that differ make two marks, which the compiler leaves in
/// the arms of a branch; what is said in both arms it may say once, before them.)
#[allow(clippy::extra_unused_type_parameters, reason = "they are used in the device's code")]
#[inline(always)]
pub(crate) fn roles<'k, R: Roles<'k, THREADS>, const THREADS: u32>() {
    device! {
        asm!("//@baton roles {}", const R::SIZES, options(nostack))
    }
}

/// The end `END` of the field `T` is the set `S`'s, in each thread that comes here: nobody of another set holds it.
#[allow(clippy::extra_unused_type_parameters, reason = "they are used in the device's code")]
#[inline(always)]
pub(crate) fn end<T: Tag, S: Acts, const END: u32>() {
    device! {
        asm!(
            "//@baton end {} {} {}",
            const T::INDEX,
            const END,
            const S::HOLDER,
            options(nostack)
        )
    }
}

macro_rules! opened {
    ($($name:ident $what:literal;)*) => {$(
        /// The parameter whose memory begins here is the set `S`'s, in each thread that comes here: nobody of another set has it.
        #[inline(always)]
        pub(crate) fn $name<S: Acts>(at: u64) {
            device! {
                asm!(
                    concat!("//@baton opened {} ", $what, " {}"),
                    in(reg64) at,
                    const S::HOLDER,
                    options(nostack)
                )
            }
        }
    )*};
}
opened! {
    opened_mailbox "mailbox";
    opened_dekker "dekker";
    opened_semaphore "semaphore";
    opened_last_arrival "last_arrival";
    opened_maps "maps";
}
