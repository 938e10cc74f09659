//! What the lanes of a warp do together.
//!
//! Every instruction here names its participants in a mask: exactly those lanes execute it, with the same
//! mask, the executing lane among them. They exchange registers and order no memory, so their assembly
//! is `nomem`: what must be ordered between lanes needs [`bar_warp_sync`](super::barrier::bar_warp_sync).
//!
//! ISA: *shfl.sync*, *vote.sync*, *match.sync*, *redux.sync*, *elect.sync*, *activemask*.

use super::word::Word32;

mod sealed {
    pub trait Sealed {}
}

/// All lanes.
pub const FULL: u32 = u32::MAX;

/// `elect.sync _|p, mask;` PTX 8.0, sm_90. `true` in one lane of `mask`, the same one each time for the
/// same mask.
///
/// ISA: *elect.sync*. Can break D11, F1.
///
/// # Safety
/// 1. Exactly the lanes in `mask` execute it, with the same `mask`, the executing lane among them.
#[inline(always)]
pub unsafe fn elect_sync(mask: u32) -> bool {
    device! {
        super::anchor();
        let elected: u32;
        asm!(
            "{{",
            ".reg .pred elected;",
            "//@baton collective elect.sync",
            "elect.sync _|elected, {};",
            "selp.u32 {}, 1, 0, elected;",
            "}}",
            in(reg32) mask, out(reg32) elected, options(nomem, nostack)
        );
        elected != 0
    }
}

/// Where a lane of [`shfl_sync`] reads: [`Idx`], [`Up`], [`Down`] or [`Bfly`].
pub trait ShflMode: sealed::Sealed + Copy {
    #[doc(hidden)]
    const MODE: Mode;
    /// The third operand for a shuffle of the whole warp: the bound in bits 4 to 0, and the mask of the
    /// segment in bits 12 to 8.
    const WHOLE_WARP: u32;
}

/// The mode as a value, for the choice of the instruction's text.
#[doc(hidden)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    Idx,
    Up,
    Down,
    Bfly,
}

macro_rules! modes {
    ($($(#[$doc:meta])* $name:ident $whole:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name;
        impl sealed::Sealed for $name {}
        impl ShflMode for $name {
            const MODE: Mode = Mode::$name;
            const WHOLE_WARP: u32 = $whole;
        }
    )*};
}

modes! {
    /// `.idx`: the lane with the number given.
    Idx 0x1f;
    /// `.up`: the lane that many below.
    Up 0;
    /// `.down`: the lane that many above.
    Down 0x1f;
    /// `.bfly`: the lane whose number differs by exclusive or.
    Bfly 0x1f;
}

/// `shfl.sync.mode.b32 d|p, value, lane, bounds, mask;` PTX 6.0, sm_30.
///
/// The value of the lane that `lane` selects, and whether that lane is in bounds; out of bounds it is the
/// lane's own. For a whole warp `bounds` is [`ShflMode::WHOLE_WARP`].
///
/// ISA: *shfl.sync*. Can break F1.
///
/// # Safety
/// 1. Exactly the lanes in `mask` execute it, with the same `mask`, the executing lane among them.
/// 2. The lane read is one of them, or the result is not used.
#[inline(always)]
pub unsafe fn shfl_sync<M: ShflMode, T: Word32>(
    value: T,
    lane: u32,
    bounds: u32,
    mask: u32,
) -> (T, bool) {
    device! {
        super::anchor();
        let (received, inside): (u32, u32);
        macro_rules! emit {
            ($mode:literal) => {
                asm!(
                    "{{",
                    ".reg .pred inside;",
                    "//@baton collective shfl.sync",
                    concat!("shfl.sync", $mode, ".b32 {}|inside, {}, {}, {}, {};"),
                    "selp.u32 {}, 1, 0, inside;",
                    "}}",
                    out(reg32) received, in(reg32) value.to_word() as u32, in(reg32) lane,
                    in(reg32) bounds, in(reg32) mask, out(reg32) inside, options(nomem, nostack)
                )
            };
        }
        match M::MODE {
            Mode::Idx => emit!(".idx"),
            Mode::Up => emit!(".up"),
            Mode::Down => emit!(".down"),
            Mode::Bfly => emit!(".bfly"),
        }
        (T::from_word(received as u64), inside != 0)
    }
}

macro_rules! votes {
    ($($(#[$doc:meta])* $name:ident = $text:literal;)*) => {$(
        $(#[$doc])*
        ///
        /// ISA: *vote.sync*. Can break F1.
        ///
        /// # Safety
        /// 1. Exactly the lanes in `mask` execute it, with the same `mask`, the executing lane among them.
        #[inline(always)]
        pub unsafe fn $name(vote: bool, mask: u32) -> bool {
            device! {
                super::anchor();
                let result: u32;
                asm!(
                    "{{",
                    ".reg .pred vote, result;",
                    "setp.ne.b32 vote, {}, 0;",
                    "//@baton collective vote.sync",
                    concat!($text, " result, vote, {};"),
                    "selp.u32 {}, 1, 0, result;",
                    "}}",
                    in(reg32) vote as u32, in(reg32) mask, out(reg32) result, options(nomem, nostack)
                );
                result != 0
            }
        }
    )*};
}

votes! {
    /// `vote.sync.all.pred p, vote, mask;` PTX 6.0, sm_30. Whether every lane in `mask` voted `true`.
    vote_sync_all = "vote.sync.all.pred";
    /// `vote.sync.any.pred p, vote, mask;` PTX 6.0, sm_30. Whether some lane in `mask` voted `true`.
    vote_sync_any = "vote.sync.any.pred";
    /// `vote.sync.uni.pred p, vote, mask;` PTX 6.0, sm_30. Whether all lanes in `mask` voted the same.
    vote_sync_uni = "vote.sync.uni.pred";
}

/// `vote.sync.ballot.b32 d, vote, mask;` PTX 6.0, sm_30. The lanes in `mask` that voted `true`.
///
/// ISA: *vote.sync*. Can break F1.
///
/// # Safety
/// 1. Exactly the lanes in `mask` execute it, with the same `mask`, the executing lane among them.
#[inline(always)]
pub unsafe fn vote_sync_ballot(vote: bool, mask: u32) -> u32 {
    device! {
        super::anchor();
        let lanes: u32;
        asm!(
            "{{",
            ".reg .pred vote;",
            "setp.ne.b32 vote, {}, 0;",
            "//@baton collective vote.sync",
            "vote.sync.ballot.b32 {}, vote, {};",
            "}}",
            in(reg32) vote as u32, out(reg32) lanes, in(reg32) mask, options(nomem, nostack)
        );
        lanes
    }
}

/// `match.any.sync.b32 d, value, mask;` PTX 6.0, sm_70. The lanes in `mask` with the same bits as this one.
///
/// ISA: *match.sync*. Can break F1.
///
/// # Safety
/// 1. Exactly the lanes in `mask` execute it, with the same `mask`, the executing lane among them.
#[inline(always)]
pub unsafe fn match_any_sync<T: Word32>(value: T, mask: u32) -> u32 {
    device! {
        super::anchor();
        let lanes: u32;
        asm!(
            "//@baton collective match.sync",
            "match.any.sync.b32 {}, {}, {};",
            out(reg32) lanes, in(reg32) value.to_word() as u32, in(reg32) mask, options(nomem, nostack)
        );
        lanes
    }
}

/// `match.any.sync.b64 d, value, mask;` PTX 6.0, sm_70. The lanes in `mask` with the same bits as this one.
///
/// ISA: *match.sync*. Can break F1.
///
/// # Safety
/// 1. Exactly the lanes in `mask` execute it, with the same `mask`, the executing lane among them.
#[inline(always)]
pub unsafe fn match_any_sync_b64(value: u64, mask: u32) -> u32 {
    device! {
        super::anchor();
        let lanes: u32;
        asm!(
            "//@baton collective match.sync",
            "match.any.sync.b64 {}, {}, {};",
            out(reg32) lanes, in(reg64) value, in(reg32) mask, options(nomem, nostack)
        );
        lanes
    }
}

macro_rules! matches_all {
    ($($(#[$doc:meta])* $name:ident$(<$class_:ident>)?($ty:ty, $class:ident, $value:ident => $bits:expr) = $text:literal;)*) => {$(
        $(#[$doc])*
        ///
        /// `mask` if all lanes in it have the same bits, else zero; and whether they have.
        ///
        /// ISA: *match.sync*. Can break F1.
        ///
        /// # Safety
        /// 1. Exactly the lanes in `mask` execute it, with the same `mask`, the executing lane among them.
        #[inline(always)]
        pub unsafe fn $name$(<T: $class_>)?($value: $ty, mask: u32) -> (u32, bool) {
            device! {
                super::anchor();
                let (lanes, same): (u32, u32);
                asm!(
                    "{{",
                    ".reg .pred same;",
                    "//@baton collective match.sync",
                    concat!($text, " {}|same, {}, {};"),
                    "selp.u32 {}, 1, 0, same;",
                    "}}",
                    out(reg32) lanes, in($class) $bits, in(reg32) mask, out(reg32) same, options(nomem, nostack)
                );
                (lanes, same != 0)
            }
        }
    )*};
}

matches_all! {
    /// `match.all.sync.b32 d|p, value, mask;` PTX 6.0, sm_70.
    match_all_sync<Word32>(T, reg32, value => value.to_word() as u32) = "match.all.sync.b32";
    /// `match.all.sync.b64 d|p, value, mask;` PTX 6.0, sm_70.
    match_all_sync_b64(u64, reg64, value => value) = "match.all.sync.b64";
}

/// A type that `redux.sync.add`, `.min` and `.max` have: `u32` or `i32`.
#[diagnostic::on_unimplemented(
    message = "PTX has no warp reduction of `{Self}`",
    label = "expected `u32` or `i32`"
)]
pub trait Redux: Word32 {
    #[doc(hidden)]
    const SIGNED: bool;
}
impl Redux for u32 {
    const SIGNED: bool = false;
}
impl Redux for i32 {
    const SIGNED: bool = true;
}

macro_rules! reduxes {
    ($($(#[$doc:meta])* $name:ident<$class:ident> = $op:literal $unsigned:literal $signed:literal;)*) => {$(
        $(#[$doc])*
        ///
        /// ISA: *redux.sync*. Can break F1.
        ///
        /// # Safety
        /// 1. Exactly the lanes in `mask` execute it, with the same `mask`, the executing lane among them.
        #[inline(always)]
        pub unsafe fn $name<T: $class>(value: T, mask: u32) -> T {
            device! {
                super::anchor();
                let result: u32;
                macro_rules! emit {
                    ($type:literal) => {
                        asm!(
                            "//@baton collective redux.sync",
                            concat!("redux.sync", $op, $type, " {}, {}, {};"),
                            out(reg32) result, in(reg32) value.to_word() as u32, in(reg32) mask,
                            options(nomem, nostack)
                        )
                    };
                }
                if T::SIGNED { emit!($signed) } else { emit!($unsigned) }
                T::from_word(result as u64)
            }
        }
    )*};
}

reduxes! {
    /// `redux.sync.add.type d, value, mask;` PTX 7.0, sm_80. The wrapping sum over the lanes in `mask`.
    redux_sync_add<Redux> = ".add" ".u32" ".s32";
    /// `redux.sync.min.type d, value, mask;` PTX 7.0, sm_80. The least of the lanes in `mask`.
    redux_sync_min<Redux> = ".min" ".u32" ".s32";
    /// `redux.sync.max.type d, value, mask;` PTX 7.0, sm_80. The greatest of the lanes in `mask`.
    redux_sync_max<Redux> = ".max" ".u32" ".s32";
    /// `redux.sync.and.b32 d, value, mask;` PTX 7.0, sm_80.
    redux_sync_and<Redux> = ".and" ".b32" ".b32";
    /// `redux.sync.or.b32 d, value, mask;` PTX 7.0, sm_80.
    redux_sync_or<Redux> = ".or" ".b32" ".b32";
    /// `redux.sync.xor.b32 d, value, mask;` PTX 7.0, sm_80.
    redux_sync_xor<Redux> = ".xor" ".b32" ".b32";
}

macro_rules! float_reduxes {
    ($($(#[$doc:meta])* $name:ident = $op:literal;)*) => {$(
        $(#[$doc])*
        ///
        /// ISA: *redux.sync*. Can break F1.
        ///
        /// # Safety
        /// 1. Exactly the lanes in `mask` execute it, with the same `mask`, the executing lane among them.
        #[inline(always)]
        pub unsafe fn $name(value: f32, mask: u32) -> f32 {
            device! {
                super::anchor();
                let result: f32;
                asm!(
                    "//@baton collective redux.sync",
                    concat!("redux.sync", $op, ".f32 {}, {}, {};"),
                    out(reg32) result, in(reg32) value, in(reg32) mask, options(nomem, nostack)
                );
                result
            }
        }
    )*};
}

float_reduxes! {
    /// `redux.sync.min.f32 d, value, mask;` PTX 8.6, sm_100f. A number wins against a NaN.
    redux_sync_min_f32 = ".min";
    /// `redux.sync.max.f32 d, value, mask;` PTX 8.6, sm_100f. A number wins against a NaN.
    redux_sync_max_f32 = ".max";
    /// `redux.sync.min.abs.f32 d, value, mask;` PTX 8.6, sm_100f. Of the absolute values.
    redux_sync_min_abs_f32 = ".min.abs";
    /// `redux.sync.max.abs.f32 d, value, mask;` PTX 8.6, sm_100f. Of the absolute values.
    redux_sync_max_abs_f32 = ".max.abs";
    /// `redux.sync.min.NaN.f32 d, value, mask;` PTX 8.6, sm_100f. A NaN wins.
    redux_sync_min_nan_f32 = ".min.NaN";
    /// `redux.sync.max.NaN.f32 d, value, mask;` PTX 8.6, sm_100f. A NaN wins.
    redux_sync_max_nan_f32 = ".max.NaN";
}

/// `activemask.b32 d;` PTX 6.2, sm_30. The lanes that execute it at this moment.
///
/// It says nothing about which lanes *will* execute the next instruction: not a mask for the functions
/// of this module.
///
/// ISA: *activemask*.
#[inline(always)]
pub fn activemask() -> u32 {
    device! {
        super::anchor();
        let lanes: u32;
        asm!("activemask.b32 {};", out(reg32) lanes, options(nomem, nostack));
        lanes
    }
}
