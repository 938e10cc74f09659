//! The widths of registers against the type of their instruction.
//!
//! `ptxas` refuses an instruction whose registers are wider or narrower than its type says, but for loads, stores and
//! conversions, whose registers may be wider. Here such an instruction is refused as well: it would compute with half
//! of a register, or with what is left of another. Whole vector registers are written out as their elements before.

use super::*;

/// The operands with whole vector registers taken apart; none if there are none.
pub(super) fn expand(body: &ptx::Body, o: &[Operand]) -> Option<Vec<Operand>> {
    let lanes = |operand: &Operand| match operand {
        Operand::Register(id) => body.registers[id.0 as usize].lanes,
        _ => 1,
    };
    if o.iter().all(|operand| lanes(operand) <= 1) {
        return None;
    }
    let expanded = o.iter().map(|operand| match operand {
        Operand::Register(id) if lanes(operand) > 1 => {
            Operand::Vector((0..lanes(operand)).map(|lane| Operand::Component(*id, lane)).collect())
        }
        other => other.clone(),
    });
    Some(expanded.collect())
}

/// What the registers of an operand have to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Want {
    /// So many bits.
    Bits(u8),
    /// As many at least.
    Least(u8),
    /// A predicate.
    Predicate,
    /// Anything.
    Any,
}

/// Refuses an instruction with registers of another width than its type.
pub(super) fn check(body: &ptx::Body, opcode: &str, mods: &Mods, o: &[Operand]) -> Result<()> {
    for (operand, want) in o.iter().zip(wants(opcode, mods, o)) {
        fits(body, operand, want)?;
    }
    Ok(())
}

fn fits(body: &ptx::Body, operand: &Operand, want: Want) -> Result<()> {
    let id = match operand {
        Operand::Register(id) | Operand::Component(id, _) | Operand::Not(id) => id,
        Operand::Vector(parts) => {
            return parts.iter().try_for_each(|part| fits(body, part, want));
        }
        Operand::Pair(a, b) => {
            fits(body, a, want)?;
            return fits(body, b, Want::Predicate);
        }
        _ => return Ok(()),
    };
    let register = &body.registers[id.0 as usize];
    let is_predicate = register.ty.kind == TypeKind::Predicate;
    let bits = u32::from(register.ty.bits);
    let expected = match want {
        Want::Any => return Ok(()),
        Want::Predicate if is_predicate => return Ok(()),
        Want::Bits(n) if !is_predicate && bits == u32::from(n) => return Ok(()),
        Want::Least(n) if !is_predicate && bits >= u32::from(n) => return Ok(()),
        Want::Predicate => "a predicate".to_owned(),
        Want::Bits(n) => format!("{n} bits"),
        Want::Least(n) => format!("{n} bits or more"),
    };
    let has = if is_predicate { "a predicate".to_owned() } else { format!("{bits} bits") };
    Err(format!("`{}` has {has} where {expected} belong", register.name))
}

/// The width of what a type names, of packed ones in one register as well.
fn width(name: &str) -> Option<u8> {
    match name {
        "f16x2" | "bf16x2" | "u16x2" | "s16x2" => Some(32),
        "f32x2" => Some(64),
        _ => scalar(name).map(bits),
    }
}

/// What each operand has to be; fewer where nothing is known of the rest.
fn wants(opcode: &str, mods: &Mods, o: &[Operand]) -> Vec<Want> {
    use Want::*;
    let types: Vec<u8> = mods.names().iter().filter_map(|name| width(name)).collect();
    let (Some(&first), Some(&last)) = (types.first(), types.last()) else { return vec![] };
    let whole = if last == 1 { Predicate } else { Bits(last) };
    match opcode {
        "mul" | "mad" if mods.contains("wide") => {
            vec![Bits(last * 2), Bits(last), Bits(last), Bits(last * 2)]
        }
        "add" | "sub" | "mul" | "mad" | "fma" | "div" | "rem" | "min" | "max" | "neg" | "abs"
        | "sad" | "and" | "or" | "xor" | "not" | "cnot" | "addc" | "subc" | "madc" | "mul24"
        | "mad24" | "sqrt" | "rsqrt" | "rcp" | "ex2" | "lg2" | "sin" | "cos" | "tanh"
        | "copysign" | "brev"
            if types.iter().all(|ty| *ty == last) =>
        {
            vec![whole; 4]
        }
        "shl" | "shr" => vec![Bits(last), Bits(last), Bits(32)],
        "bfe" => vec![Bits(last), Bits(last), Bits(32), Bits(32)],
        "bfi" => vec![Bits(last), Bits(last), Bits(last), Bits(32), Bits(32)],
        "popc" | "clz" | "bfind" => vec![Bits(32), Bits(last)],
        "lop3" | "prmt" | "shf" | "dp4a" | "dp2a" | "szext" | "bmsk" | "fns" => vec![Bits(32); 4],
        "selp" => vec![Bits(last), Bits(last), Bits(last), Predicate],
        "slct" if types.len() == 2 => vec![Bits(first), Bits(first), Bits(first), Bits(last)],
        "setp" => vec![Predicate, Bits(last), Bits(last), Predicate],
        "set" if types.len() == 2 => vec![Bits(first), Bits(last), Bits(last), Predicate],
        "mov" => match o {
            // Packing and unpacking divide the width.
            [d, Operand::Vector(parts)] if !matches!(d, Operand::Vector(_)) => {
                vec![Bits(last), Bits(last / parts.len().max(1) as u8)]
            }
            [Operand::Vector(parts), a] if !matches!(a, Operand::Vector(_)) => {
                vec![Bits(last / parts.len().max(1) as u8), Bits(last)]
            }
            _ => vec![whole; 2],
        },
        "cvt" if types.len() == 2 && o.len() == 2 => vec![Least(first), Least(last)],
        "ld" | "ldu" => vec![Least(last)],
        "st" if !mods.contains("async") && !mods.contains("bulk") => vec![Any, Least(last)],
        "atom" => vec![Least(last), Any, Least(last), Least(last)],
        "red" if !mods.contains("async") => vec![Any, Least(last)],
        "shfl" => vec![Bits(32), Bits(32), Bits(32), Bits(32), Bits(32)],
        _ => vec![],
    }
}
