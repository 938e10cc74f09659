//! What the host does for the kernels: buffers, a grid of one CTA for each tile, and what every element has to be.

use baton_host::{Buffer, Device, Error, Image, Module};
use example_common::{Numbers, Outcome, Verdict};
use takeover_kernel::{PAIR, ROW, stirred};

/// The kernels, compiled by the build script.
pub static KERNELS: Image = baton_host::image!("takeover_kernel");

/// A run, and how much of it was taken over.
#[derive(Debug)]
pub struct Taken {
    /// The run.
    pub outcome: Outcome,
    /// Tiles that another CTA did than the one of their number.
    pub tiles: usize,
}

/// Stirs `elements` numbers, of which each of `tiles` tiles has every `tiles`-th row.
pub fn run(
    device: &Device,
    module: &Module,
    elements: usize,
    tiles: u32,
    seed: u64,
) -> Result<Taken, Error> {
    let mut numbers = Numbers::new(seed);
    let values: Vec<u32> = (0..elements).map(|_| numbers.bits() as u32).collect();
    let input = Buffer::from_slice(device, &values)?;
    let [mut output, mut by] =
        [Buffer::poisoned(device, elements)?, Buffer::poisoned(device, elements)?];
    let call = takeover_kernel::tiles(input.as_arg(), output.as_arg_mut(), by.as_arg_mut());
    let launch = device.launch(module, tiles, call)?;

    let tile = |i: usize| (i / ROW) as u32 % tiles;
    let expected: Vec<u32> = (0..elements)
        .map(|i| {
            // What lies beyond the end takes part as zeros.
            let opposite = i / ROW * ROW + ROW - 1 - i % ROW;
            stirred(values.get(opposite).copied().unwrap_or(0), tile(i))
        })
        .collect();
    let by = by.to_vec()?;
    let firsts = (0..elements).step_by(ROW).take(tiles as usize);
    let taken = firsts.filter(|&i| by[i] != tile(i)).count();
    let mut verdict = Verdict::exact(&expected, &output.to_vec()?);
    // A tile is one CTA's, and a CTA does its own.
    let one_doer = (0..elements).all(|i| by[i] < tiles && by[i] == by[tile(i) as usize * ROW]);
    let own = by.iter().all(|&doer| by.get(doer as usize * ROW).is_none_or(|&its| its == doer));
    if verdict.wrong == 0 && !(one_doer && own) {
        verdict.wrong = 1;
        verdict.first =
            Some("a tile was done by several CTAs, or by one that was cancelled".into());
    }
    Ok(Taken { outcome: Outcome { launch, verdict }, tiles: taken })
}

/// Stirs two arrays of `elements` numbers in clusters of two CTAs, `clusters` of them.
pub fn run_in_pairs(
    device: &Device,
    module: &Module,
    elements: usize,
    clusters: u32,
    seed: u64,
) -> Result<Outcome, Error> {
    let mut numbers = Numbers::new(seed);
    let ctas = clusters * PAIR;
    let values: [Vec<u32>; 2] =
        std::array::from_fn(|_| (0..elements).map(|_| numbers.bits() as u32).collect());
    let [mut first, mut second] =
        [Buffer::from_slice(device, &values[0])?, Buffer::from_slice(device, &values[1])?];
    let call = takeover_kernel::in_pairs(first.as_arg_mut(), second.as_arg_mut());
    let launch = device.launch(module, ctas, call)?;
    let tile = |i: usize| (i / 32) as u32 % ctas;
    let both = [
        values[0].iter().enumerate().map(|(i, &v)| stirred(v, tile(i))).collect::<Vec<_>>(),
        values[1].iter().enumerate().map(|(i, &v)| stirred(!v, tile(i))).collect(),
    ];
    let found = [first.to_vec()?, second.to_vec()?].concat();
    Ok(Outcome { launch, verdict: Verdict::exact(&both.concat(), &found) })
}
