//! What instructions compute: integer arithmetic, comparisons, and what atomics do to a value.

use super::Type;

/// Integer operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Alu {
    Move,
    Add,
    Sub,
    Mul,
    MulHigh,
    And,
    Or,
    Xor,
    Not,
    Neg,
    Shl,
    Shr,
    Min,
    Max,
    Div,
    Rem,
    /// `a * b + c`
    Mad,
    /// `c` bits of `a` from bit `b` on.
    BitField,
    /// `c ? a : b`
    Select,
    /// A comparison gives 1 or 0.
    Compare(Compare),
    /// A comparison of `a` and `b` together with the predicate `c`, which may be negated.
    CompareWith(Compare, Logic, bool),
}

/// How `setp` combines a comparison with a predicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Logic {
    And,
    Or,
    Xor,
}

impl Logic {
    /// The operation that PTX calls `name`.
    pub fn named(name: &str) -> Option<Logic> {
        Some(match name {
            "and" => Logic::And,
            "or" => Logic::Or,
            "xor" => Logic::Xor,
            _ => return None,
        })
    }
}

/// Comparisons of `setp`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Compare {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

impl Compare {
    /// The comparison that PTX calls `name`.
    pub fn named(name: &str) -> Option<Compare> {
        Some(match name {
            "eq" => Compare::Eq,
            "ne" => Compare::Ne,
            "lt" | "lo" => Compare::Lt,
            "le" | "ls" => Compare::Le,
            "gt" | "hi" => Compare::Gt,
            "ge" | "hs" => Compare::Ge,
            _ => return None,
        })
    }

    fn holds(self, ordering: std::cmp::Ordering) -> bool {
        match self {
            Compare::Eq => ordering.is_eq(),
            Compare::Ne => ordering.is_ne(),
            Compare::Lt => ordering.is_lt(),
            Compare::Le => ordering.is_le(),
            Compare::Gt => ordering.is_gt(),
            Compare::Ge => ordering.is_ge(),
        }
    }
}

impl Alu {
    /// The result, as [`Type::wrap`] gives it; operands are taken as values of `ty`.
    pub fn compute(self, ty: Type, args: [u128; 3]) -> u128 {
        let [a, b, c] = [ty.wrap(args[0]), ty.wrap(args[1]), ty.wrap(args[2])];
        let ordering = if ty.signed { (a as i128).cmp(&(b as i128)) } else { a.cmp(&b) };
        let bits = 8 * ty.bytes;
        let result = match self {
            Alu::Move => a,
            Alu::Add => a.wrapping_add(b),
            Alu::Sub => a.wrapping_sub(b),
            Alu::Mul => a.wrapping_mul(b),
            Alu::MulHigh => a.wrapping_mul(b) >> bits.min(127),
            Alu::And => a & b,
            Alu::Or => a | b,
            Alu::Xor => a ^ b,
            Alu::Not => !a,
            Alu::Neg => a.wrapping_neg(),
            // The amount is an unsigned 32-bit number, clamped to the width.
            Alu::Shl => match args[1] as u32 {
                amount if amount >= bits => 0,
                amount => a << amount,
            },
            Alu::Shr => match args[1] as u32 {
                amount if ty.signed => ((a as i128) >> amount.min(bits - 1)) as u128,
                amount if amount >= bits => 0,
                amount => a >> amount,
            },
            Alu::Min => {
                if ordering.is_lt() {
                    a
                } else {
                    b
                }
            }
            Alu::Max => {
                if ordering.is_lt() {
                    b
                } else {
                    a
                }
            }
            // Division by zero gives an unspecified value: all ones, as the hardware does.
            Alu::Div if b == 0 => u128::MAX,
            Alu::Rem if b == 0 => u128::MAX,
            Alu::Div if ty.signed => (a as i128).wrapping_div(b as i128) as u128,
            Alu::Rem if ty.signed => (a as i128).wrapping_rem(b as i128) as u128,
            Alu::Div => a / b,
            Alu::Rem => a % b,
            Alu::BitField => {
                let (from, length) = (args[1] as u32 & 0xff, args[2] as u32 & 0xff);
                let field = if from >= bits { 0 } else { a >> from };
                if length >= bits { field } else { field & ((1 << length) - 1) }
            }
            Alu::Mad => a.wrapping_mul(b).wrapping_add(c),
            Alu::Select => {
                if args[2] != 0 {
                    a
                } else {
                    b
                }
            }
            Alu::Compare(compare) => return u128::from(compare.holds(ordering)),
            Alu::CompareWith(compare, logic, negated) => {
                let (holds, other) = (compare.holds(ordering), (args[2] != 0) != negated);
                return u128::from(match logic {
                    Logic::And => holds && other,
                    Logic::Or => holds || other,
                    Logic::Xor => holds != other,
                });
            }
        };
        ty.wrap(result)
    }
}

/// What an atomic operation does to the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Modify {
    Add,
    And,
    Or,
    Xor,
    Min,
    Max,
    Exchange,
    /// Writes the second argument if the value equals the first, else the old value.
    CompareExchange,
    /// `old >= arg ? 0 : old + 1`
    Increment,
    /// `old == 0 || old > arg ? arg : old - 1`
    Decrement,
}

impl Modify {
    /// The operation that PTX calls `name`.
    pub fn named(name: &str) -> Option<Modify> {
        Some(match name {
            "add" => Modify::Add,
            "and" => Modify::And,
            "or" => Modify::Or,
            "xor" => Modify::Xor,
            "min" => Modify::Min,
            "max" => Modify::Max,
            "exch" => Modify::Exchange,
            "cas" => Modify::CompareExchange,
            "inc" => Modify::Increment,
            "dec" => Modify::Decrement,
            _ => return None,
        })
    }

    /// The new value.
    pub fn apply(self, ty: Type, old: u128, args: [u128; 2]) -> u128 {
        let [a, b] = [ty.wrap(args[0]), ty.wrap(args[1])];
        let alu = |alu: Alu| alu.compute(ty, [old, a, 0]);
        match self {
            Modify::Add => alu(Alu::Add),
            Modify::And => alu(Alu::And),
            Modify::Or => alu(Alu::Or),
            Modify::Xor => alu(Alu::Xor),
            Modify::Min => alu(Alu::Min),
            Modify::Max => alu(Alu::Max),
            Modify::Exchange => a,
            Modify::CompareExchange => {
                if old == a {
                    b
                } else {
                    old
                }
            }
            Modify::Increment => {
                if old >= a {
                    0
                } else {
                    ty.wrap(old + 1)
                }
            }
            Modify::Decrement => {
                if old == 0 || old > a {
                    a
                } else {
                    old - 1
                }
            }
        }
    }
}
