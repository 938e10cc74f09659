//! The fifth-generation tensor core: tensor memory, the MMAs on it, and what orders them.
//!
//! `mma`, `ld` and `st` are asynchronous and unordered against each other, but for a few pairs. What
//! makes their completion known differs: `ld` and `st` by `wait::ld` and `wait::st` of the same thread,
//! `mma` by a `commit` of the issuing thread onto an mbarrier whose phase is then observed. Across
//! threads the execution-ordering operation (an mbarrier, a barrier) stands between
//! `fence::before_thread_sync` on the one side and `fence::after_thread_sync` on the other.
//!
//! Who executes: `alloc`, `dealloc`, `relinquish_alloc_permit`, `ld`, `st` and the waits belong to a
//! whole converged warp; `mma` and `commit` to one thread. A warp reaches only its own quarter of the
//! lanes: warp *w* of the CTA lanes 32·(*w* mod 4) on.
//!
//! One kernel uses one `cta_group` throughout.
//!
//! ISA: *tcgen05* and its subsections, *Tensor core 5th generation family*; target sm_100a (and its
//! family), PTX 8.6. The other MMAs are in [`tcgen05_mma`](super::tcgen05_mma); `cp`, `shift` and the other
//! shapes of `ld` and `st` in [`tcgen05_move`](super::tcgen05_move).

use super::addr::{Addr, Shared, SharedCluster, SharedCta, Tmem};

mod sealed {
    pub trait Sealed {}
}

/// `.cta_group`: how many CTAs work on one MMA. [`Group1`] or [`Group2`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a `.cta_group`",
    label = "expected `Group1` or `Group2`, and the same one in the whole kernel (rule D10)"
)]
pub trait CtaGroup: sealed::Sealed + Copy + 'static {
    /// CTAs in the group.
    const CTAS: u32;
}

/// `.cta_group::1`: a CTA alone.
#[derive(Clone, Copy, Debug)]
pub struct Group1;
/// `.cta_group::2`: two CTAs of a cluster whose ranks differ in the last bit only.
#[derive(Clone, Copy, Debug)]
pub struct Group2;
impl sealed::Sealed for Group1 {}
impl sealed::Sealed for Group2 {}
impl CtaGroup for Group1 {
    const CTAS: u32 = 1;
}
impl CtaGroup for Group2 {
    const CTAS: u32 = 2;
}

/// The kind as a value, for the choice of the instruction's text.
#[doc(hidden)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KindName {
    F16,
    Tf32,
    F8f6f4,
    I8,
}

/// `.kind`: the element types that an MMA multiplies; the instruction descriptor chooses among them.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an MMA kind",
    label = "expected `kind::F16`, `kind::Tf32`, `kind::F8f6f4` or `kind::I8` (rule D14)"
)]
pub trait MmaKind: sealed::Sealed + Copy + 'static {
    /// The depth of one MMA in elements, dense.
    const K: u32;
    #[doc(hidden)]
    const KIND: KindName;
}

/// The kinds of [`mma`].
pub mod kind {
    use super::{KindName, MmaKind, sealed};

    macro_rules! kinds {
        ($($(#[$doc:meta])* $name:ident $k:literal;)*) => {$(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug)]
            pub struct $name;
            impl sealed::Sealed for $name {}
            impl MmaKind for $name {
                const K: u32 = $k;
                const KIND: KindName = KindName::$name;
            }
        )*};
    }

    kinds! {
        /// `.kind::f16`: f16 and bf16.
        F16 16;
        /// `.kind::tf32`: tf32.
        Tf32 8;
        /// `.kind::f8f6f4`: the 8-, 6- and 4-bit floats.
        F8f6f4 32;
        /// `.kind::i8`: signed and unsigned 8-bit integers. Not on every member of the family.
        I8 32;
    }
}

/// The pair of functions for one sort of allocation, `$sort` in the instruction's name.
macro_rules! allocation {
    ($sort:literal; $(#[$alloc_doc:meta])* $alloc:ident; $(#[$dealloc_doc:meta])* $dealloc:ident;) => {
        $(#[$alloc_doc])*
        #[inline(always)]
        pub unsafe fn $alloc<G: CtaGroup>(dst: Addr<SharedCta>, columns: u32) {
            device! {
                super::anchor();
                macro_rules! emit {
                    ($group:literal) => {
                        asm!(
                            "//@baton collective tcgen05.alloc",
                            concat!("tcgen05.alloc", $group, ".sync.aligned", $sort, ".shared::cta.b32 [{}], {};"),
                            in(reg32) dst.raw(), in(reg32) columns, options(nostack)
                        )
                    };
                }
                select!(emit [] cta_group G)
            }
        }

        $(#[$dealloc_doc])*
        #[inline(always)]
        pub unsafe fn $dealloc<G: CtaGroup>(taddr: Addr<Tmem>, columns: u32) {
            device! {
                super::anchor();
                macro_rules! emit {
                    ($group:literal) => {
                        asm!(
                            "//@baton collective tcgen05.dealloc",
                            concat!("tcgen05.dealloc", $group, ".sync.aligned", $sort, ".b32 {}, {};"),
                            in(reg32) taddr.raw(), in(reg32) columns, options(nostack)
                        )
                    };
                }
                select!(emit [] cta_group G)
            }
        }
    };
}

allocation! {
    "";
    /// `tcgen05.alloc.cta_group::N.sync.aligned.shared::cta.b32 [dst], columns;` PTX 8.6, sm_100f, sm_110f.
    ///
    /// Blocks until `columns` columns are free, and writes the address of the first into shared memory, by
    /// a weak store: read it behind a barrier.
    ///
    /// ISA: *tcgen05.alloc*. Can break D8, D9, D10, D11.
    ///
    /// # Safety
    /// 1. A whole converged warp executes it; with `Group2` one warp in each of the two CTAs.
    /// 2. `columns` is 32, 64, 128, 256 or 512, no larger than that of an earlier allocation by this CTA.
    /// 3. The CTA has not relinquished its permit.
    /// 4. `dst` is aligned to 4 bytes, and these 4 bytes are not accessed before a barrier.
    alloc;

    /// `tcgen05.dealloc.cta_group::N.sync.aligned.b32 taddr, columns;` PTX 8.6, sm_100f, sm_110f.
    ///
    /// ISA: *tcgen05.dealloc*. Can break D8, D10, D11, D13.
    ///
    /// # Safety
    /// 1. A whole converged warp executes it; with `Group2` one warp in each of the two CTAs.
    /// 2. `taddr` and `columns` are those of one allocation that is still live.
    /// 3. Every operation on that tensor memory has completed, and this warp has observed it.
    dealloc;
}

allocation! {
    ".exclusive";
    /// `tcgen05.alloc.cta_group::N.sync.aligned.exclusive.shared::cta.b32 [dst], columns;` PTX 9.4, sm_100f,
    /// sm_110f.
    ///
    /// As [`alloc`], of any multiple of 32 columns. What else an exclusive allocation means the ISA says.
    ///
    /// ISA: *tcgen05.alloc*. Can break D8, D9, D10, D11.
    ///
    /// # Safety
    /// 1. As (1), (3) and (4) of [`alloc`].
    /// 2. `columns` is a multiple of 32 from 32 to 512.
    /// 3. It is deallocated by [`dealloc_exclusive`], and all allocations of the CTA are exclusive.
    alloc_exclusive;

    /// `tcgen05.dealloc.cta_group::N.sync.aligned.exclusive.b32 taddr, columns;` PTX 9.4, sm_100f, sm_110f.
    ///
    /// ISA: *tcgen05.dealloc*. Can break D8, D10, D11, D13.
    ///
    /// # Safety
    /// 1. As for [`dealloc`], of an allocation by [`alloc_exclusive`].
    dealloc_exclusive;
}

/// `tcgen05.relinquish_alloc_permit.cta_group::N.sync.aligned;` PTX 8.6, sm_100f, sm_110f.
///
/// This CTA will not allocate again, so that another on the same multiprocessor may.
///
/// ISA: *tcgen05.relinquish_alloc_permit*. Can break D9, D10, D11.
///
/// # Safety
/// 1. A whole converged warp executes it.
/// 2. No allocation of this CTA follows.
#[inline(always)]
pub unsafe fn relinquish_alloc_permit<G: CtaGroup>() {
    device! {
        super::anchor();
        macro_rules! emit {
            ($group:literal) => {
                asm!(
                    "//@baton collective tcgen05.relinquish_alloc_permit",
                    concat!("tcgen05.relinquish_alloc_permit", $group, ".sync.aligned;"),
                    options(nostack)
                )
            };
        }
        select!(emit [] cta_group G)
    }
}

/// `tcgen05.mma.cta_group::N.kind [d], a_desc, b_desc, i_desc, accumulate;` PTX 8.6, sm_100f,
/// sm_110f; `.kind::i8`: PTX 8.6, sm_100a, sm_110a.
///
/// D = A·B, or D = A·B + D with `accumulate`; A and B in shared memory.
///
/// ISA: *tcgen05.mma*. Can break B1, D5, D6, D7, D10, D11, D14.
///
/// # Safety
/// 1. One thread executes it; with `Group2`, one thread of the pair.
/// 2. The descriptors are legal for each other, for `K` and for the target, and what they name lies in
///    live shared memory of the CTA (of both, with `Group2`) and in tensor memory allocated.
/// 3. A and B were last written through the async proxy, or `fence.proxy.async` followed; their writes
///    come before by synchronisation; they are not written until completion was observed.
/// 4. D is not accessed until completion was observed, but by an `mma` of the same thread with the same
///    shape and kind.
#[inline(always)]
pub unsafe fn mma<G: CtaGroup, K: MmaKind>(
    d: Addr<Tmem>,
    a_desc: u64,
    b_desc: u64,
    i_desc: u32,
    accumulate: bool,
) {
    device! {
        macro_rules! emit {
            ($group:literal $kind:literal) => {
                asm!(
                    "{{",
                    ".reg .pred accumulate;",
                    "setp.ne.b32 accumulate, {}, 0;",
                    concat!("tcgen05.mma", $group, $kind, " [{}], {}, {}, {}, accumulate;"),
                    "}}",
                    in(reg32) accumulate as u32, in(reg32) d.raw(), in(reg64) a_desc,
                    in(reg64) b_desc, in(reg32) i_desc, options(nostack)
                )
            };
        }
        select!(emit [] cta_group G, mma_kind K)
    }
}

/// `tcgen05.mma.cta_group::N.kind [d], [a], b_desc, i_desc, accumulate;` PTX 8.6, sm_100f,
/// sm_110f; `.kind::i8`: PTX 8.6, sm_100a, sm_110a.
///
/// As [`mma`], with A in tensor memory.
///
/// ISA: *tcgen05.mma*. Can break B1, D4, D5, D6, D7, D10, D11, D14.
///
/// # Safety
/// 1. As for [`mma`].
/// 2. A was written by completed operations, and is not written until completion was observed.
#[inline(always)]
pub unsafe fn mma_tmem_a<G: CtaGroup, K: MmaKind>(
    d: Addr<Tmem>,
    a: Addr<Tmem>,
    b_desc: u64,
    i_desc: u32,
    accumulate: bool,
) {
    device! {
        macro_rules! emit {
            ($group:literal $kind:literal) => {
                asm!(
                    "{{",
                    ".reg .pred accumulate;",
                    "setp.ne.b32 accumulate, {}, 0;",
                    concat!("tcgen05.mma", $group, $kind, " [{}], [{}], {}, {}, accumulate;"),
                    "}}",
                    in(reg32) accumulate as u32, in(reg32) d.raw(), in(reg32) a.raw(),
                    in(reg64) b_desc, in(reg32) i_desc, options(nostack)
                )
            };
        }
        select!(emit [] cta_group G, mma_kind K)
    }
}

/// `tcgen05.commit.cta_group::N.mbarrier::arrive::one.shared::cluster.b64 [bar];` PTX 8.6, sm_100f, sm_110f.
///
/// Arrives once on `bar` when all `mma`, `cp` and `shift` that this thread issued before, with the same
/// group, have completed. It contains a `fence::before_thread_sync`.
///
/// ISA: *tcgen05.commit*. Can break C1, C9, C10, D5, D6, D10, D11.
///
/// # Safety
/// 1. One thread executes it: the one whose operations are meant.
/// 2. A live mbarrier is at `bar`, visible to the async proxy, whose current phase counts this arrival;
///    the CTA it is in does not exit before.
#[inline(always)]
pub unsafe fn commit<G: CtaGroup, Sp: Shared>(bar: Addr<Sp>) {
    device! {
        macro_rules! emit {
            ($group:literal) => {
                asm!(
                    concat!("tcgen05.commit", $group, ".mbarrier::arrive::one.shared::cluster.b64 [{}];"),
                    in(reg32) bar.widened() as u32, options(nostack)
                )
            };
        }
        select!(emit [] cta_group G)
    }
}

/// `tcgen05.commit.cta_group::N.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [bar],
/// mask;` PTX 8.6, sm_100f, sm_110f.
///
/// As [`commit`], on the barriers at the offset of `bar` in every CTA whose rank is in `mask`.
///
/// ISA: *tcgen05.commit*. Can break C1, C9, C10, D5, D6, D10, D11, F3.
///
/// # Safety
/// 1. As for [`commit`], in each of the CTAs.
#[inline(always)]
pub unsafe fn commit_multicast<G: CtaGroup>(bar: Addr<SharedCluster>, mask: u16) {
    device! {
        macro_rules! emit {
            ($group:literal) => {
                asm!(
                    concat!(
                        "tcgen05.commit", $group,
                        ".mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [{}], {};"
                    ),
                    in(reg32) bar.raw(), in(reg16) mask, options(nostack)
                )
            };
        }
        select!(emit [] cta_group G)
    }
}

/// `tcgen05.fence::before_thread_sync;` PTX 8.6, sm_100f, sm_110f.
///
/// Orders this thread's earlier asynchronous tcgen05 operations before later execution-ordering ones.
/// It waits for nothing.
///
/// ISA: *tcgen05.fence*. Can break D2 by its absence.
#[inline(always)]
pub fn fence_before_thread_sync() {
    device! { asm!("tcgen05.fence::before_thread_sync;", options(nostack)) }
}

/// `tcgen05.fence::after_thread_sync;` PTX 8.6, sm_100f, sm_110f.
///
/// Orders this thread's later asynchronous tcgen05 operations after earlier execution-ordering ones.
/// It waits for nothing.
///
/// ISA: *tcgen05.fence*. Can break D1 by its absence.
#[inline(always)]
pub fn fence_after_thread_sync() {
    device! { asm!("tcgen05.fence::after_thread_sync;", options(nostack)) }
}

/// `tcgen05.wait::ld.sync.aligned;` PTX 8.6, sm_100f, sm_110f.
///
/// Waits until all `tcgen05.ld` of this thread have completed. It says nothing about where their
/// results are *used*: pass them through [`settle`], or use [`ld_32x32b_wait`].
///
/// ISA: *tcgen05.wait*. Can break D2, D3, D11.
///
/// # Safety
/// 1. A whole converged warp executes it.
#[inline(always)]
pub unsafe fn wait_ld() {
    device! {
        super::anchor();
        asm!("//@baton collective tcgen05.wait::ld", "tcgen05.wait::ld.sync.aligned;", options(nostack))
    }
}

/// `tcgen05.wait::st.sync.aligned;` PTX 8.6, sm_100f, sm_110f.
///
/// Waits until all `tcgen05.st` of this thread have completed.
///
/// ISA: *tcgen05.wait*. Can break D2, D4, D11.
///
/// # Safety
/// 1. A whole converged warp executes it.
#[inline(always)]
pub unsafe fn wait_st() {
    device! {
        super::anchor();
        asm!("//@baton collective tcgen05.wait::st", "tcgen05.wait::st.sync.aligned;", options(nostack))
    }
}

/// The registers that a warp's `.32x32b.xN` access moves in one lane: `[u32; N]`, N a power of two from
/// 1 to 128. Each of the 32 lanes has its own row, N columns wide.
#[diagnostic::on_unimplemented(
    message = "tcgen05.ld and tcgen05.st have no form that moves `{Self}`",
    label = "expected `[u32; N]` with N = 1, 2, 4, 8, 16, 32, 64 or 128",
    note = "PTX ISA, tcgen05.ld: .num is .x1, .x2, .x4, .x8, .x16, .x32, .x64 or .x128"
)]
pub trait Registers: sealed::Sealed + Copy {
    #[doc(hidden)]
    unsafe fn ld(taddr: Addr<Tmem>) -> Self;
    #[doc(hidden)]
    unsafe fn ld_wait(taddr: Addr<Tmem>) -> Self;
    #[doc(hidden)]
    unsafe fn wait(self) -> Self;
    #[doc(hidden)]
    fn settle(self) -> Self;
    #[doc(hidden)]
    unsafe fn st(self, taddr: Addr<Tmem>);
}

/// `tcgen05.ld.sync.aligned.32x32b.xN.b32 r, [taddr];` PTX 8.6, sm_100f, sm_110f.
///
/// Asynchronous: the registers hold the values only after `wait::ld`. Pass them through [`wait_ld_of`],
/// or, several of them behind one [`wait_ld`], through [`settle`], before any use.
///
/// ISA: *tcgen05.ld*. Can break D1, D3, D11, D12.
///
/// # Safety
/// 1. A whole converged warp executes it, with the same `taddr` in all lanes, in its own quarter of the
///    lanes.
/// 2. The N columns from `taddr` are allocated, and the operations that wrote them are ordered before
///    this one.
/// 3. The result is not used before `wait::ld`, and the columns are not overwritten before it either.
#[inline(always)]
pub unsafe fn ld_32x32b<R: Registers>(taddr: Addr<Tmem>) -> R {
    // SAFETY: the obligations are those of this function.
    unsafe { R::ld(taddr) }
}

/// [`ld_32x32b`] and [`wait_ld`] in one block: the values are there when it returns.
///
/// # Safety
/// 1. As (1) and (2) of [`ld_32x32b`].
#[inline(always)]
pub unsafe fn ld_32x32b_wait<R: Registers>(taddr: Addr<Tmem>) -> R {
    // SAFETY: the obligations are those of this function.
    unsafe { R::ld_wait(taddr) }
}

/// [`wait_ld`], with the registers of one load passed through it, so that no use moves above it.
///
/// # Safety
/// 1. As for [`wait_ld`].
#[inline(always)]
pub unsafe fn wait_ld_of<R: Registers>(registers: R) -> R {
    // SAFETY: the obligations are those of this function.
    unsafe { registers.wait() }
}

/// Passes registers through an empty assembly block: uses of the result stay after whatever ordered
/// block precedes the call, such as the one [`wait_ld`] of several loads. Emits nothing.
#[inline(always)]
pub fn settle<R: Registers>(registers: R) -> R {
    registers.settle()
}

/// `tcgen05.st.sync.aligned.32x32b.xN.b32 [taddr], r;` PTX 8.6, sm_100f, sm_110f.
///
/// Asynchronous: complete after [`wait_st`].
///
/// ISA: *tcgen05.st*. Can break D1, D4, D11, D12.
///
/// # Safety
/// 1. A whole converged warp executes it, with the same `taddr` in all lanes, in its own quarter of the
///    lanes.
/// 2. The N columns from `taddr` are allocated, and earlier accesses to them are ordered before this one.
#[inline(always)]
pub unsafe fn st_32x32b<R: Registers>(taddr: Addr<Tmem>, registers: R) {
    // SAFETY: the obligations are those of this function.
    unsafe { registers.st(taddr) }
}

/// Implements [`Registers`] for each width: `N + [names]` adds names to those of the widths before.
macro_rules! widths {
    ([$($r:ident)*]) => {};
    ([$($r:ident)*] $n:literal + [$($new:ident)*] $($rest:tt)*) => {
        registers!($n $($r)* $($new)*);
        widths!([$($r)* $($new)*] $($rest)*);
    };
}

macro_rules! registers {
    ($n:literal $first:ident $($r:ident)*) => {
        impl sealed::Sealed for [u32; $n] {}
        impl Registers for [u32; $n] {
            #[inline(always)]
            unsafe fn ld(taddr: Addr<Tmem>) -> Self {
                device! {
                    super::anchor();
                    let $first: u32;
                    $(let $r: u32;)*
                    asm!(
                        "//@baton collective tcgen05.ld",
                        concat!(
                            "tcgen05.ld.sync.aligned.32x32b.x", $n, ".b32 {{{", stringify!($first), "}",
                            $(", {", stringify!($r), "}",)* "}}, [{taddr}];"
                        ),
                        taddr = in(reg32) taddr.raw(),
                        $first = out(reg32) $first, $($r = out(reg32) $r,)*
                        options(nostack)
                    );
                    [$first, $($r),*]
                }
            }

            #[inline(always)]
            unsafe fn ld_wait(taddr: Addr<Tmem>) -> Self {
                device! {
                    super::anchor();
                    let $first: u32;
                    $(let $r: u32;)*
                    asm!(
                        "//@baton collective tcgen05.ld",
                        concat!(
                            "tcgen05.ld.sync.aligned.32x32b.x", $n, ".b32 {{{", stringify!($first), "}",
                            $(", {", stringify!($r), "}",)* "}}, [{taddr}];"
                        ),
                        "//@baton collective tcgen05.wait::ld",
                        "tcgen05.wait::ld.sync.aligned;",
                        taddr = in(reg32) taddr.raw(),
                        $first = out(reg32) $first, $($r = out(reg32) $r,)*
                        options(nostack)
                    );
                    [$first, $($r),*]
                }
            }

            #[inline(always)]
            unsafe fn wait(self) -> Self {
                device! {
                    super::anchor();
                    let [mut $first, $(mut $r),*] = self;
                    asm!(
                        "//@baton collective tcgen05.wait::ld",
                        "tcgen05.wait::ld.sync.aligned;",
                        concat!("// {", stringify!($first), "}" $(, " {", stringify!($r), "}")*),
                        $first = inout(reg32) $first, $($r = inout(reg32) $r,)*
                        options(nostack)
                    );
                    [$first, $($r),*]
                }
            }

            #[inline(always)]
            fn settle(self) -> Self {
                device! {
                    let [mut $first, $(mut $r),*] = self;
                    asm!(
                        concat!("// {", stringify!($first), "}" $(, " {", stringify!($r), "}")*),
                        $first = inout(reg32) $first, $($r = inout(reg32) $r,)*
                        options(nostack)
                    );
                    [$first, $($r),*]
                }
            }

            #[inline(always)]
            unsafe fn st(self, taddr: Addr<Tmem>) {
                device! {
                    super::anchor();
                    let [$first, $($r),*] = self;
                    asm!(
                        "//@baton collective tcgen05.st",
                        concat!(
                            "tcgen05.st.sync.aligned.32x32b.x", $n, ".b32 [{taddr}], {{{", stringify!($first), "}",
                            $(", {", stringify!($r), "}",)* "}};"
                        ),
                        taddr = in(reg32) taddr.raw(),
                        $first = in(reg32) $first, $($r = in(reg32) $r,)*
                        options(nostack)
                    )
                }
            }
        }
    };
}

widths! {
    []
    1 + [r0]
    2 + [r1]
    4 + [r2 r3]
    8 + [r4 r5 r6 r7]
    16 + [r8 r9 r10 r11 r12 r13 r14 r15]
    32 + [r16 r17 r18 r19 r20 r21 r22 r23 r24 r25 r26 r27 r28 r29 r30 r31]
    64 + [
        r32 r33 r34 r35 r36 r37 r38 r39 r40 r41 r42 r43 r44 r45 r46 r47 r48 r49 r50 r51 r52 r53
        r54 r55 r56 r57 r58 r59 r60 r61 r62 r63
    ]
    128 + [
        r64 r65 r66 r67 r68 r69 r70 r71 r72 r73 r74 r75 r76 r77 r78 r79 r80 r81 r82 r83 r84 r85
        r86 r87 r88 r89 r90 r91 r92 r93 r94 r95 r96 r97 r98 r99 r100 r101 r102 r103 r104 r105
        r106 r107 r108 r109 r110 r111 r112 r113 r114 r115 r116 r117 r118 r119 r120 r121 r122
        r123 r124 r125 r126 r127
    ]
}
