//! Every example, on the emulator, under many schedules: all results right, nothing suspicious, in the time that the
//! project promises.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use baton::float::bf16;
use baton_emulator::trace::{Actor, Span, Trace};
use baton_host::{Device, EmulatorOptions, Image, Module};
use example_common::Outcome;
use gemm_blackwell::fused::Fused;
use gemm_blackwell::{Output, Problem, Schedule, Shape};

/// Schedules for each example.
const SEEDS: u64 = 100;

/// An emulator for each target that the image was built for.
fn devices(image: &Image) -> impl Iterator<Item = (Device, Module)> {
    image.binaries.iter().map(|binary| {
        let device = Device::emulator(EmulatorOptions::default().with_arch(binary.arch));
        let module = device.load(image).unwrap_or_else(|error| panic!("{error}"));
        (device, module)
    })
}

/// Runs an example under every seed; each run has to be verified.
fn under_all_seeds(
    image: &Image,
    mut run: impl FnMut(&Device, &Module, u64) -> Result<Outcome, baton_host::Error>,
) {
    for (device, module) in devices(image) {
        for seed in 0..SEEDS {
            device.set_seed(seed);
            let place = format!("{} for {}, seed {seed}", image.name, module.arch());
            let outcome = run(&device, &module, seed);
            let outcome = outcome.unwrap_or_else(|error| panic!("{place}: {error}"));
            assert!(outcome.is_verified(), "{place}: {outcome:?}");
            assert!(outcome.launch.hazards.is_empty(), "{place}: {outcome:?}");
        }
    }
}

#[test]
fn messages_arrive() {
    // Less than a message for each thread, a whole number of turns, and a ragged end.
    for elements in [1, 128, 256, 1000] {
        under_all_seeds(&message_passing::KERNELS, |device, module, seed| {
            message_passing::run(device, module, elements, seed as u32)
        });
    }
}

#[test]
fn rings_keep_what_goes_through() {
    // Less than a chunk, one lap of the ring and one more, and a ragged end.
    for (elements, blocks) in [(1, 1), (384, 1), (512, 1), (2000, 3)] {
        under_all_seeds(&ring::KERNELS, |device, module, seed| {
            ring::run(device, module, elements, blocks, seed)
        });
    }
}

#[test]
fn tiles_are_copied_in_and_out() {
    // One element, one tile, and ragged edges on fewer CTAs than tiles.
    for (shape, blocks) in [((1, 1), 1), ((128, 32), 1), ((300, 150), 3)] {
        under_all_seeds(&bulk_copy::KERNELS, |device, module, seed| {
            bulk_copy::run(device, module, shape, blocks, seed)
        });
    }
}

#[test]
fn tiles_are_taken_over() {
    // One tile, fewer numbers than tiles, and a ragged end.
    for (elements, tiles, least) in [(40, 1, 0), (200, 9, 0), (5000, 40, 100)] {
        let mut taken = 0;
        under_all_seeds(&takeover::KERNELS, |device, module, seed| {
            let run = takeover::run(device, module, elements, tiles, seed)?;
            taken += run.tiles;
            Ok(run.outcome)
        });
        assert!(taken >= least, "{taken} of {tiles} tiles were taken over in {SEEDS} runs");
    }
}

#[test]
fn pairs_are_taken_over() {
    for (elements, clusters) in [(40, 1), (3000, 20)] {
        under_all_seeds(&takeover::KERNELS, |device, module, seed| {
            takeover::run_in_pairs(device, module, elements, clusters, seed)
        });
    }
}

/// A product in registers under every seed, each in less than two seconds.
fn product_in_registers(shape: gemm_hopper::Shape, ctas: u32) {
    product_in_registers_as::<f32>(shape, ctas);
    product_in_registers_as::<bf16>(shape, ctas);
}

fn product_in_registers_as<T: gemm_hopper::Output>(shape: gemm_hopper::Shape, ctas: u32) {
    for tiles in gemm_hopper::Tiles::ALL {
        under_all_seeds(&gemm_hopper::KERNELS, |device, module, seed| {
            let outcome = gemm_hopper::run_as::<T>(device, module, tiles, shape, ctas, seed)?;
            let elapsed = outcome.launch.elapsed;
            assert!(elapsed < Duration::from_secs(2), "{elapsed:?}");
            Ok(outcome)
        });
    }
}

#[test]
fn products_in_registers_are_right() {
    product_in_registers(gemm_hopper::Shape { m: 256, n: 256, k: 512 }, 2);
}

#[test]
fn one_cta_walks_over_ragged_tiles_in_registers() {
    product_in_registers(gemm_hopper::Shape { m: 150, n: 257, k: 65 }, 1);
}

#[test]
fn products_in_registers_have_no_hazards() {
    let shapes = [(256, 256, 512, 2), (150, 257, 65, 1)];
    let cases =
        gemm_hopper::Tiles::ALL.into_iter().flat_map(|tiles| shapes.map(|shape| (tiles, shape)));
    for (tiles, (m, n, k, ctas)) in cases {
        for binary in gemm_hopper::KERNELS.binaries {
            let mut options = EmulatorOptions::default().with_arch(binary.arch);
            options.machine.unchecked = false;
            options.machine.strict = true;
            let device = Device::emulator(options);
            let module = device.load(&gemm_hopper::KERNELS).expect("it loads");
            for seed in 0..20 {
                device.set_seed(seed);
                let shape = gemm_hopper::Shape { m, n, k };
                for run in [gemm_hopper::run_as::<f32>, gemm_hopper::run_as::<bf16>] {
                    let outcome = run(&device, &module, tiles, shape, ctas, seed);
                    let outcome = outcome.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
                    assert!(outcome.is_verified(), "seed {seed}: {outcome:?}");
                }
            }
        }
    }
}

#[test]
fn small_products_in_registers() {
    for (m, n, k) in [(1, 1, 1), (7, 3, 5), (64, 128, 64), (65, 127, 66)] {
        product_in_registers(gemm_hopper::Shape { m, n, k }, 1);
    }
}

/// A product under every seed, each in less than two seconds.
fn product<T: Output>(shape: Shape, ctas: u32) {
    let problem = Problem::new(shape, 1);
    under_all_seeds(&gemm_blackwell::KERNELS, |device, module, _| {
        let product = problem.run::<T>(device, module, ctas)?;
        let elapsed = product.outcome.launch.elapsed;
        assert!(elapsed < Duration::from_secs(2), "{elapsed:?}");
        Ok(product.outcome)
    });
}

#[test]
fn products_are_right_in_f32() {
    product::<f32>(Shape { m: 256, n: 256, k: 512 }, 2);
}

#[test]
fn products_are_right_in_bf16() {
    product::<bf16>(Shape { m: 256, n: 256, k: 512 }, 2);
}

#[test]
fn one_cta_walks_over_ragged_tiles() {
    product::<f32>(Shape { m: 300, n: 257, k: 65 }, 1);
}

/// A product by CTAs that take tiles as they come, under every seed.
fn dynamic_product<T: Output>(shape: Shape) {
    let problem = Problem::new(shape, 1);
    under_all_seeds(&gemm_blackwell::KERNELS, |device, module, _| {
        Ok(problem.run_as::<T>(device, module, Schedule::Dynamic)?.outcome)
    });
}

#[test]
fn products_of_tiles_that_are_taken_over_are_right() {
    // More steps than stages and, where few CTAs run, more tiles than answers and accumulators: every ring goes round.
    dynamic_product::<f32>(Shape { m: 256, n: 384, k: 320 });
    dynamic_product::<bf16>(Shape { m: 256, n: 384, k: 64 });
}

#[test]
fn ragged_products_of_tiles_that_are_taken_over_are_right() {
    dynamic_product::<bf16>(Shape { m: 300, n: 257, k: 65 });
    dynamic_product::<f32>(Shape { m: 1, n: 500, k: 1 });
}

#[test]
fn products_of_tiles_that_are_taken_over_have_no_hazards() {
    let device = Device::emulator(EmulatorOptions::default().with_strict(true));
    let module = device.load(&gemm_blackwell::KERNELS).expect("it loads");
    let problem = Problem::new(Shape { m: 300, n: 257, k: 320 }, 2);
    for seed in 0..20 {
        device.set_seed(seed);
        let product = problem.run_as::<f32>(&device, &module, Schedule::Dynamic);
        let outcome = product.unwrap_or_else(|error| panic!("seed {seed}: {error}")).outcome;
        assert!(outcome.is_verified(), "seed {seed}: {outcome:?}");
        assert!(outcome.launch.hazards.is_empty(), "seed {seed}: {outcome:?}");
    }
}

/// A product by pairs of CTAs, under every seed.
fn product_of_pairs<T: Output>(shape: Shape, pairs: u32) {
    let problem = Problem::new(shape, 1);
    under_all_seeds(&gemm_blackwell::KERNELS, |device, module, _| {
        Ok(problem.run_as::<T>(device, module, Schedule::Pairs(pairs))?.outcome)
    });
}

#[test]
fn products_of_pairs_are_right() {
    // More steps than stages; more tiles than accumulators on one pair; ragged in all extents.
    product_of_pairs::<bf16>(Shape { m: 256, n: 512, k: 448 }, 2);
    product_of_pairs::<f32>(Shape { m: 300, n: 513, k: 65 }, 1);
    product_of_pairs::<bf16>(Shape { m: 1, n: 7, k: 1 }, 1);
}

/// A product with more in its epilogue, under every seed.
fn fused_product(shape: Shape, pairs: u32) {
    let problem = Fused::new(shape, 1);
    under_all_seeds(&gemm_blackwell::KERNELS, |device, module, _| {
        Ok(problem.run(device, module, pairs)?.outcome)
    });
}

#[test]
fn fused_products_are_right() {
    // More steps than stages; more tiles than accumulators on one pair; ragged in all extents.
    fused_product(Shape { m: 256, n: 512, k: 448 }, 2);
    fused_product(Shape { m: 300, n: 513, k: 65 }, 1);
    fused_product(Shape { m: 1, n: 7, k: 1 }, 1);
}

#[test]
fn fused_products_have_no_hazards() {
    let device = Device::emulator(EmulatorOptions::default().with_strict(true));
    let module = device.load(&gemm_blackwell::KERNELS).expect("it loads");
    let problem = Fused::new(Shape { m: 300, n: 520, k: 392 }, 2);
    for seed in 0..10 {
        device.set_seed(seed);
        let product = problem.run(&device, &module, 1);
        let outcome = product.unwrap_or_else(|error| panic!("seed {seed}: {error}")).outcome;
        assert!(outcome.is_verified(), "seed {seed}: {outcome:?}");
        assert!(outcome.launch.hazards.is_empty(), "seed {seed}: {outcome:?}");
    }
}

#[test]
fn products_of_pairs_have_no_hazards() {
    let device = Device::emulator(EmulatorOptions::default().with_strict(true));
    let module = device.load(&gemm_blackwell::KERNELS).expect("it loads");
    let problem = Problem::new(Shape { m: 300, n: 520, k: 392 }, 2);
    for seed in 0..10 {
        device.set_seed(seed);
        let product = problem.run_as::<f32>(&device, &module, Schedule::Pairs(1));
        let outcome = product.unwrap_or_else(|error| panic!("seed {seed}: {error}")).outcome;
        assert!(outcome.is_verified(), "seed {seed}: {outcome:?}");
        assert!(outcome.launch.hazards.is_empty(), "seed {seed}: {outcome:?}");
    }
}

/// For each CTA of a recorded run, when what `is_it` chooses began.
fn starts(trace: &Trace, is_it: impl Fn(&Span) -> bool) -> BTreeMap<[u32; 3], Vec<u64>> {
    let mut starts = BTreeMap::<_, Vec<u64>>::new();
    for span in trace.spans.iter().filter(|span| is_it(span)) {
        starts.entry(span.lane.block).or_default().push(span.start);
    }
    starts.values_mut().for_each(|starts| starts.sort());
    starts
}

#[test]
fn the_epilogue_of_a_tile_overlaps_the_products_of_the_next() {
    // Of a tile: matrix instructions, in steps of 16 elements of K, and bulk stores, of 32 columns each.
    const PRODUCTS: usize = 320 / 16;
    const STORES: usize = 128 / 32;
    let device = Device::emulator(EmulatorOptions::default().with_trace(true));
    let module = device.load(&gemm_blackwell::KERNELS).expect("it loads");
    let problem = Problem::new(Shape { m: 256, n: 512, k: 320 }, 3);
    let (mut taken_over, mut overlapping) = (0, 0);
    for seed in 0..20 {
        device.set_seed(seed);
        let product = problem.run_as::<f32>(&device, &module, Schedule::Dynamic).expect("it runs");
        let trace = product.outcome.launch.trace.expect("it is recorded");
        let products = starts(&trace, |span| span.label.starts_with("tcgen05.mma"));
        let out = Actor::Engine("bulk copies out");
        let stores = starts(&trace, |span| span.lane.actor == out);
        for (cta, products) in &products {
            let stores = &stores[cta];
            assert_eq!(products.len() / PRODUCTS, stores.len() / STORES, "seed {seed}, {cta:?}");
            let next = products.chunks(PRODUCTS).skip(1);
            for (next, stores) in next.zip(stores.chunks(STORES)) {
                taken_over += 1;
                overlapping += usize::from(next[0] < stores[0]);
            }
        }
    }
    // With one accumulator there would be none: the epilogue hands it back behind the first store.
    assert!(overlapping > taken_over / 2, "{overlapping} of {taken_over}");
}

#[test]
fn small_shapes_and_rows_that_need_a_gap() {
    let shapes = [(1, 1, 1), (7, 3, 5), (128, 128, 64), (129, 127, 66), (64, 250, 200)];
    for (device, module) in devices(&gemm_blackwell::KERNELS) {
        for (m, n, k) in shapes {
            let problem = Problem::new(Shape { m, n, k }, 3);
            let f32 = problem.run::<f32>(&device, &module, 1).expect("it runs").outcome;
            let bf16 = problem.run::<bf16>(&device, &module, 1).expect("it runs").outcome;
            assert!(f32.is_verified() && bf16.is_verified(), "{m} x {n} x {k}: {f32:?} {bf16:?}");
        }
    }
}

#[test]
#[cfg_attr(debug_assertions, ignore = "the reference takes minutes unless it is optimised")]
fn a_large_product_in_time_and_memory() {
    let start = Instant::now();
    let problem = Problem::new(Shape { m: 1024, n: 1024, k: 1024 }, 5);
    for (device, module) in devices(&gemm_blackwell::KERNELS) {
        let ctas = gemm_blackwell::ctas(&device, problem.shape());
        let product = problem.run::<f32>(&device, &module, ctas).expect("it runs");
        assert!(product.outcome.is_verified(), "{:?}", product.outcome);
    }
    assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
    // The most that this process has ever had in memory, the other tests included.
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    if let Some(peak) = status.lines().find_map(|line| line.strip_prefix("VmHWM:")) {
        let kibibytes: u64 = peak.trim().trim_end_matches(" kB").parse().expect("a number");
        assert!(kibibytes < 2 << 20, "{kibibytes} KiB");
    }
}
