//! Accesses of global memory that tell the caches what will become of the data.
//!
//! What is said is a hint: it changes how fast things go and never what they mean. A weak access says
//! everything at once: how the L1 cache keeps the line (a priority, or one of the older cache operators), how
//! much more the L2 cache fetches, and a policy; `()` and [`NoHint`](super::policy::NoHint) say nothing. A strong
//! access takes a policy.
//!
//! ISA: *ld*, *st*, *atom*, *red*, *Cache operators*, *Cache eviction priority hints*. Left out, because a policy
//! says it and each costs every user's compiler hundreds of blocks: L1 priorities and sizes to fetch on strong
//! accesses, hints on `ld.global.nc`, on vectors and on generic addresses.

use super::addr::{Addr, Global};
use super::atom::{Add, Bitwise, Exchange, MinMax};
use super::policy::{Hint, Policy};
use super::word::Word;
use crate::scope::Scope;
use crate::sem::{AtomSem, LoadSem, RedSem, StoreSem};

mod sealed {
    pub trait Sealed {}
}

/// How the L1 cache keeps what a weak load brings.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is nothing that a load tells the L1 cache",
    label = "expected `()`, a priority (`L1EvictFirst`, …) or an operator (`CacheAll`, `CacheGlobal`, `Streaming`, `LastUse`, `Uncached`)"
)]
pub trait LoadKept: sealed::Sealed + Copy + 'static {
    #[doc(hidden)]
    const NUMBER: u8;
}

/// How the L1 cache keeps what a weak store leaves.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is nothing that a store tells the L1 cache",
    label = "expected `()`, a priority (`L1EvictFirst`, …) or an operator (`WriteBack`, `CacheGlobal`, `Streaming`, `WriteThrough`)"
)]
pub trait StoreKept: sealed::Sealed + Copy + 'static {
    #[doc(hidden)]
    const STORE_NUMBER: u8;
}

/// How many bytes around an access the L2 cache fetches.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no size that the L2 cache fetches",
    label = "expected `()`, `Fetch64`, `Fetch128` or `Fetch256`"
)]
pub trait Fetch: sealed::Sealed + Copy + 'static {
    #[doc(hidden)]
    const NUMBER: u8;
}

impl sealed::Sealed for () {}
impl LoadKept for () {
    const NUMBER: u8 = 0;
}
impl StoreKept for () {
    const STORE_NUMBER: u8 = 0;
}
impl Fetch for () {
    const NUMBER: u8 = 0;
}

macro_rules! names {
    ($($(#[$doc:meta])* $name:ident: $($class:ident $item:ident $number:literal)*;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name;
        impl sealed::Sealed for $name {}
        $(impl $class for $name {
            const $item: u8 = $number;
        })*
    )*};
}

names! {
    /// `.L1::evict_normal`
    L1EvictNormal: LoadKept NUMBER 1 StoreKept STORE_NUMBER 1;
    /// `.L1::evict_unchanged`
    L1EvictUnchanged: LoadKept NUMBER 2 StoreKept STORE_NUMBER 2;
    /// `.L1::evict_first`
    L1EvictFirst: LoadKept NUMBER 3 StoreKept STORE_NUMBER 3;
    /// `.L1::evict_last`
    L1EvictLast: LoadKept NUMBER 4 StoreKept STORE_NUMBER 4;
    /// `.L1::no_allocate`
    L1NoAllocate: LoadKept NUMBER 5 StoreKept STORE_NUMBER 5;
    /// `.ca`: at all levels.
    CacheAll: LoadKept NUMBER 6;
    /// `.cg`: in L2, not in L1.
    CacheGlobal: LoadKept NUMBER 7 StoreKept STORE_NUMBER 6;
    /// `.cs`: used once.
    Streaming: LoadKept NUMBER 8 StoreKept STORE_NUMBER 7;
    /// `.lu`: not used again.
    LastUse: LoadKept NUMBER 9;
    /// `.cv`: fetched again. Not a way to synchronise.
    Uncached: LoadKept NUMBER 10;
    /// `.wb`: written back.
    WriteBack: StoreKept STORE_NUMBER 8;
    /// `.wt`: written through.
    WriteThrough: StoreKept STORE_NUMBER 9;
    /// `.L2::64B`
    Fetch64: Fetch NUMBER 1;
    /// `.L2::128B`
    Fetch128: Fetch NUMBER 2;
    /// `.L2::256B`
    Fetch256: Fetch NUMBER 3;
}

/// As the `select!` of the parent module, for the qualifiers of this one.
#[cfg(target_arch = "nvptx64")]
macro_rules! choose {
    ($emit:ident [$($done:tt)*]) => { $emit!($($done)*) };
    ($emit:ident [$($done:tt)*] , $($rest:tt)+) => { choose!($emit [$($done)*] $($rest)+) };
    ($emit:ident [$($done:tt)*] load_kept $E:ident $($rest:tt)*) => {
        match const { $E::NUMBER } {
            0 => choose!($emit [$($done)* ""] $($rest)*),
            6 => choose!($emit [$($done)* ".ca"] $($rest)*),
            7 => choose!($emit [$($done)* ".cg"] $($rest)*),
            8 => choose!($emit [$($done)* ".cs"] $($rest)*),
            9 => choose!($emit [$($done)* ".lu"] $($rest)*),
            10 => choose!($emit [$($done)* ".cv"] $($rest)*),
            1 => choose!($emit [$($done)* ".L1::evict_normal"] $($rest)*),
            2 => choose!($emit [$($done)* ".L1::evict_unchanged"] $($rest)*),
            3 => choose!($emit [$($done)* ".L1::evict_first"] $($rest)*),
            4 => choose!($emit [$($done)* ".L1::evict_last"] $($rest)*),
            5 => choose!($emit [$($done)* ".L1::no_allocate"] $($rest)*),
            // `LoadKept` is sealed over these.
            _ => core::hint::unreachable_unchecked(),
        }
    };
    ($emit:ident [$($done:tt)*] store_kept $E:ident $($rest:tt)*) => {
        match const { $E::STORE_NUMBER } {
            0 => choose!($emit [$($done)* ""] $($rest)*),
            1 => choose!($emit [$($done)* ".L1::evict_normal"] $($rest)*),
            2 => choose!($emit [$($done)* ".L1::evict_unchanged"] $($rest)*),
            3 => choose!($emit [$($done)* ".L1::evict_first"] $($rest)*),
            4 => choose!($emit [$($done)* ".L1::evict_last"] $($rest)*),
            5 => choose!($emit [$($done)* ".L1::no_allocate"] $($rest)*),
            6 => choose!($emit [$($done)* ".cg"] $($rest)*),
            7 => choose!($emit [$($done)* ".cs"] $($rest)*),
            8 => choose!($emit [$($done)* ".wb"] $($rest)*),
            9 => choose!($emit [$($done)* ".wt"] $($rest)*),
            // `StoreKept` is sealed over these.
            _ => core::hint::unreachable_unchecked(),
        }
    };
    ($emit:ident [$($done:tt)*] fetch $F:ident $($rest:tt)*) => {
        match const { <$F as Fetch>::NUMBER } {
            0 => choose!($emit [$($done)* ""] $($rest)*),
            1 => choose!($emit [$($done)* ".L2::64B"] $($rest)*),
            2 => choose!($emit [$($done)* ".L2::128B"] $($rest)*),
            3 => choose!($emit [$($done)* ".L2::256B"] $($rest)*),
            // `Fetch` is sealed over these.
            _ => core::hint::unreachable_unchecked(),
        }
    };
    ($emit:ident [$($done:tt)*] hint $H:ident $($rest:tt)*) => {
        match const { $H::HINTED } {
            false => choose!($emit [$($done)* ("" "")] $($rest)*),
            true => choose!($emit [$($done)* (".L2::cache_hint" ", {policy}" policy)] $($rest)*),
        }
    };
    ($emit:ident [$($done:tt)*] then $($rest:tt)*) => { select!($emit [$($done)*] $($rest)*) };
}

/// `ld.weak.global.kept.L2::cache_hint.fetch.bN d, [a], policy;` PTX 6.0, sm_70; `.L1::evict_normal`,
/// `.L1::evict_unchanged`, `.L1::evict_first`, `.L1::evict_last`, `.L1::no_allocate`, `.L2::64B` and `.L2::128B`: PTX
/// 7.4; `.L2::256B` and `.L2::cache_hint`: PTX 7.4, sm_80.
///
/// ISA: *ld*, *Cache operators*. Can break A1, A9, B6.
///
/// # Safety
/// 1. As for [`ld_weak`](super::ld::ld_weak).
#[inline(always)]
pub unsafe fn ld_weak_cached<T: Word, E: LoadKept, F: Fetch, H: Hint>(
    addr: Addr<Global>,
    hint: H,
) -> T {
    device! {
        let cached = hint.bits();
        macro_rules! emit {
            ($kept:literal $fetch:literal ($hint:literal $text:literal $($policy:ident)?) ($width:literal $class:ident $ty:ident)) => {{
                let value: $ty;
                asm!(
                    concat!("ld.weak.global", $kept, $hint, $fetch, $width, " {value}, [{addr}]", $text, ";"),
                    value = out($class) value, addr = in(reg64) addr.raw(), $($policy = in(reg64) cached,)?
                    options(nostack)
                );
                T::from_word(value as u64)
            }};
        }
        choose!(emit [] load_kept E, fetch F, hint H, then word T)
    }
}

/// `st.weak.global.kept.L2::cache_hint.bN [a], v, policy;` PTX 6.0, sm_70; `.L1::evict_normal`,
/// `.L1::evict_unchanged`, `.L1::evict_first`, `.L1::evict_last` and `.L1::no_allocate`: PTX 7.4; `.L2::cache_hint`:
/// PTX 7.4, sm_80.
///
/// ISA: *st*, *Cache operators*. Can break A9, A13, B1, B7.
///
/// # Safety
/// 1. As for [`st_weak`](super::st::st_weak).
#[inline(always)]
pub unsafe fn st_weak_cached<T: Word, E: StoreKept, H: Hint>(
    addr: Addr<Global>,
    value: T,
    hint: H,
) {
    device! {
        let cached = hint.bits();
        macro_rules! emit {
            ($kept:literal ($hint:literal $text:literal $($policy:ident)?) ($width:literal $class:ident $ty:ident)) => {
                asm!(
                    concat!("st.weak.global", $kept, $hint, $width, " [{addr}], {value}", $text, ";"),
                    addr = in(reg64) addr.raw(), value = in($class) value.to_word() as $ty,
                    $($policy = in(reg64) cached,)?
                    options(nostack)
                )
            };
        }
        choose!(emit [] store_kept E, hint H, then word T)
    }
}

/// `ld.sem.scope.global.L2::cache_hint.bN d, [a], policy;` with `.sem` = `.relaxed`, `.acquire`. PTX 7.4, sm_80.
///
/// ISA: *ld*. Can break A3 (relaxed), A5, A7.
///
/// # Safety
/// 1. As for [`ld`](super::ld::ld).
#[inline(always)]
pub unsafe fn ld_hint<M: LoadSem, S: Scope, T: Word>(addr: Addr<Global>, policy: Policy) -> T {
    device! {
        macro_rules! emit {
            ($sem:literal $scope:literal ($width:literal $class:ident $ty:ident)) => {{
                let value: $ty;
                asm!(
                    concat!("ld", $sem, $scope, ".global.L2::cache_hint", $width, " {}, [{}], {};"),
                    out($class) value, in(reg64) addr.raw(), in(reg64) policy.raw(), options(nostack)
                );
                T::from_word(value as u64)
            }};
        }
        select!(emit [] load_sem M, scope S, word T)
    }
}

/// `st.sem.scope.global.L2::cache_hint.bN [a], v, policy;` with `.sem` = `.relaxed`, `.release`. PTX 7.4, sm_80.
///
/// ISA: *st*. Can break A4 (relaxed), A5, A7.
///
/// # Safety
/// 1. As for [`st`](super::st::st).
#[inline(always)]
pub unsafe fn st_hint<M: StoreSem, S: Scope, T: Word>(
    addr: Addr<Global>,
    value: T,
    policy: Policy,
) {
    device! {
        macro_rules! emit {
            ($sem:literal $scope:literal ($width:literal $class:ident $ty:ident)) => {
                asm!(
                    concat!("st", $sem, $scope, ".global.L2::cache_hint", $width, " [{}], {}, {};"),
                    in(reg64) addr.raw(), in($class) value.to_word() as $ty, in(reg64) policy.raw(),
                    options(nostack)
                )
            };
        }
        select!(emit [] store_sem M, scope S, word T)
    }
}

macro_rules! atomics {
    ($($(#[$doc:meta])* $atom:ident $(, $(#[$red_doc:meta])* $red:ident)? <$class:ident by $select:ident> = $op:literal;)*) => {$(
        $(#[$doc])*
        ///
        /// ISA: *atom*. Can break A3 (relaxed), A5, A7.
        ///
        /// # Safety
        /// 1. As for [`atom_add`](super::atom::atom_add).
        #[inline(always)]
        pub unsafe fn $atom<M: AtomSem, S: Scope, T: $class>(addr: Addr<Global>, value: T, policy: Policy) -> T {
            device! {
                macro_rules! emit {
                    ($sem:literal $scope:literal ($type:literal $reg:ident $ty:ident)) => {{
                        let old: $ty;
                        asm!(
                            concat!("atom", $sem, $scope, ".global", $op, ".L2::cache_hint", $type, " {}, [{}], {}, {};"),
                            out($reg) old, in(reg64) addr.raw(), in($reg) value.to_word() as $ty,
                            in(reg64) policy.raw(), options(nostack)
                        );
                        T::from_word(old as u64)
                    }};
                }
                select!(emit [] atom_sem M, scope S, $select T)
            }
        }

        $(
            $(#[$red_doc])*
            ///
            /// ISA: *red*. Can break A2, A4 (relaxed), A5, A7.
            ///
            /// # Safety
            /// 1. As for [`red_add`](super::red::red_add).
            #[inline(always)]
            pub unsafe fn $red<M: RedSem, S: Scope, T: $class>(addr: Addr<Global>, value: T, policy: Policy) {
                device! {
                    macro_rules! emit {
                        ($sem:literal $scope:literal ($type:literal $reg:ident $ty:ident)) => {
                            asm!(
                                concat!("red", $sem, $scope, ".global", $op, ".L2::cache_hint", $type, " [{}], {}, {};"),
                                in(reg64) addr.raw(), in($reg) value.to_word() as $ty, in(reg64) policy.raw(),
                                options(nostack)
                            )
                        };
                    }
                    select!(emit [] store_sem M, scope S, $select T)
                }
            }
        )?
    )*};
}

atomics! {
    /// `atom.sem.scope.global.add.L2::cache_hint.type d, [a], v, policy;` PTX 7.4, sm_80; `.bf16` and `.bf16x2`: PTX 7.8, sm_90.
    atom_add_hint,
    /// `red.sem.scope.global.add.L2::cache_hint.type [a], v, policy;` PTX 7.4, sm_80; `.bf16` and `.bf16x2`: PTX 7.8, sm_90.
    red_add_hint<Add by add_number> = ".add";
    /// `atom.sem.scope.global.min.L2::cache_hint.type d, [a], v, policy;` PTX 7.4, sm_80.
    atom_min_hint,
    /// `red.sem.scope.global.min.L2::cache_hint.type [a], v, policy;` PTX 7.4, sm_80.
    red_min_hint<MinMax by min_max_number> = ".min";
    /// `atom.sem.scope.global.max.L2::cache_hint.type d, [a], v, policy;` PTX 7.4, sm_80.
    atom_max_hint,
    /// `red.sem.scope.global.max.L2::cache_hint.type [a], v, policy;` PTX 7.4, sm_80.
    red_max_hint<MinMax by min_max_number> = ".max";
    /// `atom.sem.scope.global.and.L2::cache_hint.bN d, [a], v, policy;` PTX 7.4, sm_80.
    atom_and_hint,
    /// `red.sem.scope.global.and.L2::cache_hint.bN [a], v, policy;` PTX 7.4, sm_80.
    red_and_hint<Bitwise by bits_32_64> = ".and";
    /// `atom.sem.scope.global.or.L2::cache_hint.bN d, [a], v, policy;` PTX 7.4, sm_80.
    atom_or_hint,
    /// `red.sem.scope.global.or.L2::cache_hint.bN [a], v, policy;` PTX 7.4, sm_80.
    red_or_hint<Bitwise by bits_32_64> = ".or";
    /// `atom.sem.scope.global.xor.L2::cache_hint.bN d, [a], v, policy;` PTX 7.4, sm_80.
    atom_xor_hint,
    /// `red.sem.scope.global.xor.L2::cache_hint.bN [a], v, policy;` PTX 7.4, sm_80.
    red_xor_hint<Bitwise by bits_32_64> = ".xor";
    /// `atom.sem.scope.global.exch.L2::cache_hint.bN d, [a], v, policy;` PTX 7.4, sm_80.
    atom_exch_hint<Exchange by bits_32_64> = ".exch";
}

macro_rules! wrapping {
    ($($(#[$doc:meta])* $atom:ident, $(#[$red_doc:meta])* $red:ident = $op:literal;)*) => {$(
        $(#[$doc])*
        ///
        /// ISA: *atom*. Can break A3 (relaxed), A5, A7.
        ///
        /// # Safety
        /// 1. As for [`atom_add`](super::atom::atom_add).
        #[inline(always)]
        pub unsafe fn $atom<M: AtomSem, S: Scope>(addr: Addr<Global>, bound: u32, policy: Policy) -> u32 {
            device! {
                let old: u32;
                macro_rules! emit {
                    ($sem:literal $scope:literal) => {
                        asm!(
                            concat!("atom", $sem, $scope, ".global", $op, ".L2::cache_hint.u32 {}, [{}], {}, {};"),
                            out(reg32) old, in(reg64) addr.raw(), in(reg32) bound, in(reg64) policy.raw(),
                            options(nostack)
                        )
                    };
                }
                select!(emit [] atom_sem M, scope S);
                old
            }
        }

        $(#[$red_doc])*
        ///
        /// ISA: *red*. Can break A2, A4 (relaxed), A5, A7.
        ///
        /// # Safety
        /// 1. As for [`red_add`](super::red::red_add).
        #[inline(always)]
        pub unsafe fn $red<M: RedSem, S: Scope>(addr: Addr<Global>, bound: u32, policy: Policy) {
            device! {
                macro_rules! emit {
                    ($sem:literal $scope:literal) => {
                        asm!(
                            concat!("red", $sem, $scope, ".global", $op, ".L2::cache_hint.u32 [{}], {}, {};"),
                            in(reg64) addr.raw(), in(reg32) bound, in(reg64) policy.raw(), options(nostack)
                        )
                    };
                }
                select!(emit [] store_sem M, scope S)
            }
        }
    )*};
}

wrapping! {
    /// `atom.sem.scope.global.inc.L2::cache_hint.u32 d, [a], bound, policy;` PTX 7.4, sm_80.
    atom_inc_hint,
    /// `red.sem.scope.global.inc.L2::cache_hint.u32 [a], bound, policy;` PTX 7.4, sm_80.
    red_inc_hint = ".inc";
    /// `atom.sem.scope.global.dec.L2::cache_hint.u32 d, [a], bound, policy;` PTX 7.4, sm_80.
    atom_dec_hint,
    /// `red.sem.scope.global.dec.L2::cache_hint.u32 [a], bound, policy;` PTX 7.4, sm_80.
    red_dec_hint = ".dec";
}
