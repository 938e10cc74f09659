//! Marks: comments in the PTX that say what a register is for.
//!
//! | mark | in front of | says |
//! |---|---|---|
//! | `//@baton same SET` | a `mov` | all threads of the set (`warp`, `group`: 128 threads, `cta`) hold one value here |
//! | `//@baton one REG` | a collective | this register holds one value in the collective's set, since its leader uses it for all |
//!
//! The builder relies on the first and checks the second; the emulator checks the first at run time. A mark costs nothing: the
//! move is one of those that ptxas makes disappear, and a register that stands in a comment alone is not kept.

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

/// [`bar_sync`](super::barrier::bar_sync), before or behind what the leader does at `one`.
///
/// # Safety
/// As there.
#[inline(always)]
pub(crate) unsafe fn bar_sync(id: u32, one: u64) {
    device! {
        super::anchor();
        asm!(
            "//@baton collective bar.sync", "//@baton one {1}", "bar.sync {0};",
            in(reg32) id, in(reg64) one, options(nostack)
        )
    }
}

/// [`bar_sync_count`](super::barrier::bar_sync_count), before or behind what the leader does at `one`.
///
/// # Safety
/// As there.
#[inline(always)]
pub(crate) unsafe fn bar_sync_count(id: u32, threads: u32, one: u64) {
    device! {
        super::anchor();
        asm!(
            "//@baton collective bar.sync", "//@baton one {2}", "bar.sync {0}, {1};",
            in(reg32) id, in(reg32) threads, in(reg64) one, options(nostack)
        )
    }
}

/// [`bar_warp_sync`](super::barrier::bar_warp_sync) of a whole warp, before or behind what its leader does at `one`.
///
/// # Safety
/// As there.
#[inline(always)]
pub(crate) unsafe fn bar_warp_sync(one: u64) {
    device! {
        super::anchor();
        asm!(
            "//@baton collective bar.warp.sync", "//@baton one {1}", "bar.warp.sync {0};",
            in(reg32) u32::MAX, in(reg64) one, options(nostack)
        )
    }
}
