//! One product, stored as elements of each width, each with something of its row and its column.

use baton::global::Store;
use baton::prelude::*;
use baton::wgmma::Product;

/// Columns of the product.
pub const COLUMNS: usize = 128;
/// The first of those that `some_columns` stores.
pub const FIRST: usize = 24;
/// How many it stores.
pub const SOME: usize = 64;
/// Columns of the factors.
const K: usize = 64;

/// What is made of a sum: no two neighbours are alike, and all are whole numbers below 256.
pub fn with_its_place(row: u32, column: u32, sum: f32) -> f32 {
    sum / 4.0 + (3 * row + column) as f32 % 64.0
}

type Factors = (Tile<bf16, 64, K>, Tile<bf16, COLUMNS, K>);

macro_rules! stored {
    ($($(#[$doc:meta])* $name:ident in $module:ident: $element:ty, $columns:expr, |$staging:ident, $wg:ident, $product:ident| $put:expr;)*) => {$(
        baton::shared! {
            $(#[$doc])*
            #[allow(non_camel_case_types)]
            pub struct $module in $name {
                ab: Stages<1, Factors, ByThreads, ByWgmma>,
                c: Staging<Tile<$element, 64, { $columns }>>,
            }
        }

        $(#[$doc])*
        #[baton::kernel(threads = 160)]
        pub fn $name(
            cta: Cta<'_, $module, 160>,
            to: TensorMap<Tile<$element, 64, { $columns }>, Store>,
        ) -> Exit<'_> {
            let (cta, $name::Parts { ab, c, .. }) = cta.claim();
            let (mut filling, mut stages) = ab.split();
            let (joined, (stored, _)) = cta.roles((
                warpgroup(move |mut wg| {
                    let product = Product::<[f32; COLUMNS / 2], _>::new(&mut wg).fence(&mut wg);
                    let stage = stages.wait(&mut wg);
                    let (product, stage) = product.mma_async(&mut wg, stage);
                    let product = product.commit_group(&mut wg, stage);
                    let ($product, stage) = product.wait_group::<0, _>(&mut wg);
                    stage.release(&mut wg);
                    let mut $staging = c.open(&mut wg);
                    let $wg = &mut wg;
                    $put;
                    $staging.fence_proxy_async(&mut wg).store(&mut wg, to.at(0, 0)).finish(&mut wg)
                }),
                warp(move |mut w| {
                    let value = |i: u32| {
                        let of_b = i.wrapping_sub((64 * K) as u32);
                        bf16::from_f32(f32::from(if i < (64 * K) as u32 { crate::a(i) } else { crate::b(of_b) } % 3))
                    };
                    let stage = filling.acquire(&mut w).fill(&mut w, value);
                    stage.fence_proxy_async(&mut w).publish(&mut w);
                }),
            ));
            joined.exit((stored,))
        }
    )*};
}
stored! {
    /// Two by one `stmatrix`.
    stored_as_bf16 in AsBf16: bf16, COLUMNS, |c, wg, product| c.put_product(wg, &product, with_its_place);
    /// The same.
    stored_as_f16 in AsF16: f16, COLUMNS, |c, wg, product| c.put_product(wg, &product, with_its_place);
    /// Of a type that is not rounded to: the values are the elements.
    stored_as_u16 in AsU16: u16, COLUMNS, |c, wg, product| c.put_product(wg, &product, |row, column, sum| with_its_place(row, column, sum) as u16);
    /// Two by one store of 8 bytes.
    stored_as_f32 in AsF32: f32, COLUMNS, |c, wg, product| c.put_product(wg, &product, with_its_place);
    /// One by one.
    stored_as_u8 in AsU8: u8, COLUMNS, |c, wg, product| c.put_product(wg, &product, |row, column, sum| with_its_place(row, column, sum) as u8);
    /// One by one.
    stored_as_f64 in AsF64: f64, COLUMNS, |c, wg, product| c.put_product(wg, &product, |row, column, sum| f64::from(with_its_place(row, column, sum)));
    /// From the middle of a step on.
    some_columns in Some: bf16, SOME, |c, wg, product| c.put_columns::<FIRST, _, _, _, _>(wg, &product, with_its_place);
}
