//! Integer arithmetic on numbers that are known in each thread.
//!
//! What is not here is no mistake: the result is then known only as far as its operands agree.

use baton_ptx::{Instruction, Type, TypeKind};

/// The type whose width counts: the last one that the mnemonic names.
pub(super) fn operand_type(instruction: &Instruction) -> Option<Type> {
    instruction.modifiers().filter_map(Type::named).last()
}

/// The bits of a type.
pub(super) fn mask(bits: u32) -> u64 {
    if bits >= 64 { u64::MAX } else { (1 << bits) - 1 }
}

fn signed(value: u64, bits: u32) -> i64 {
    let unused = 64 - bits.min(64);
    ((value << unused) as i64) >> unused
}

/// What an instruction makes of its operands in one thread; `second` asks for the second of two results.
pub(super) fn fold(instruction: &Instruction, values: &[u64], second: bool) -> Option<u64> {
    let ty = operand_type(instruction)?;
    let bits = u32::from(ty.bits);
    let integer = matches!(
        ty.kind,
        TypeKind::Predicate | TypeKind::Bits | TypeKind::Unsigned | TypeKind::Signed
    );
    let packed = instruction.modifiers().any(|m| m.ends_with("x2") || m.ends_with("x4"));
    if !integer || bits > 64 || packed || instruction.has("cc") || instruction.has("sat") {
        return None;
    }
    let is_signed = ty.kind == TypeKind::Signed;
    match instruction.opcode() {
        "cvt" => convert(instruction, values[0]),
        "setp" => compare(instruction, values, is_signed, bits, second),
        _ if second => None,
        opcode => arithmetic(instruction, opcode, values, is_signed, bits),
    }
}

fn convert(instruction: &Instruction, value: u64) -> Option<u64> {
    let types: Vec<Type> = instruction.modifiers().filter_map(Type::named).collect();
    let [to, from] = types[..] else { return None };
    if instruction.modifiers().count() != 2 {
        return None;
    }
    let whole = |ty: Type| matches!(ty.kind, TypeKind::Unsigned | TypeKind::Signed);
    if !whole(to) || !whole(from) {
        return None;
    }
    let value = match from.kind {
        TypeKind::Signed => signed(value, from.bits.into()) as u64,
        _ => value & mask(from.bits.into()),
    };
    Some(value & mask(to.bits.into()))
}

fn compare(
    instruction: &Instruction,
    values: &[u64],
    is_signed: bool,
    bits: u32,
    second: bool,
) -> Option<u64> {
    let (&a, &b) = (values.first()?, values.get(1)?);
    let order = match is_signed {
        true => signed(a, bits).cmp(&signed(b, bits)),
        false => (a & mask(bits)).cmp(&(b & mask(bits))),
    };
    let holds = match instruction.modifiers().next()? {
        "eq" => order.is_eq(),
        "ne" => order.is_ne(),
        "lt" | "lo" => order.is_lt(),
        "le" | "ls" => order.is_le(),
        "gt" | "hi" => order.is_gt(),
        "ge" | "hs" => order.is_ge(),
        _ => return None,
    };
    let join = |holds: bool| match values.get(2) {
        None => Some(holds),
        Some(&c) => match instruction.modifiers().nth(1)? {
            "and" => Some(holds && c != 0),
            "or" => Some(holds || c != 0),
            "xor" => Some(holds != (c != 0)),
            _ => None,
        },
    };
    Some(u64::from(join(holds != second)?))
}

fn arithmetic(
    instruction: &Instruction,
    opcode: &str,
    values: &[u64],
    is_signed: bool,
    bits: u32,
) -> Option<u64> {
    let all = mask(bits);
    let at = |i: usize| values.get(i).map(|&v| v & all);
    let sign = |i: usize| values.get(i).map(|&v| signed(v, bits));
    // Shifts and fields count in 32 bits, whatever the type is.
    let amount = |i: usize| values.get(i).map(|&v| v & 0xFFFF_FFFF);
    let result = match opcode {
        "mov" => at(0)?,
        "add" => at(0)?.wrapping_add(at(1)?),
        "sub" => at(0)?.wrapping_sub(at(1)?),
        "and" => at(0)? & at(1)?,
        "or" => at(0)? | at(1)?,
        "xor" => at(0)? ^ at(1)?,
        "not" => !at(0)?,
        "neg" => at(0)?.wrapping_neg(),
        "mul" => return multiply(instruction, values, is_signed, bits),
        "mad" if instruction.has("lo") => at(0)?.wrapping_mul(at(1)?).wrapping_add(at(2)?),
        "mad" if instruction.has("wide") => {
            let product = multiply(instruction, values, is_signed, bits)?;
            return Some(product.wrapping_add(*values.get(2)?) & mask(2 * bits));
        }
        "div" | "rem" if !is_signed => {
            let (a, b) = (at(0)?, at(1)?);
            if opcode == "div" { a.checked_div(b)? } else { a.checked_rem(b)? }
        }
        "min" if is_signed => sign(0)?.min(sign(1)?) as u64,
        "max" if is_signed => sign(0)?.max(sign(1)?) as u64,
        "min" => at(0)?.min(at(1)?),
        "max" => at(0)?.max(at(1)?),
        "selp" => {
            if *values.get(2)? != 0 {
                at(0)?
            } else {
                at(1)?
            }
        }
        "shl" => at(0)?.checked_shl(amount(1)?.min(64) as u32).unwrap_or(0),
        "shr" if is_signed => (sign(0)? >> amount(1)?.min(63)) as u64,
        "shr" => at(0)?.checked_shr(amount(1)?.min(64) as u32).unwrap_or(0),
        "bfe" if !is_signed => {
            let (from, length) = (amount(1)? & 255, amount(2)? & 255);
            at(0)?.checked_shr(from as u32).unwrap_or(0) & mask(length.min(64) as u32)
        }
        _ => return None,
    };
    Some(result & all)
}

fn multiply(instruction: &Instruction, values: &[u64], is_signed: bool, bits: u32) -> Option<u64> {
    let (&a, &b) = (values.first()?, values.get(1)?);
    let wide = |v: u64| match is_signed {
        true => i128::from(signed(v, bits)),
        false => i128::from(v & mask(bits)),
    };
    let product = wide(a).wrapping_mul(wide(b));
    if instruction.has("lo") {
        Some(product as u64 & mask(bits))
    } else if instruction.has("hi") {
        Some((product >> bits) as u64 & mask(bits))
    } else if instruction.has("wide") {
        Some(product as u64 & mask(2 * bits))
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use baton_ptx::Module;

    fn of(mnemonic: &str, values: &[u64]) -> Option<u64> {
        let text = format!(".func f() {{ .reg .b32 a; {mnemonic} a, a; }}");
        let module = Module::parse(&text, "t").unwrap();
        fold(&module.functions[0].body.as_ref().unwrap().instructions[0], values, false)
    }

    #[test]
    fn arithmetic_wraps_and_knows_signs() {
        for (mnemonic, values, expected) in [
            ("add.s32", &[0xFFFF_FFFF, 2][..], 1),
            ("sub.u32", &[1, 2], 0xFFFF_FFFF),
            ("mul.lo.s32", &[0xFFFF_FFFF, 3], 0xFFFF_FFFD),
            ("mul.hi.u32", &[7, 0xAAAA_AAAB], 4),
            ("mul.wide.u32", &[0xFFFF_FFFF, 2], 0x1_FFFF_FFFE),
            ("mul.wide.s32", &[0xFFFF_FFFF, 2], 0xFFFF_FFFF_FFFF_FFFE),
            ("mad.lo.s32", &[3, 4, 5], 17),
            ("mad.wide.u32", &[0xFFFF_FFFF, 2, 3], 0x2_0000_0001),
            ("shr.s32", &[0x8000_0000, 31], 0xFFFF_FFFF),
            ("shr.u32", &[0x8000_0000, 31], 1),
            ("shl.b32", &[1, 40], 0),
            ("min.s32", &[0xFFFF_FFFF, 2], 0xFFFF_FFFF),
            ("min.u32", &[0xFFFF_FFFF, 2], 2),
            ("rem.u32", &[17, 5], 2),
            ("bfe.u32", &[0xABCD, 4, 8], 0xBC),
            ("cvt.s64.s32", &[0xFFFF_FFFF], u64::MAX),
            ("cvt.u64.u32", &[0xF_FFFF_FFFF], 0xFFFF_FFFF),
            ("not.pred", &[1], 0),
            ("setp.lt.s32", &[0xFFFF_FFFF, 2], 1),
            ("setp.lt.u32", &[0xFFFF_FFFF, 2], 0),
            ("setp.eq.and.b32", &[2, 2, 0], 0),
            ("selp.b32", &[4, 5, 0], 5),
        ] {
            assert_eq!(of(mnemonic, values), Some(expected), "{mnemonic} {values:x?}");
        }
    }

    #[test]
    fn what_is_not_whole_or_not_defined_is_not_known() {
        for (mnemonic, values) in [
            ("add.f32", &[1, 2][..]),
            ("div.u32", &[1, 0]),
            ("add.cc.u32", &[1, 2]),
            ("add.u16x2", &[1, 2]),
            ("cvt.rn.f32.u32", &[1]),
            ("popc.b32", &[1]),
        ] {
            assert_eq!(of(mnemonic, values), None, "{mnemonic}");
        }
    }
}
