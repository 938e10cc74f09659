//! `wmma`.

use super::matrix::{element, shape};
use super::*;
use crate::matrix::{Element, Terms, row_access};
use crate::wmma::{Fragment, Kind, Product, WmmaOp};

impl Decoder<'_> {
    pub(super) fn warp_matrix(&mut self, mods: &Mods, o: &[Operand]) -> Result<Op> {
        let action = mods.first();
        mods.idle(&["sync", "aligned"]);
        let shape = mods.find(shape).ok_or("shape")?;
        let op = match (action, o) {
            ("load", [d, a, rest @ ..]) => {
                let d = self.destinations(d)?;
                let fragment = one_fragment(mods, shape, d.len())?;
                let access = self.tile_access(mods, a)?;
                WmmaOp::Load { fragment, access, stride: self.stride(rest)?, d }
            }
            ("store", [address, a, rest @ ..]) => {
                let a = self.sources(a)?;
                let fragment = one_fragment(mods, shape, a.len())?;
                let access = self.tile_access(mods, address)?;
                WmmaOp::Store { fragment, access, stride: self.stride(rest)?, a }
            }
            ("mma", [d, a, b, c]) => {
                WmmaOp::Multiply(product(mods, shape, self.terms(mods, [d, a, b, c])?)?)
            }
            _ => return Err(String::new()),
        };
        Ok(Op::Wmma(Box::new(op)))
    }

    fn tile_access(&mut self, mods: &Mods, operand: &Operand) -> Result<Access> {
        let (addr, space) = self.shared_addr(mods, operand)?;
        let space = if mods.has("global") { MemSpace::Global } else { space };
        Ok(row_access(space, addr))
    }

    fn stride(&mut self, rest: &[Operand]) -> Result<Option<Src>> {
        match rest {
            [] => Ok(None),
            [stride] => Ok(Some(self.src(stride, 32)?)),
            _ => Err("operands".into()),
        }
    }
}

/// What a load or a store moves.
fn one_fragment(
    mods: &Mods,
    (m, n, k): (usize, usize, usize),
    registers: usize,
) -> Result<Fragment> {
    let which = mods.find(|m| matches!(m, "a" | "b" | "c" | "d").then_some(m)).ok_or("matrix")?;
    let (rows, columns) = match which {
        "a" => (m, k),
        "b" => (k, n),
        _ => (m, n),
    };
    let kind = mods.find(kind).ok_or("type")?;
    let fragment = Fragment {
        rows,
        columns,
        kind,
        by_rows: by_rows(mods)?,
        accumulator: matches!(which, "c" | "d"),
        registers,
    };
    if fragment.fits() { Ok(fragment) } else { Err("shape, type and registers do not fit".into()) }
}

fn by_rows(mods: &Mods) -> Result<bool> {
    match (mods.has("row"), mods.has("col")) {
        (true, false) => Ok(true),
        (false, true) => Ok(false),
        _ => Err("`.row` or `.col`".into()),
    }
}

fn product(mods: &Mods, (m, n, k): (usize, usize, usize), terms: Terms) -> Result<Product> {
    mods.idle(&["popc", "rn"]);
    let layouts = mods.each(|m| matches!(m, "row" | "col").then_some(m == "row"));
    let [a_rows, b_rows] = layouts[..] else { return Err("two layouts".into()) };
    let types = mods.each(kind);
    let half = Kind::Of(Element::F16);
    let (of_d, of_a, of_b, of_c) = match types[..] {
        [d, c] => (d, half, half, c),
        [d, a, b, c] => (d, a, b, c),
        _ => return Err("types".into()),
    };
    let fragment = |rows, columns, kind, by_rows, accumulator, registers| Fragment {
        rows,
        columns,
        kind,
        by_rows,
        accumulator,
        registers,
    };
    let product = Product {
        of_a: fragment(m, k, of_a, a_rows, false, terms.a.len()),
        of_b: fragment(k, n, of_b, b_rows, false, terms.b.len()),
        of_c: fragment(m, n, of_c, true, true, terms.c.len()),
        of_d: fragment(m, n, of_d, true, true, terms.d.len()),
        terms,
    };
    if mods.contains("popc") {
        mods.idle(&["xor"]);
    }
    let wanted: &[Kind] = match (of_a, of_b) {
        (Kind::Of(Element::F64), Kind::Of(Element::F64)) => &[Kind::Of(Element::F64)],
        (Kind::Of(x), Kind::Of(y)) if x.is_integer() && y.is_integer() => &[Kind::S32],
        (Kind::Of(Element::F16), Kind::Of(Element::F16)) => &[Kind::F32, half],
        (Kind::Of(Element::Bf16 | Element::Tf32), Kind::Of(_)) if of_a == of_b => &[Kind::F32],
        _ => &[],
    };
    let fragments = [product.of_a, product.of_b, product.of_c, product.of_d];
    if of_a.bits() != of_b.bits()
        || !wanted.contains(&of_c)
        || !wanted.contains(&of_d)
        || !fragments.iter().all(Fragment::fits)
    {
        return Err("shape, types and registers do not fit".into());
    }
    Ok(product)
}

fn kind(name: &str) -> Option<Kind> {
    match name {
        "f32" => Some(Kind::F32),
        "s32" => Some(Kind::S32),
        "e4m3" | "e5m2" | "e2m3" | "e3m2" | "e2m1" => None,
        name => element(name).map(Kind::Of),
    }
}
