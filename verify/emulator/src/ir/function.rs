//! What instructions compute: the choices inside an operation, as its modifiers name them.

use crate::value::{Float, Format};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IntFn {
    Add,
    Sub,
    Mul,
    MulHiU,
    MulHiS,
    Mad,
    MadHiU,
    MadHiS,
    DivU,
    DivS,
    RemU,
    RemS,
    Neg,
    Abs,
    MinU,
    MinS,
    MaxU,
    MaxS,
    And,
    Or,
    Xor,
    Not,
    Cnot,
    Shl,
    ShrU,
    ShrS,
    Popc,
    Clz,
    Brev,
    BfindU,
    BfindS,
    BfindShiftU,
    BfindShiftS,
    BfeU,
    BfeS,
    Lop3(u8),
    Prmt(PrmtMode),
    SadU,
    SadS,
    AddSatS,
    SubSatS,
    FunnelLeftWrap,
    FunnelLeftClamp,
    FunnelRightWrap,
    FunnelRightClamp,
    Mul24U,
    Mul24S,
    Mul24HiU,
    Mul24HiS,
    MadHiSatS,
    /// Signedness of the two factors.
    Dp4a(bool, bool),
    /// The upper bytes; signedness of the two factors.
    Dp2a(bool, bool, bool),
    Fns,
    Bmsk(bool),
    /// Signedness; whether the size clamps.
    Szext(bool, bool),
    MinRelu,
    MaxRelu,
    Halves(HalfFn),
    /// `vabsdiff2`, `vabsdiff4`: bits of a part, signedness, whether the sum of all is added to `c`.
    AbsDiff(u8, bool, bool),
}

/// On two numbers of 16 bits at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HalfFn {
    Add,
    Sub,
    AddSatU,
    AddSatS,
    SubSatU,
    SubSatS,
    MinU,
    MaxU,
    MinS,
    MaxS,
    MinRelu,
    MaxRelu,
    Neg,
}

/// What becomes of a result before it is stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Clamp {
    #[default]
    Nothing,
    /// To [0, 1]; NaN becomes 0.
    Unit,
    /// Negative numbers become 0.
    Relu,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PrmtMode {
    Index,
    F4e,
    B4e,
    Rc8,
    Ecl,
    Ecr,
    Rc16,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FloatFn {
    Add,
    Sub,
    Mul,
    Fma,
    Div,
    Neg,
    Abs,
    Min,
    Max,
    MinNan,
    MaxNan,
    Min3,
    Max3,
    Min3Nan,
    Max3Nan,
    /// Of magnitudes, with the sign of the product.
    MinXorSign,
    MaxXorSign,
    MinNanXorSign,
    MaxNanXorSign,
    Sqrt,
    Rsqrt,
    Rcp,
    Ex2,
    Lg2,
    Sin,
    Cos,
    Tanh,
    CopySign,
}

impl FloatFn {
    /// Whether the sign of the result is that of the product.
    pub fn is_xor_sign(self) -> bool {
        matches!(
            self,
            FloatFn::MinXorSign
                | FloatFn::MaxXorSign
                | FloatFn::MinNanXorSign
                | FloatFn::MaxNanXorSign
        )
    }

    /// Of a function of three, that of two; of one with `.xorsign.abs`, that without.
    pub fn of_two(self) -> FloatFn {
        match self {
            FloatFn::Min3 => FloatFn::Min,
            FloatFn::Max3 => FloatFn::Max,
            FloatFn::Min3Nan => FloatFn::MinNan,
            FloatFn::Max3Nan => FloatFn::MaxNan,
            FloatFn::MinXorSign => FloatFn::Min,
            FloatFn::MaxXorSign => FloatFn::Max,
            FloatFn::MinNanXorSign => FloatFn::MinNan,
            FloatFn::MaxNanXorSign => FloatFn::MaxNan,
            f => f,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compare {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    Equ,
    Neu,
    Ltu,
    Leu,
    Gtu,
    Geu,
    Num,
    Nan,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BoolFn {
    And,
    Or,
    Xor,
}

/// What is compared or converted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Scalar {
    /// Bits and signedness.
    Int(u8, bool),
    Float(Float),
    /// A narrow format that only conversions know.
    Narrow(Format),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TestProperty {
    Finite,
    Infinite,
    Number,
    NotANumber,
    Normal,
    Subnormal,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AtomFn {
    Add,
    Inc,
    Dec,
    MinU,
    MinS,
    MaxU,
    MaxS,
    And,
    Or,
    Xor,
    Exch,
    Cas,
    AddF(Float),
    MinF(Float),
    MaxF(Float),
    /// Two halves.
    AddX2(Float),
    MinX2(Float),
    MaxX2(Float),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ShflMode {
    Up,
    Down,
    Bfly,
    Idx,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VoteMode {
    All,
    Any,
    Uni,
    Ballot,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReduxFn {
    Add,
    MinU,
    MinS,
    MaxU,
    MaxS,
    And,
    Or,
    Xor,
    MinF { abs: bool, nan: bool },
    MaxF { abs: bool, nan: bool },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BarMode {
    Sync,
    Arrive,
    RedAnd(u32),
    RedOr(u32),
    RedPopc(u32),
}

impl BarMode {
    /// The slot of a predicate that is a literal.
    pub const LITERAL: u32 = u32::MAX >> 1;
}
