//! Arithmetic on an unknown multiple of a power of two plus a known number.
//!
//! `ctaid * 96 + tid` is such a value: `ctaid * 96` is the same multiple of 32 for all threads of a CTA. Divided by 32, it is the
//! same in each warp, which neither the multiple nor the threads' own numbers say alone.

use baton_ptx::{Instruction, Type, TypeKind};

use super::fold::{mask, operand_type};
use super::space::{Space, Value};

/// A value as a multiple of 2^`zeros` that is the same for all threads, and each thread's known part. 64 says that the
/// multiple is zero.
#[derive(Clone)]
struct Sum {
    zeros: u32,
    plus: Vec<u64>,
}

impl Sum {
    fn of(space: &Space, value: Value) -> Option<Sum> {
        let (zeros, numbers) = match value {
            Value::Known(numbers) => (64, numbers),
            Value::Multiple { zeros, plus } => (zeros, plus),
            Value::Label(part) if part == space.uniform => (0, space.zero),
            Value::Label(_) => return None,
        };
        Some(Sum { zeros, plus: space.of(numbers).to_vec() })
    }

    fn value(self, space: &mut Space, bits: u32) -> Value {
        let plus = space.numbers(|t| self.plus[t] & mask(bits));
        if self.zeros >= bits {
            // Nothing of the multiple is left.
            Value::Known(plus)
        } else if self.zeros == 0 && plus == space.zero {
            Value::Label(space.uniform)
        } else {
            Value::Multiple { zeros: self.zeros, plus }
        }
    }

    fn map(mut self, number: impl Fn(u64) -> u64) -> Sum {
        self.plus.iter_mut().for_each(|n| *n = number(*n));
        self
    }

    fn join(mut self, other: &Sum, number: impl Fn(u64, u64) -> u64) -> Sum {
        self.zeros = self.zeros.min(other.zeros);
        self.plus.iter_mut().zip(&other.plus).for_each(|(a, &b)| *a = number(*a, b));
        self
    }

    /// Whether the known part lies below the multiple, so that no addition carries into it.
    fn is_apart(&self) -> bool {
        self.plus.iter().all(|&n| n & !mask(self.zeros) == 0)
    }

    /// Times a number that all threads have. Multiples lose their upper bits to the width, which keeps them multiples.
    fn times(self, number: u64) -> Sum {
        let zeros = match number {
            0 => 64,
            n => (self.zeros + n.trailing_zeros()).min(64),
        };
        Sum { zeros, ..self.map(|n| n.wrapping_mul(number)) }
    }
}

/// What is known of the result, where one of the operands is such a value; `None` where that says nothing more than which
/// threads hold the same.
pub(super) fn transfer(
    space: &mut Space,
    instruction: &Instruction,
    values: &[Value],
) -> Option<Value> {
    if !values.iter().any(|value| !matches!(value, Value::Known(_))) {
        return None;
    }
    let ty = operand_type(instruction)?;
    let bits = u32::from(ty.bits);
    let whole = matches!(ty.kind, TypeKind::Bits | TypeKind::Unsigned | TypeKind::Signed);
    let packed = instruction.modifiers().any(|m| m.ends_with("x2") || m.ends_with("x4"));
    if !whole || packed || instruction.has("cc") || instruction.has("sat") || bits > 64 {
        return None;
    }
    let sums: Vec<Sum> = values.iter().map(|&v| Sum::of(space, v)).collect::<Option<_>>()?;
    let (first, second) = (sums.first()?.clone(), sums.get(1));
    let found = match instruction.opcode() {
        "mov" if sums.len() == 1 => return Some(values[0]),
        "cvt" => return convert(space, instruction, first, values[0]),
        "add" => first.join(second?, u64::wrapping_add),
        "sub" => first.join(second?, u64::wrapping_sub),
        "or" => or(first, second?.clone())?,
        "mul" | "mad" => return product(space, instruction, values, sums, bits),
        "shl" => first.times(1u64.checked_shl(space.one(values[1])? as u32).unwrap_or(0)),
        "shr" => {
            let by = space.one(*values.get(1)?)?;
            return shifted(space, first, by, bits);
        }
        "and" => {
            let (sum, number) = match (space.one(values[0]), space.one(values[1])) {
                (_, Some(number)) => (first, number & mask(bits)),
                (Some(number), _) => (second?.clone(), number & mask(bits)),
                _ => return None,
            };
            and(sum, number, bits)?
        }
        _ => return None,
    };
    Some(found.value(space, bits))
}

fn convert(space: &mut Space, instruction: &Instruction, sum: Sum, value: Value) -> Option<Value> {
    let types: Vec<Type> = instruction.modifiers().filter_map(Type::named).collect();
    let [to, from] = types[..] else { return None };
    let plain = |ty: Type| matches!(ty.kind, TypeKind::Unsigned | TypeKind::Signed);
    if !plain(to) || !plain(from) || instruction.modifiers().count() != 2 {
        return None;
    }
    if to.bits > from.bits {
        // The upper half is the multiple's alone.
        return (from.kind == TypeKind::Unsigned && sum.is_apart()).then_some(value);
    }
    Some(sum.value(space, to.bits.into()))
}

fn or(a: Sum, b: Sum) -> Option<Sum> {
    let (known, other) = if a.zeros == 64 { (a, b) } else { (b, a) };
    let below = known.zeros == 64 && other.zeros < 64;
    let apart = known
        .plus
        .iter()
        .zip(&other.plus)
        .all(|(&n, &m)| n & !mask(other.zeros) == 0 && n & m == 0);
    // Without a common bit it is a sum.
    (below && apart).then(|| other.join(&known, u64::wrapping_add))
}

fn and(sum: Sum, number: u64, bits: u32) -> Option<Sum> {
    let low = mask(sum.zeros);
    let cleared = mask(bits) ^ number;
    if number & !low == 0 {
        Some(Sum { zeros: 64, ..sum.map(|n| n & number) })
    } else if cleared & cleared.wrapping_add(1) == 0 && cleared & !low == 0 || sum.is_apart() {
        Some(sum.map(|n| n & number))
    } else {
        None
    }
}

fn shifted(space: &mut Space, sum: Sum, by: u64, bits: u32) -> Option<Value> {
    if sum.zeros >= 64 || by > u64::from(sum.zeros) {
        return None;
    }
    let by = by as u32;
    if sum.is_apart() {
        let sum = Sum { zeros: sum.zeros - by, plus: sum.plus }.map(|n| n >> by);
        return Some(sum.value(space, bits));
    }
    // The sum may wrap, but between multiples of what is shifted out.
    Some(Value::Label(space.partition(|t| sum.plus[t] >> by)))
}

fn product(
    space: &mut Space,
    instruction: &Instruction,
    values: &[Value],
    sums: Vec<Sum>,
    bits: u32,
) -> Option<Value> {
    let wide = instruction.has("wide");
    if !wide && !instruction.has("lo") {
        return None;
    }
    let (number, sum) = match (space.one(values[0]), space.one(*values.get(1)?)) {
        (Some(number), _) => (number, sums[1].clone()),
        (_, Some(number)) => (number, sums[0].clone()),
        _ => return None,
    };
    // In twice the bits, a carry out of the lower half would count.
    let positive = number & mask(bits) < 1 << (bits - 1);
    if wide && !(sum.is_apart() && positive) {
        return None;
    }
    let bits = if wide { 2 * bits } else { bits };
    let mut found = sum.times(number);
    if instruction.opcode() == "mad" {
        found = found.join(sums.get(2)?, u64::wrapping_add);
    }
    Some(found.value(space, bits.min(64)))
}

#[cfg(test)]
mod tests {
    use super::super::space::Launch;
    use super::*;
    use baton_ptx::Module;

    fn space() -> Space {
        Space::new(Launch { threads: [96, 1, 1], cluster: [1, 1, 1] })
    }

    fn of(space: &mut Space, mnemonic: &str, values: &[Value]) -> Option<Value> {
        let text = format!(".func f() {{ .reg .b32 a; {mnemonic} a, a; }}");
        let module = Module::parse(&text, "t").unwrap();
        let body = module.functions[0].body.as_ref().unwrap();
        transfer(space, &body.instructions[0], values)
    }

    /// `unknown * factor + the thread's number`.
    fn place(space: &mut Space, factor: u64) -> Value {
        let (factor, own) = (space.value(|_| factor), space.value(|t| t as u64));
        let unknown = Value::Label(space.uniform);
        of(space, "mad.lo.s32", &[unknown, factor, own]).unwrap()
    }

    #[test]
    fn a_place_in_the_grid_is_a_multiple_plus_the_threads_number() {
        let mut space = space();
        let own = space.numbers(|t| t as u64);
        assert_eq!(place(&mut space, 96), Value::Multiple { zeros: 5, plus: own });
        assert_eq!(place(&mut space, 48), Value::Multiple { zeros: 4, plus: own });
    }

    #[test]
    fn its_quotient_is_uniform_in_a_warp_if_the_multiple_is_one_of_warps() {
        let mut space = space();
        let by = space.value(|_| 5);
        let whole = place(&mut space, 96);
        let quotient = of(&mut space, "shr.u32", &[whole, by]).unwrap();
        assert_eq!(space.label(quotient), space.by_warp);
        let straddling = place(&mut space, 48);
        assert_eq!(of(&mut space, "shr.u32", &[straddling, by]), None);
    }

    #[test]
    fn masks_cut_the_multiple_or_the_number_off() {
        let mut space = space();
        let whole = place(&mut space, 96);
        let (low, high) = (space.value(|_| 31), space.value(|_| 0xFFFF_FFE0));
        let lanes = space.value(|t| t as u64 % 32);
        assert_eq!(of(&mut space, "and.b32", &[whole, low]), Some(lanes));
        let first = of(&mut space, "and.b32", &[whole, high]).unwrap();
        assert_eq!(space.label(first), space.by_warp);
        // A bit of the multiple is unknown, and a carry may reach it.
        let bit = space.value(|_| 64);
        assert_eq!(of(&mut space, "and.b32", &[whole, bit]), None);
    }

    #[test]
    fn widening_needs_that_nothing_was_carried() {
        let mut space = space();
        let whole = place(&mut space, 96);
        assert_eq!(of(&mut space, "cvt.u64.u32", &[whole]), None);
        let apart = place(&mut space, 128);
        assert_eq!(of(&mut space, "cvt.u64.u32", &[apart]), Some(apart));
        assert_eq!(of(&mut space, "cvt.s64.s32", &[apart]), None);
        let four = space.value(|_| 4);
        assert_eq!(of(&mut space, "mul.wide.u32", &[whole, four]), None);
        let plus = space.numbers(|t| 4 * t as u64);
        let expected = Value::Multiple { zeros: 9, plus };
        assert_eq!(of(&mut space, "mul.wide.u32", &[apart, four]), Some(expected));
    }

    #[test]
    fn what_has_no_common_bit_adds() {
        let mut space = space();
        let (five, own) = (space.value(|_| 7), space.numbers(|t| t as u64));
        let unknown = Value::Label(space.uniform);
        let multiple = of(&mut space, "shl.b32", &[unknown, five]).unwrap();
        let sum = of(&mut space, "or.b32", &[multiple, Value::Known(own)]);
        assert_eq!(sum, Some(Value::Multiple { zeros: 7, plus: own }));
        let four = space.value(|_| 4);
        let less = of(&mut space, "shl.b32", &[unknown, four]).unwrap();
        assert_eq!(of(&mut space, "or.b32", &[less, Value::Known(own)]), None);
    }

    #[test]
    fn what_varies_stays_so() {
        let mut space = space();
        let varying = Value::Label(space.varying);
        let one = space.value(|_| 1);
        assert_eq!(of(&mut space, "add.u32", &[varying, one]), None);
        let uniform = Value::Label(space.uniform);
        assert_eq!(of(&mut space, "add.f32", &[uniform, one]), None);
    }
}
