//! Mistakes of rule F4 and kernels that only look like them.
//!
//! A kernel whose documentation begins "Wrong:" must be refused, and the message must name the lines that end in `// branch`,
//! `// meets` (the collective, or where one of two sets takes a part) and `// differs` (where the difference comes from, or where the
//! other set takes it), as far as they are marked. One that begins "Told:" gets a warning of that kind. All others are right, and nothing may be said of them, but for the two that begin
//! "Refused though right:".
#![cfg(target_arch = "nvptx64")]
#![no_std]
#![feature(abi_ptx)]
#![allow(clippy::all, unused_mut, unused_variables, unused_assignments)]

mod clusters;
mod ctas;
mod groups;
mod leaders;
mod looks_like;
mod operands;
mod parts;
mod protocols;
mod warps;

/// Kernels of one warp that works and one that does not: `me` is the token, `input` and `n` come from the host, and what is left
/// in `out` is stored.
macro_rules! for_a_warp {
    ($($(#[$doc:meta])* $name:ident |$me:ident, $input:ident, $n:ident, $out:ident| $body:block)*) => {$(
        $(#[$doc])*
        #[baton::kernel(threads = 64)]
        pub fn $name(
            cta: Cta<'_, NoShared, 64>,
            $input: ReadOnly<u32>,
            $n: u32,
            result: GlobalPtr<u32, TheWarp<0>>,
        ) -> Exit<'_> {
            let (cta, ()) = cta.claim();
            let (joined, _) = cta.roles((
                warp(move |mut $me| {
                    let mut mine = result.partition(&$me);
                    let mut $out = 0u32;
                    $body;
                    mine.put(0, $out);
                }),
                warp(move |_idle| {}),
            ));
            joined.exit(())
        }
    )*};
}
pub(crate) use for_a_warp;

/// The same for a warpgroup.
macro_rules! for_a_group {
    ($($(#[$doc:meta])* $name:ident |$me:ident, $input:ident, $n:ident, $out:ident| $body:block)*) => {$(
        $(#[$doc])*
        #[baton::kernel(threads = 160)]
        pub fn $name(
            cta: Cta<'_, NoShared, 160>,
            $input: ReadOnly<u32>,
            $n: u32,
            result: GlobalPtr<u32, TheWarpgroup<0>>,
        ) -> Exit<'_> {
            let (cta, ()) = cta.claim();
            let (joined, _) = cta.roles((
                warpgroup(move |mut $me| {
                    let mut mine = result.partition(&$me);
                    let mut $out = 0u32;
                    $body;
                    mine.put(0, $out);
                }),
                warp(move |_idle| {}),
            ));
            joined.exit(())
        }
    )*};
}
pub(crate) use for_a_group;

/// The same for a whole CTA of three warps.
macro_rules! for_a_cta {
    ($($(#[$doc:meta])* $name:ident |$me:ident, $input:ident, $n:ident, $out:ident| $body:block)*) => {$(
        $(#[$doc])*
        #[baton::kernel(threads = 96)]
        pub fn $name(
            cta: Cta<'_, NoShared, 96>,
            $input: ReadOnly<u32>,
            $n: u32,
            result: GlobalPtr<u32>,
        ) -> Exit<'_> {
            let mut $me = cta;
            let mut mine = result.partition(&$me);
            let mut $out = 0u32;
            $body;
            mine.put(0, $out);
            let (cta, ()) = $me.claim();
            cta.join().exit(())
        }
    )*};
}
pub(crate) use for_a_cta;
