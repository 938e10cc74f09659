//! The decoded program: instructions with operands resolved to register slots.
//!
//! Registers live in three banks per warp, each slot holding all 32 lanes: 32-bit slots (16-bit
//! registers included), 64-bit slots, and predicates as lane masks. A 128-bit register is two
//! 64-bit slots in a row. What an operand's type does not tell (how a value is widened, which
//! part of it counts) the instruction tells.

mod function;

use crate::async_ops::{AsyncOp, MbarrierOp};
use crate::detect::{FenceOp, Order};
use crate::matrix::MatrixOp;
use crate::remote::RemoteOp;
use crate::tensor::TensorOp;
use crate::value::{Float, Format, Rounding};
use crate::wgmma::WgmmaOp;
use crate::wmma::WmmaOp;
pub(crate) use function::*;

/// Lanes of a warp.
pub(crate) const LANES: usize = 32;
/// A 32-bit value for each lane.
pub(crate) type Lanes32 = [u32; LANES];
/// A 64-bit value for each lane.
pub(crate) type Lanes64 = [u64; LANES];

/// What `f` makes of each lane's value. The compiler makes vector instructions of it, unlike of `map`.
#[inline(always)]
pub(crate) fn each<T: Copy, U: Copy + Default>(
    value: &[T; LANES],
    f: impl Fn(T) -> U,
) -> [U; LANES] {
    let mut result = [U::default(); LANES];
    for (result, &value) in result.iter_mut().zip(value) {
        *result = f(value);
    }
    result
}

/// Where a value comes from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Src {
    R32(u32),
    R64(u32),
    /// The low half stands in this slot, the high half in the next.
    R128(u32),
    Pred(u32),
    NotPred(u32),
    Imm(u64),
    Special(Special),
    /// A register of 32 bits and a number.
    Sum32(u32, i32),
    /// One of 64 bits.
    Sum64(u32, i32),
    /// Address of a module variable inside its space, by its number, with an offset.
    Symbol(u32, i64),
    /// Address in local memory, from the base of the frame.
    Local(u32),
    /// Address of a kernel parameter, from the start of the parameters.
    Param(u32),
    /// Address of a function.
    Function(u32),
}

/// Where a value goes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Dst {
    R16(u32),
    R32(u32),
    R64(u32),
    R128(u32),
    Pred(u32),
    Sink,
}

impl Dst {
    /// The register as an operand that is read; `Imm` for none.
    pub fn as_source(self) -> Src {
        match self {
            Dst::R16(slot) | Dst::R32(slot) => Src::R32(slot),
            Dst::R64(slot) => Src::R64(slot),
            Dst::R128(slot) => Src::R128(slot),
            Dst::Pred(slot) => Src::Pred(slot),
            Dst::Sink => Src::Imm(0),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Special {
    Tid(u8),
    Ntid(u8),
    Ctaid(u8),
    Nctaid(u8),
    LaneId,
    WarpId,
    NwarpId,
    SmId,
    NsmId,
    GridId,
    EnvReg(u8),
    IsExplicitCluster,
    ClusterId(u8),
    NclusterId(u8),
    ClusterCtaid(u8),
    ClusterNctaid(u8),
    ClusterCtarank,
    ClusterNctarank,
    LanemaskEq,
    LanemaskLe,
    LanemaskLt,
    LanemaskGe,
    LanemaskGt,
    Clock,
    ClockHi,
    GlobalTimer,
    GlobalTimerHi,
    DynamicSmem,
    TotalSmem,
    Zero,
}

/// A state space as instructions name it; `Const` is part of `Global`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MemSpace {
    Generic,
    Global,
    Shared,
    SharedCluster,
    Local,
    Param,
    /// Global memory that multimem instructions reach.
    Multimem,
}

/// `[base + offset]`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Addr {
    pub base: Src,
    pub offset: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Width {
    W16,
    W32,
    W64,
}

impl Width {
    pub fn bytes(self) -> u32 {
        match self {
            Width::W16 => 2,
            Width::W32 => 4,
            Width::W64 => 8,
        }
    }
}

/// A collective of the warp with a member mask.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum WarpOp {
    Sync,
    Shfl { mode: ShflMode, d: Dst, p: Dst, a: Src, b: Src, c: Src },
    Vote { mode: VoteMode, d: Dst, a: Src },
    MatchAny { d: Dst, a: Src, wide: bool },
    MatchAll { d: Dst, p: Dst, a: Src, wide: bool },
    Redux { f: ReduxFn, d: Dst, a: Src },
    Elect { d: Dst, p: Dst },
}

/// Whose order an operation takes part in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Scope {
    Cta,
    Cluster,
    #[default]
    Gpu,
    Sys,
}

/// One load or store: what is common to both.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Access {
    pub space: MemSpace,
    /// Bytes of one element: 1, 2, 4, 8 or 16.
    pub bytes: u8,
    /// A load widens with the sign.
    pub signed: bool,
    /// Volatile, relaxed or stronger: others may look, so the scheduler may switch here.
    pub strong: bool,
    pub order: Order,
    pub scope: Scope,
    /// A load through the cache of constant data (`.nc`).
    pub constant: bool,
    pub addr: Addr,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Call {
    pub target: CallTarget,
    /// Offsets in the caller's frame, and bytes.
    pub args: Box<[(u32, u32)]>,
    pub returns: Box<[(u32, u32)]>,
    /// Values and registers that stand in the list themselves, with the places in the frame by which they go.
    pub stored: Box<[(Src, (u32, u32))]>,
    pub loaded: Box<[(Dst, (u32, u32))]>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum CallTarget {
    Function(u32),
    Indirect(Src),
    Vprintf,
    AssertFail,
    Malloc,
    Free,
    Unresolved(u32),
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Lop3With {
    pub table: u8,
    pub combine: BoolFn,
    pub d: Dst,
    pub p: Dst,
    pub words: [Src; 3],
    pub q: Src,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Op {
    Int {
        f: IntFn,
        w: Width,
        d: Dst,
        a: Src,
        b: Src,
        c: Src,
    },
    /// `mul.wide` and `mad.wide`; `w` is the width of the factors.
    Wide {
        signed: bool,
        w: Width,
        d: Dst,
        a: Src,
        b: Src,
        c: Option<Src>,
    },
    /// Addition with the carry flag: `b` may be complemented by `subtract`.
    Carry {
        w: Width,
        subtract: bool,
        carry_in: bool,
        carry_out: bool,
        d: Dst,
        a: Src,
        b: Src,
    },
    /// `mad.{lo,hi}.cc` and `madc`.
    MadCarry {
        w: Width,
        hi: bool,
        signed: bool,
        carry_in: bool,
        carry_out: bool,
        d: Dst,
        abc: Box<[Src; 3]>,
    },
    Bfi {
        w: Width,
        d: Dst,
        abcd: Box<[Src; 4]>,
    },
    Float {
        f: FloatFn,
        ty: Float,
        r: Rounding,
        ftz: bool,
        clamp: Clamp,
        d: Dst,
        a: Src,
        b: Src,
        c: Src,
    },
    /// Two halves in 32 bits, or two `f32` in 64.
    Packed {
        f: FloatFn,
        ty: Float,
        r: Rounding,
        ftz: bool,
        clamp: Clamp,
        d: Dst,
        a: Src,
        b: Src,
        c: Src,
    },
    TestP {
        property: TestProperty,
        ty: Float,
        d: Dst,
        a: Src,
    },
    Mov {
        d: Dst,
        a: Src,
    },
    /// All at once: what is written may be among what is read.
    MovVec {
        d: Box<[Dst]>,
        a: Box<[Src]>,
    },
    Pack {
        bits: u8,
        d: Dst,
        parts: Box<[Src]>,
    },
    Unpack {
        bits: u8,
        parts: Box<[Dst]>,
        a: Src,
    },
    Setp {
        cmp: Compare,
        ty: Scalar,
        ftz: bool,
        d: Dst,
        q: Dst,
        a: Src,
        b: Src,
        combine: Option<(BoolFn, Src)>,
    },
    /// `set`: all ones or 1.0 where true.
    Set {
        cmp: Compare,
        ty: Scalar,
        to: Scalar,
        d: Dst,
        a: Src,
        b: Src,
        combine: Option<(BoolFn, Src)>,
    },
    Selp {
        wide: bool,
        d: Dst,
        a: Src,
        b: Src,
        p: Src,
    },
    Slct {
        ty: Scalar,
        wide: bool,
        d: Dst,
        a: Src,
        b: Src,
        c: Src,
    },
    Pred {
        f: BoolFn,
        d: Dst,
        a: Src,
        b: Src,
    },
    Cvt {
        to: Scalar,
        from: Scalar,
        r: Option<Rounding>,
        integral: bool,
        ftz: bool,
        sat: bool,
        /// Overflow gives the largest number.
        finite: bool,
        relu: bool,
        d: Dst,
        a: Src,
    },
    /// Two floats to two narrow ones: `b` becomes the low half. Two that are packed are both in `a`.
    CvtPair {
        to: Format,
        from: Option<Format>,
        r: Rounding,
        finite: bool,
        relu: bool,
        d: Dst,
        a: Src,
        b: Src,
    },
    /// `cvt.pack`: two integers, saturated, below what `c` holds.
    CvtPack {
        bits: u8,
        signed: bool,
        d: Dst,
        a: Src,
        b: Src,
        c: Src,
    },
    /// `lop3` with `.and` or `.or`: of three words, and whether the result, combined with a predicate, is not zero.
    Lop3With(Box<Lop3With>),
    /// Two comparisons of halves, each into a half that is `one` where it holds.
    SetPair {
        cmp: Compare,
        ty: Float,
        one: u32,
        d: Dst,
        a: Src,
        b: Src,
        combine: Option<(BoolFn, Src)>,
    },
    /// Two comparisons of halves.
    SetpPair {
        cmp: Compare,
        ty: Float,
        d: Dst,
        q: Dst,
        a: Src,
        b: Src,
        combine: Option<(BoolFn, Src)>,
    },
    Ld {
        access: Access,
        d: Dst,
    },
    LdVec {
        access: Access,
        d: Box<[Dst]>,
    },
    St {
        access: Access,
        a: Src,
    },
    StVec {
        access: Access,
        a: Box<[Src]>,
    },
    Atom {
        f: AtomFn,
        access: Access,
        d: Dst,
        b: Src,
        c: Src,
    },
    /// Generic address to one inside the space.
    CvtaTo {
        space: MemSpace,
        d: Dst,
        a: Src,
    },
    Cvta {
        space: MemSpace,
        d: Dst,
        a: Src,
    },
    IsSpace {
        space: MemSpace,
        d: Dst,
        a: Src,
    },
    Mapa {
        generic: bool,
        d: Dst,
        a: Src,
        b: Src,
    },
    GetCtaRank {
        generic: bool,
        d: Dst,
        a: Src,
    },
    Bra {
        target: u32,
        join: u32,
    },
    BrxIdx {
        index: Src,
        targets: Box<[u32]>,
        join: u32,
    },
    Call(Box<Call>),
    Ret,
    Exit,
    Trap,
    Warp {
        op: Box<WarpOp>,
        mask: Src,
        aligned: bool,
    },
    ActiveMask {
        d: Dst,
    },
    Bar {
        mode: BarMode,
        d: Dst,
        id: Src,
        count: Option<Src>,
        aligned: bool,
    },
    ClusterArrive {
        aligned: bool,
        relaxed: bool,
    },
    ClusterWait {
        aligned: bool,
    },
    /// Orders memory, which is in order here anyway: a place to switch, and news for the detection.
    /// A move of what the author says is one value for a set.
    Same {
        among: Among,
        wide: bool,
        d: Dst,
        a: Src,
    },
    Fence(FenceOp),
    Nop,
    /// `griddepcontrol.wait`
    PreviousGrid,
    /// `griddepcontrol.launch_dependents`
    LaunchDependents,
    Mbarrier(Box<MbarrierOp>),
    Async(Box<AsyncOp>),
    Tensor(Box<TensorOp>),
    Wgmma(Box<WgmmaOp>),
    Matrix(Box<MatrixOp>),
    Wmma(Box<WmmaOp>),
    Remote(Box<RemoteOp>),
    /// Each element is an operation of its own.
    AtomVec {
        f: AtomFn,
        access: Access,
        d: Box<[Dst]>,
        b: Box<[Src]>,
    },
    /// Not known; the text says what.
    Unknown(Box<str>),
}

/// The threads among which a value is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Among {
    Warp,
    /// Four warps, from a multiple of four on.
    Group,
    Cta,
}

/// No reconvergence point.
pub(crate) const NO_JOIN: u32 = u32::MAX;

#[derive(Clone, Debug)]
pub(crate) struct Inst {
    /// 0: always; else (slot << 1 | negated) + 1.
    pub guard: u32,
    /// Some branch reconverges here.
    pub join_point: bool,
    /// PTX line.
    pub line: u32,
    pub op: Op,
}

/// A decoded function.
#[derive(Clone, Debug)]
pub(crate) struct Func {
    pub name: Box<str>,
    pub code: Vec<Inst>,
    /// Slots of each bank.
    pub n32: u32,
    pub n64: u32,
    pub np: u32,
    /// Bytes of local memory for a call: returns, parameters, then everything declared inside.
    pub local: u32,
    /// Offsets in local memory and bytes.
    pub params: Vec<(u32, u32)>,
    pub returns: Vec<(u32, u32)>,
    /// Those of both that live in registers, declared `.reg`.
    pub in_registers: Vec<(Dst, (u32, u32))>,
    pub out_of_registers: Vec<(Src, (u32, u32))>,
    /// Module variables in shared memory that this function names.
    pub shared: Vec<u32>,
    /// Functions that this one calls.
    pub callees: Vec<u32>,
    /// With `wgmma` or `tcgen05.ld` inside: the 32-bit registers that each instruction uses, and
    /// whether it writes them. Empty without.
    pub touched: Vec<Box<[(u32, bool)]>>,
    /// Where something may be used that nothing has written: what to watch.
    pub undefined: Option<Box<crate::undefined::Undefined>>,
    /// An indirect call: any function may be reached.
    pub indirect: bool,
}
