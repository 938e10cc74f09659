//! What the modifiers of tcgen05 instructions say.

use crate::tcgen05::{Access, Copy, CopyShape, Kind, Shape};
use baton_ptx::Operand;

pub(super) fn kind(name: Option<String>) -> Result<Kind, String> {
    Ok(match name.as_deref() {
        Some("f16") => Kind::F16,
        Some("tf32") => Kind::Tf32,
        Some("f8f6f4") => Kind::F8f6f4,
        Some("i8") => Kind::I8,
        Some("mxf8f6f4") => Kind::Mxf8f6f4,
        Some("mxf4") => Kind::Mxf4,
        Some("mxf4nvf4") => Kind::Mxf4nvf4,
        _ => return Err("kind".into()),
    })
}

/// Blocks of K that have a factor each.
pub(super) fn blocks(kind: Kind, mods: &[&str]) -> Result<u32, String> {
    let of = |name: &str| mods.contains(&name);
    Ok(match kind {
        _ if of("scale_vec::1X") => 1,
        _ if of("scale_vec::2X") => 2,
        _ if of("scale_vec::4X") => 4,
        kind if of("block16") => kind.depth() / 16,
        kind if of("block32") => kind.depth() / 32,
        Kind::Mxf8f6f4 => 1,
        Kind::Mxf4 => 2,
        _ => return Err("the size of blocks".into()),
    })
}

/// Whether a modifier says how many factors there are.
pub(super) fn of_blocks(name: &str) -> bool {
    matches!(name, "scale_vec::1X" | "scale_vec::2X" | "scale_vec::4X" | "block16" | "block32")
}

/// Whether a modifier says which operand of a product is kept for the next one.
pub(super) fn is_collector(name: &str) -> bool {
    let Some((buffer, what)) = name.strip_prefix("collector::").and_then(|n| n.split_once("::"))
    else {
        return false;
    };
    matches!(buffer, "a" | "b0" | "b1" | "b2" | "b3")
        && matches!(what, "fill" | "use" | "lastuse" | "discard")
}

/// Whether [`copy`] reads a modifier.
pub(super) fn of_copy(name: &str) -> bool {
    let shapes = ["128x256b", "4x256b", "128x128b", "64x128b", "32x128b"];
    let others = ["warpx2::02_13", "warpx2::01_23", "warpx4", "b8x16", "b6x16_p32", "b4x16_p64"];
    shapes.contains(&name) || others.contains(&name)
}

/// Whether [`access`] reads a modifier.
pub(super) fn of_access(name: &str) -> bool {
    let shapes = ["32x32b", "16x64b", "16x128b", "16x256b", "16x32bx2"];
    let repeats = || name.strip_prefix('x').is_some_and(|n| n.parse::<u8>().is_ok());
    shapes.contains(&name) || repeats() || matches!(name, "pack::16b" | "unpack::16b" | "b32")
}

/// Shape and format of a `tcgen05.cp`.
pub(super) fn copy(mods: &[&str]) -> Result<Copy, String> {
    let has = |name: &str| mods.contains(&name);
    let shape = match () {
        () if has("128x256b") => CopyShape::Lanes128x256b,
        () if has("4x256b") => CopyShape::Lanes4x256b,
        () if has("128x128b") => CopyShape::Lanes128x128b,
        () if has("64x128b") && has("warpx2::02_13") => CopyShape::Lanes64x128b02_13,
        () if has("64x128b") && has("warpx2::01_23") => CopyShape::Lanes64x128b01_23,
        () if has("32x128b") => CopyShape::Lanes32x128b,
        () => return Err("shape".into()),
    };
    let unpack = match () {
        () if has("b6x16_p32") => Some(6),
        () if has("b4x16_p64") => Some(4),
        () => None,
    };
    Ok(Copy { shape, unpack })
}

pub(super) fn access(mods: &[&str], rest: &[Operand]) -> Result<Access, String> {
    let split = match rest {
        [Operand::Int(split)] => *split as u32,
        [] => 0,
        _ => return Err("operands".into()),
    };
    let shape = mods
        .iter()
        .find_map(|m| {
            Some(match *m {
                "32x32b" => Shape::Lanes32x32b,
                "16x64b" => Shape::Lanes16x64b,
                "16x128b" => Shape::Lanes16x128b,
                "16x256b" => Shape::Lanes16x256b,
                "16x32bx2" => Shape::Lanes16x32bx2 { split },
                _ => return None,
            })
        })
        .ok_or("shape")?;
    let repeat = mods
        .iter()
        .find_map(|m| m.strip_prefix('x').and_then(|n| n.parse().ok()))
        .ok_or("repetition")?;
    let packed = mods.iter().any(|m| matches!(*m, "pack::16b" | "unpack::16b"));
    Access::new(shape, repeat, packed).map_err(|e| e.to_string())
}
