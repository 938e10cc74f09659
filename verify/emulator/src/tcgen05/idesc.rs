//! The 32-bit instruction descriptor of `tcgen05.mma`.
//!
//! Kinds `f16`, `tf32`, `f8f6f4` and `i8`:
//!
//! | bits | field | bits | field |
//! |---|---|---|---|
//! | 0-1 | sparsity selector | 13, 14 | negate A, B |
//! | 2 | sparse | 15, 16 | A, B are MN-major |
//! | 3 | saturate (i8) | 17-22 | N / 8 |
//! | 4-5 | type of D | 24-28 | M / 16 |
//! | 7-9, 10-12 | types of A, B | 30-31 | largest shift (`.ws`) |
//!
//! Block-scaled kinds have no saturation and always an f32 D. They differ in:
//!
//! | bits | field | bits | field |
//! |---|---|---|---|
//! | 4-5 | byte of the factors of B | 27-28 | M / 128 |
//! | 23 | factors are ue8m0, else ue4m3 | 29-30 | byte of the factors of A |
//! | | | 31 | K is 96 |

use super::descriptor::Major;
use super::element::ElementType;

/// `.kind` of a `tcgen05.mma`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "each name is the qualifier")]
pub enum Kind {
    F16,
    Tf32,
    F8f6f4,
    I8,
    Mxf8f6f4,
    Mxf4,
    Mxf4nvf4,
}

impl Kind {
    /// Name after `.kind::`.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::F16 => "f16",
            Kind::Tf32 => "tf32",
            Kind::F8f6f4 => "f8f6f4",
            Kind::I8 => "i8",
            Kind::Mxf8f6f4 => "mxf8f6f4",
            Kind::Mxf4 => "mxf4",
            Kind::Mxf4nvf4 => "mxf4nvf4",
        }
    }

    /// K of one dense multiplication: 32 bytes of elements.
    pub const fn depth(self) -> u32 {
        match self {
            Kind::Tf32 => 8,
            Kind::F16 => 16,
            Kind::F8f6f4 | Kind::I8 | Kind::Mxf8f6f4 => 32,
            Kind::Mxf4 | Kind::Mxf4nvf4 => 64,
        }
    }

    /// Whether blocks of A and B have factors.
    pub const fn is_scaled(self) -> bool {
        matches!(self, Kind::Mxf8f6f4 | Kind::Mxf4 | Kind::Mxf4nvf4)
    }

    fn element(self, code: u32) -> Option<ElementType> {
        Some(match (self, code) {
            (Kind::F16, 0) => ElementType::F16,
            (Kind::F16, 1) => ElementType::Bf16,
            (Kind::Tf32, 2) => ElementType::Tf32,
            (Kind::F8f6f4 | Kind::Mxf8f6f4, 0) => ElementType::E4m3,
            (Kind::F8f6f4 | Kind::Mxf8f6f4, 1) => ElementType::E5m2,
            (Kind::F8f6f4 | Kind::Mxf8f6f4, 3) => ElementType::E2m3,
            (Kind::F8f6f4 | Kind::Mxf8f6f4, 4) => ElementType::E3m2,
            (Kind::F8f6f4 | Kind::Mxf8f6f4, 5) => ElementType::E2m1,
            (Kind::Mxf4 | Kind::Mxf4nvf4, 1) => ElementType::Packed4,
            (Kind::I8, 0) => ElementType::U8,
            (Kind::I8, 1) => ElementType::S8,
            _ => return None,
        })
    }

    fn accumulator(self, code: u32) -> Option<AccumulatorType> {
        Some(match (self, code) {
            (Kind::F16 | Kind::F8f6f4, 0) => AccumulatorType::F16,
            (Kind::F16 | Kind::F8f6f4 | Kind::Tf32, 1) => AccumulatorType::F32,
            (Kind::I8, 2) => AccumulatorType::S32,
            _ => return None,
        })
    }
}

/// Type of an element of D.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "each name is the type")]
pub enum AccumulatorType {
    F16,
    F32,
    S32,
}

/// Which instruction a descriptor belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Form {
    /// `.cta_group::1`
    #[default]
    One,
    /// `.cta_group::2`
    Pair,
    /// `.ws.cta_group::1`
    WeightStationary,
}

impl Form {
    /// CTAs that take part.
    pub const fn ctas(self) -> u32 {
        if let Form::Pair = self { 2 } else { 1 }
    }

    const fn name(self) -> &'static str {
        match self {
            Form::One => ".cta_group::1",
            Form::Pair => ".cta_group::2",
            Form::WeightStationary => ".ws",
        }
    }

    const fn rows(self, scaled: bool) -> &'static [u32] {
        match (self, scaled) {
            (Form::One, false) => &[64, 128],
            (Form::One, true) => &[128],
            (Form::Pair, _) => &[128, 256],
            (Form::WeightStationary, _) => &[32, 64, 128],
        }
    }
}

/// Where the factors of blocks are: the byte of a cell at which those of A and B begin, and what
/// they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ScaleFormat {
    /// Byte of the factors of A.
    pub a_byte: u32,
    /// Byte of the factors of B.
    pub b_byte: u32,
    /// They are ue4m3, else ue8m0.
    pub ue4m3: bool,
}

/// A decoded instruction descriptor, legal for its multiplication.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct InstructionDescriptor {
    /// The instruction's `.kind`.
    pub kind: Kind,
    /// Type of A.
    pub a: ElementType,
    /// Type of B.
    pub b: ElementType,
    /// Type of D.
    pub d: AccumulatorType,
    /// Which index of A is contiguous in shared memory.
    pub a_major: Major,
    /// Which index of B is contiguous in shared memory.
    pub b_major: Major,
    /// A enters with its sign changed.
    pub negate_a: bool,
    /// B enters with its sign changed.
    pub negate_b: bool,
    /// Integer results saturate instead of wrapping around.
    pub saturate: bool,
    /// Which instruction it belongs to.
    pub form: Form,
    /// The factors of a block-scaled kind.
    pub scales: ScaleFormat,
    /// Rows of D, in both CTAs together.
    pub m: u32,
    /// Columns of D: 8 to 256.
    pub n: u32,
    /// Half of A is zero and not stored.
    pub sparse: bool,
    /// Which column of its metadata is meant, 0 or 1.
    pub selector: u32,
}

/// An instruction descriptor that is illegal for its instruction (rule D14), or that the emulator
/// does not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the fields are named after what the messages say")]
pub enum InstructionDescriptorError {
    #[error(
        "instruction descriptor {bits:#010x}: reserved bit {bit} is set; set bits 6, 23 and 29 to zero (rule D14)"
    )]
    Reserved { bits: u32, bit: u32 },
    #[error(
        "instruction descriptor {bits:#010x}: sparse (bits 0 to 2) on an instruction without `.sp`; clear them (rule D14)"
    )]
    Sparse { bits: u32 },
    #[error(
        "instruction descriptor {bits:#010x}: dense (bit 2) on an instruction with `.sp`; set it (rule D14)"
    )]
    Dense { bits: u32 },
    #[error(
        "instruction descriptor {bits:#010x}: sparsity selector {selector} (bits 0 and 1) with kind::{}; use 0, or 1 with \
         f16 and tf32 (rule D14)", kind.name()
    )]
    Selector { bits: u32, selector: u32, kind: Kind },
    #[error(
        "instruction descriptor {bits:#010x}: a sparse product with M = {m} and {}; the emulator has those with 128 rows in \
         each CTA", form.name()
    )]
    SparseRows { bits: u32, m: u32, form: Form },
    #[error(
        "instruction descriptor {bits:#010x}: largest shift {shift} (bits 30 and 31) on an instruction without `.ws`; \
         clear it (rule D14)"
    )]
    Shift { bits: u32, shift: u32 },
    #[error(
        "instruction descriptor {bits:#010x}: code {code} is no type of {matrix} with kind::{}; {} (rule D14)",
        kind.name(), legal_types(*kind, matrix)
    )]
    Type { bits: u32, matrix: &'static str, code: u32, kind: Kind },
    #[error(
        "instruction descriptor {bits:#010x}: bf16 operands with f16 D; accumulate bf16 in f32, code 1 in bits 4 and 5 \
         (rule D14)"
    )]
    Bf16Accumulator { bits: u32 },
    #[error("instruction descriptor {bits:#010x}: saturation (bit 3) with kind::{}; it exists for i8 only (rule D14)", kind.name())]
    Saturate { bits: u32, kind: Kind },
    #[error(
        "instruction descriptor {bits:#010x}: negation (bits 13 and 14) with kind::i8; clear both (rule D14)"
    )]
    NegateInteger { bits: u32 },
    #[error(
        "instruction descriptor {bits:#010x}: M = {m}; with {} and kind::{} M is one of {:?} (rule D14)",
        form.name(), kind.name(), form.rows(kind.is_scaled())
    )]
    M { bits: u32, m: u32, form: Form, kind: Kind },
    #[error(
        "instruction descriptor {bits:#010x}: N = {n} (bits 17 to 22) with {} and kind::{}; use 8 to 256 in steps of 8, \
         for i8 above 32 and for pairs of CTAs in steps of 16, for i8 in pairs of 32; with .ws 64, 128 or 256 (rule D14)",
        form.name(), kind.name()
    )]
    N { bits: u32, n: u32, form: Form, kind: Kind },
    #[error(
        "instruction descriptor {bits:#010x}: K of 96 (bit 31), which sm_100a does not have; clear it (rule D14)"
    )]
    Deep { bits: u32 },
}

impl InstructionDescriptorError {
    /// The rule that was broken, if it is one of the list.
    pub fn rule(&self) -> Option<&'static str> {
        match self {
            Self::SparseRows { .. } => None,
            _ => Some("D14"),
        }
    }
}

fn legal_types(kind: Kind, matrix: &str) -> &'static str {
    match (kind, matrix) {
        (Kind::F16 | Kind::F8f6f4, "D") => "use 0 for f16 or 1 for f32",
        (Kind::Tf32, "D") => "use 1 for f32",
        (Kind::I8, "D") => "use 2 for s32",
        (Kind::F16, _) => "use 0 for f16 or 1 for bf16",
        (Kind::Tf32, _) => "use 2 for tf32",
        (Kind::Mxf4 | Kind::Mxf4nvf4, _) => "use 1 for e2m1",
        (Kind::F8f6f4 | Kind::Mxf8f6f4, _) => {
            "use 0 for e4m3, 1 for e5m2, 3 for e2m3, 4 for e3m2 or 5 for e2m1"
        }
        (Kind::I8, _) => "use 0 for u8 or 1 for s8",
    }
}

impl InstructionDescriptor {
    /// Decodes the descriptor of a dense `tcgen05.mma.cta_group::1`.
    pub fn decode(kind: Kind, bits: u32) -> Result<Self, InstructionDescriptorError> {
        Self::decode_for(Form::One, kind, false, bits)
    }

    /// K of the multiplication.
    pub fn depth(&self) -> u32 {
        if self.sparse { 2 * self.kind.depth() } else { self.kind.depth() }
    }

    /// Decodes the descriptor of a `tcgen05.mma`, or of one with a sparse A.
    pub fn decode_for(
        form: Form,
        kind: Kind,
        sparse: bool,
        bits: u32,
    ) -> Result<Self, InstructionDescriptorError> {
        use InstructionDescriptorError as E;
        let scaled = kind.is_scaled();
        let field = |low: u32, width: u32| bits >> low & ((1 << width) - 1);
        let flag = |bit: u32| field(bit, 1) == 1;
        let reserved: &[u32] = if scaled { &[3, 6, 24, 25, 26] } else { &[6, 23, 29] };
        if let Some(&bit) = reserved.iter().find(|&&bit| flag(bit)) {
            return Err(E::Reserved { bits, bit });
        }
        if !sparse && field(0, 3) != 0 {
            return Err(E::Sparse { bits });
        }
        if sparse && !flag(2) {
            return Err(E::Dense { bits });
        }
        let selector = field(0, 2);
        if selector > u32::from(matches!(kind, Kind::F16 | Kind::Tf32)) {
            return Err(E::Selector { bits, selector, kind });
        }
        if !scaled && field(30, 2) != 0 && form != Form::WeightStationary {
            return Err(E::Shift { bits, shift: field(30, 2) });
        }
        if scaled && flag(31) {
            return Err(E::Deep { bits });
        }
        let bad_type = |matrix, code| E::Type { bits, matrix, code, kind };
        let element = |matrix, low| {
            kind.element(field(low, 3)).ok_or_else(|| bad_type(matrix, field(low, 3)))
        };
        let major = |bit| if flag(bit) { Major::Mn } else { Major::K };
        let d = if scaled {
            AccumulatorType::F32
        } else {
            kind.accumulator(field(4, 2)).ok_or_else(|| bad_type("D", field(4, 2)))?
        };
        let scales = if scaled {
            ScaleFormat { a_byte: field(29, 2), b_byte: field(4, 2), ue4m3: !flag(23) }
        } else {
            ScaleFormat::default()
        };
        let descriptor = InstructionDescriptor {
            kind,
            a: element("A", 7)?,
            b: element("B", 10)?,
            d,
            a_major: major(15),
            b_major: major(16),
            negate_a: flag(13),
            negate_b: flag(14),
            saturate: !scaled && flag(3),
            form,
            scales,
            m: if scaled { field(27, 2) * 128 } else { field(24, 5) * 16 },
            n: field(17, 6) * 8,
            sparse,
            selector,
        };
        let InstructionDescriptor { a, b, d, m, n, .. } = descriptor;
        if d == AccumulatorType::F16 && (a == ElementType::Bf16 || b == ElementType::Bf16) {
            return Err(E::Bf16Accumulator { bits });
        }
        if descriptor.saturate && kind != Kind::I8 {
            return Err(E::Saturate { bits, kind });
        }
        if kind == Kind::I8 && (descriptor.negate_a || descriptor.negate_b) {
            return Err(E::NegateInteger { bits });
        }
        if !form.rows(scaled).contains(&m) {
            return Err(E::M { bits, m, form, kind });
        }
        if sparse && m != 128 * form.ctas() {
            return Err(E::SparseRows { bits, m, form });
        }
        let step = match (form, kind) {
            (Form::Pair, Kind::I8) => 32,
            (Form::Pair, _) => 16,
            (_, Kind::I8) if n > 32 => 16,
            _ => 8,
        };
        let narrow = form == Form::WeightStationary && !matches!(n, 64 | 128 | 256);
        if !(8..=256).contains(&n) || n % step != 0 || narrow {
            return Err(E::N { bits, n, form, kind });
        }
        Ok(descriptor)
    }
}
