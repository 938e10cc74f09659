//! Products whose operands come from several stages, on the emulator: exact, and silent under strict schedules; and what takes a step out is
//! named.

use std::fs;
use std::sync::OnceLock;

use baton::float::bf16;
use baton::launch::Call;
use baton_builder::{Arch, Builder, Ptxas};
use baton_host::{
    Binary, Buffer, Device, EmulatorOptions, Error, Image, KernelInfo, LaunchReport, Matrix, Module,
};
use baton_tests::root;
use operands_kernel::{blackwell, hopper};

/// Schedules for each kernel.
const SEEDS: u64 = 100;

/// A kernel of which the host knows no more than its name.
const fn kernel(name: &'static str) -> KernelInfo {
    KernelInfo {
        name,
        registers: None,
        spill_bytes: 0,
        stack_bytes: 0,
        static_shared: 0,
        declared: None,
    }
}

/// The kernels of one target.
struct Target {
    arch: Arch,
    feature: &'static str,
    kernels: &'static [KernelInfo],
    ptx: OnceLock<String>,
}

static HOPPER: Target = Target {
    arch: Arch::Sm90a,
    feature: "hopper",
    kernels: &[
        kernel("resident"),
        kernel("summed"),
        kernel("turned_b"),
        kernel("turned_a"),
        kernel("turned_both"),
        kernel("fragments"),
    ],
    ptx: OnceLock::new(),
};
static BLACKWELL: Target = Target {
    arch: Arch::Sm100a,
    feature: "blackwell",
    kernels: &[
        kernel("tensor_resident"),
        kernel("pair_resident"),
        kernel("tensor_turned_b"),
        kernel("tensor_turned_a"),
        kernel("tensor_turned_both"),
        kernel("through_tensor_memory"),
    ],
    ptx: OnceLock::new(),
};

impl Target {
    /// What the builder makes of them. It takes none of which ptxas says that its `wgmma` are serialised.
    fn ptx(&'static self) -> &'static str {
        self.ptx.get_or_init(|| {
            let output = Builder::new(root().join("tests/kernels/operands"))
                .arch(self.arch)
                .features([self.feature])
                .ptxas(Ptxas::Required)
                .out_dir(root().join("target/baton-tests/operands").join(self.feature))
                .build()
                .unwrap_or_else(|error| panic!("the operands: {error}"));
            fs::read_to_string(&output.binaries[0].ptx).expect("the builder wrote it")
        })
    }

    /// The emulator, which reports all that it knows, with kernels of that text.
    fn emulator(&'static self, ptx: &'static str) -> Emulator {
        let binary =
            Binary { arch: self.arch.name(), ptx, lines: "", cubin: None, kernels: self.kernels };
        // An image is part of a program, and lives as long.
        let binaries: &'static [Binary] = Box::leak(Box::new([binary]));
        let device = Device::emulator(EmulatorOptions::default().with_strict(true));
        let module = device.load(&Image { name: "operands", binaries }).expect("the kernels load");
        Emulator { device, module }
    }

    /// The rules that are named in `seeds` schedules of the kernel when the `nth` of its instructions that begin with `from` begins with `to`.
    fn rules_without(
        &'static self,
        kernel: &str,
        (from, nth, to): (&str, usize, &str),
        run: impl Fn(&Emulator, u64) -> Option<String>,
    ) -> String {
        let start = self.ptx().find(&format!(".entry {kernel}(")).expect("the kernel");
        let (at, _) = self.ptx()[start..].match_indices(from).nth(nth).expect("the instruction");
        let mut changed = self.ptx().to_owned();
        changed.replace_range(start + at..start + at + from.len(), to);
        let emulator = self.emulator(changed.leak());
        (0..8).filter_map(|seed| run(&emulator, seed)).collect()
    }
}

struct Emulator {
    device: Device,
    module: Module,
}

impl Emulator {
    /// A matrix of the numbers [`number`].
    fn matrix(&self, rows: usize, cols: usize, factor: usize) -> Buffer<bf16> {
        let numbers: Vec<bf16> =
            (0..rows * cols).map(|i| bf16::from_f32(number(i, factor) as f32)).collect();
        Buffer::from_slice(&self.device, &numbers).expect("memory")
    }

    fn output(&self, len: usize) -> Buffer<f32> {
        Buffer::poisoned(&self.device, len).expect("memory")
    }

    fn launch(&self, ctas: u32, seed: u64, call: Call<'_>) -> Result<LaunchReport, Error> {
        self.device.set_seed(seed);
        self.device.launch(&self.module, ctas, call)
    }
}

/// Element `i` of a matrix: quarters, of whose products f32 has the sums.
fn number(i: usize, factor: usize) -> f64 {
    (i * factor % 11) as f64 / 4.0 - 1.0
}

/// What is wrong with a launch, if something is.
fn complaint(launch: Result<LaunchReport, Error>) -> Option<String> {
    match launch {
        Err(error) => Some(error.to_string()),
        Ok(report) => report.hazards.first().map(ToString::to_string),
    }
}

/// What is wrong with numbers, if something is.
fn difference(what: &str, found: &Buffer<f32>, wanted: &[f64]) -> Option<String> {
    let found = found.to_vec().expect("memory");
    assert_eq!(found.len(), wanted.len(), "{what}");
    let first = (0..wanted.len()).find(|&i| f64::from(found[i]) != wanted[i])?;
    Some(format!("{what}: number {first} is {} and not {}", found[first], wanted[first]))
}

/// Row and column of register `register` of a product, in thread `thread` of the warpgroup (ISA, wgmma D fragments).
fn place(register: usize, thread: usize) -> (usize, usize) {
    let row = 16 * (thread / 32) + thread % 32 / 4 + 8 * (register / 2 % 2);
    (row, 8 * (register / 4) + 2 * (thread % 4) + register % 2)
}

/// What a warpgroup writes of its products of 64 × `cols`, register after register.
fn registers(cols: usize, product: impl Fn(usize, usize) -> f64) -> Vec<f64> {
    let all = (0..cols / 2).flat_map(|register| (0..128).map(move |thread| (register, thread)));
    all.map(|(register, thread)| {
        let (row, col) = place(register, thread);
        product(row, col)
    })
    .collect()
}

/// Element (`row`, `col`) of A · Bᵀ, where both have rows of `k` numbers.
fn product(k: usize, row: usize, col: usize) -> f64 {
    (0..k).map(|i| number(row * k + i, 7) * number(col * k + i, 5)).sum()
}

fn resident(emulator: &Emulator, [blocks, tiles]: [usize; 2], seed: u64) -> Option<String> {
    let k = 128;
    let a = emulator.matrix(128 * blocks, k, 7);
    let b = emulator.matrix(48 * tiles, k, 5);
    let len = blocks * tiles * 64 * 48;
    let (mut upper, mut lower) = (emulator.output(len), emulator.output(len));
    let call = hopper::resident(
        a.tensor_map(Matrix::new(128 * blocks as u64, k as u64)).expect("a matrix"),
        b.tensor_map(Matrix::new(48 * tiles as u64, k as u64)).expect("a matrix"),
        upper.as_arg_mut(),
        lower.as_arg_mut(),
        blocks as u32,
        tiles as u32,
    );
    complaint(emulator.launch(1, seed, call)).or_else(|| {
        let wanted = |half: usize| -> Vec<f64> {
            let all = (0..blocks).flat_map(|block| (0..tiles).map(move |tile| (block, tile)));
            all.flat_map(|(block, tile)| {
                registers(48, |row, col| product(k, 128 * block + 64 * half + row, 48 * tile + col))
            })
            .collect()
        };
        difference("upper", &upper, &wanted(0)).or_else(|| difference("lower", &lower, &wanted(1)))
    })
}

#[test]
fn a_tile_that_is_loaded_once_is_read_by_many_products_of_two_warpgroups() {
    let emulator = HOPPER.emulator(HOPPER.ptx());
    for (seed, shape) in (0..SEEDS).zip([[1, 1], [3, 1], [2, 5]].into_iter().cycle()) {
        assert_eq!(resident(&emulator, shape, seed), None, "seed {seed}: {shape:?}");
    }
}

fn summed(emulator: &Emulator, steps: usize, seed: u64) -> Option<String> {
    let a = emulator.matrix(64, 64 * steps, 7);
    let mut output = emulator.output(64 * 64);
    let call = hopper::summed(
        a.tensor_map(Matrix::new(64, 64 * steps as u64)).expect("a matrix"),
        output.as_arg_mut(),
        steps as u32,
    );
    complaint(emulator.launch(1, seed, call)).or_else(|| {
        let wanted = registers(64, |row, col| {
            let factor = |i: usize| number(row * 64 * steps + i, 7);
            let b = |i: usize, step: usize| -> f64 { hopper::b(i as u32, step as u32).into() };
            let both = |i: usize, step| b(64 * col + i, step) + b(64 * 64 + 64 * col + i, step);
            (0..64 * steps).map(|i| factor(i) * both(i % 64, i / 64)).sum()
        });
        difference("the sum", &output, &wanted)
    })
}

#[test]
fn a_and_b_come_from_two_rings_and_go_back_by_one_group() {
    let emulator = HOPPER.emulator(HOPPER.ptx());
    for (seed, steps) in (0..SEEDS).zip([1, 2, 3, 7].into_iter().cycle()) {
        assert_eq!(summed(&emulator, steps, seed), None, "seed {seed}: {steps} steps");
    }
}

#[test]
fn e3_a_stage_that_goes_back_before_the_wait_that_covers_its_views() {
    let run = |emulator: &Emulator, seed| summed(emulator, 7, seed);
    let named = HOPPER.rules_without(
        "summed",
        ("wgmma.wait_group.sync.aligned 1", 0, "wgmma.wait_group.sync.aligned 2"),
        run,
    );
    assert!(named.contains("E3"), "{named}");
    let run = |emulator: &Emulator, seed| resident(emulator, [2, 5], seed);
    // Behind the first, of the tile that is resident.
    let named = HOPPER.rules_without(
        "resident",
        ("wgmma.wait_group.sync.aligned 0", 1, "wgmma.wait_group.sync.aligned 1"),
        run,
    );
    assert!(named.contains("E2") || named.contains("E3"), "{named}");
}

/// What a warpgroup writes of `products` products of 128 × `cols`: its row, column after column.
fn rows(products: usize, cols: usize, product: impl Fn(usize, usize, usize) -> f64) -> Vec<f64> {
    let all = (0..products).flat_map(|number| (0..cols).map(move |col| (number, col)));
    all.flat_map(|(number, col)| (0..128).map(move |row| (number, row, col)))
        .map(|(number, row, col)| product(number, row, col))
        .collect()
}

fn tensor_resident(emulator: &Emulator, [blocks, tiles]: [usize; 2], seed: u64) -> Option<String> {
    let k = 128;
    let a = emulator.matrix(128 * blocks, k, 7);
    let b = emulator.matrix(64 * tiles, k, 5);
    let mut output = emulator.output(blocks * tiles * 128 * 64);
    let call = blackwell::tensor_resident(
        a.tensor_map(Matrix::new(128 * blocks as u64, k as u64)).expect("a matrix"),
        b.tensor_map(Matrix::new(64 * tiles as u64, k as u64)).expect("a matrix"),
        output.as_arg_mut(),
        blocks as u32,
        tiles as u32,
    );
    complaint(emulator.launch(1, seed, call)).or_else(|| {
        let wanted = rows(2 * blocks * tiles, 32, |number, row, col| {
            let (block, half) = (number / (2 * tiles), number % (2 * tiles));
            product(k, 128 * block + row, 32 * half + col)
        });
        difference("the products", &output, &wanted)
    })
}

#[test]
fn a_tile_that_is_loaded_once_is_read_by_many_products_into_tensor_memory() {
    let emulator = BLACKWELL.emulator(BLACKWELL.ptx());
    for (seed, shape) in (0..SEEDS).zip([[1, 1], [3, 1], [2, 5]].into_iter().cycle()) {
        assert_eq!(tensor_resident(&emulator, shape, seed), None, "seed {seed}: {shape:?}");
    }
}

#[test]
fn d6_a_stage_that_goes_back_without_the_commit_behind_its_views() {
    let commit = "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 ";
    let arrive = "mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, ";
    let run = |emulator: &Emulator, seed| tensor_resident(emulator, [3, 4], seed);
    let named: Vec<String> = (0..5)
        .map(|nth| BLACKWELL.rules_without("tensor_resident", (commit, nth, arrive), run))
        .collect();
    assert!(named.iter().all(|said| said.contains("rule ")), "{named:?}");
    // The others are of the two accumulators and of the end.
    assert_eq!(named.iter().filter(|said| said.contains("rule D6")).count(), 2, "{named:?}");
}

fn pair_resident(emulator: &Emulator, tiles: usize, seed: u64) -> Option<String> {
    let k = 64;
    let a = emulator.matrix(256, k, 7);
    let b = emulator.matrix(64 * tiles, k, 5);
    let mut output = emulator.output(tiles * 256 * 64);
    let call = blackwell::pair_resident(
        a.tensor_map(Matrix::new(256, k as u64)).expect("a matrix"),
        b.tensor_map(Matrix::new(64 * tiles as u64, k as u64)).expect("a matrix"),
        output.as_arg_mut(),
        tiles as u32,
    );
    complaint(emulator.launch(2, seed, call)).or_else(|| {
        // Elements go round the threads of both CTAs.
        let all = (0..tiles).flat_map(|tile| (0..64).map(move |col| (tile, col)));
        let wanted: Vec<f64> = all
            .flat_map(|(tile, col)| (0..256).map(move |row| product(k, row, 64 * tile + col)))
            .collect();
        difference("the products", &output, &wanted)
    })
}

#[test]
fn a_tile_of_a_pair_is_loaded_once_and_read_by_many_products() {
    let emulator = BLACKWELL.emulator(BLACKWELL.ptx());
    for (seed, tiles) in (0..SEEDS).zip([1, 2, 5].into_iter().cycle()) {
        assert_eq!(pair_resident(&emulator, tiles, seed), None, "seed {seed}: {tiles} tiles");
    }
}

/// How an operand lies in global memory, of how many rows it has and of which it is a part, from which row on.
#[derive(Clone, Copy)]
struct Lies {
    transposed: bool,
    rows: usize,
    first: usize,
}

impl Lies {
    /// The matrix, of `k` columns.
    fn matrix(self, k: usize) -> [usize; 2] {
        if self.transposed { [k, self.rows] } else { [self.rows, k] }
    }

    /// The number of element (`row`, `i`) of the part.
    fn element(self, k: usize, row: usize, i: usize) -> usize {
        let row = self.first + row;
        if self.transposed { i * self.rows + row } else { row * k + i }
    }

    /// Element (`row`, `col`) of the product with `b`.
    fn times(self, b: Lies, k: usize, row: usize, col: usize) -> f64 {
        let factors = |i| number(self.element(k, row, i), 7) * number(b.element(k, col, i), 5);
        (0..k).map(factors).sum()
    }
}

/// Runs a product of operands that lie so, with `k` of K in a stage.
macro_rules! turned {
    ($target:ident $kernel:path, $a:expr, $b:expr, $k:literal, $len:expr, |$product:ident| $wanted:expr) => {{
        let emulator = $target.emulator($target.ptx());
        let (a, b) = ($a, $b);
        for (seed, steps) in (0..SEEDS).zip([1, 2, 5].into_iter().cycle()) {
            let k = $k * steps;
            let [[a_rows, a_cols], [b_rows, b_cols]] = [a.matrix(k), b.matrix(k)];
            let left = emulator.matrix(a_rows, a_cols, 7);
            let right = emulator.matrix(b_rows, b_cols, 5);
            let mut output = emulator.output($len);
            let call = $kernel(
                left.tensor_map(Matrix::new(a_rows as u64, a_cols as u64)).expect("a matrix"),
                right.tensor_map(Matrix::new(b_rows as u64, b_cols as u64)).expect("a matrix"),
                output.as_arg_mut(),
                steps as u32,
            );
            let wrong = complaint(emulator.launch(1, seed, call)).or_else(|| {
                let $product = |row: usize, col: usize| a.times(b, k, row, col);
                difference(stringify!($kernel), &output, &$wanted)
            });
            assert_eq!(wrong, None, "seed {seed}: {steps} steps");
        }
    }};
}

const AS_IT_IS: fn(usize) -> Lies = |rows| Lies { transposed: false, rows, first: 0 };
const TURNED: fn(usize, usize) -> Lies = |rows, first| Lies { transposed: true, rows, first };

#[test]
fn tiles_of_any_width_are_read_transposed_by_a_warpgroup() {
    turned!(HOPPER hopper::turned_b, AS_IT_IS(64), TURNED(192, 0), 64, 64 * 192, |product| registers(192, product));
    turned!(HOPPER hopper::turned_a, TURNED(128, 64), AS_IT_IS(72), 64, 64 * 72, |product| registers(72, product));
    turned!(HOPPER hopper::turned_both, TURNED(128, 0), TURNED(256, 128), 32, 64 * 72, |product| registers(72, product));
}

#[test]
fn tiles_of_any_width_are_read_transposed_into_tensor_memory() {
    turned!(BLACKWELL blackwell::tensor_turned_b, AS_IT_IS(128), TURNED(256, 0), 64, 128 * 256, |product| rows(1, 256, |_, row, col| product(row, col)));
    turned!(BLACKWELL blackwell::tensor_turned_a, TURNED(256, 128), AS_IT_IS(48), 64, 128 * 48, |product| rows(1, 48, |_, row, col| product(row, col)));
    turned!(BLACKWELL blackwell::tensor_turned_both, TURNED(128, 0), TURNED(256, 128), 32, 128 * 80, |product| rows(1, 80, |_, row, col| product(row, col)));
}

fn fragments(emulator: &Emulator, steps: usize, seed: u64) -> Option<String> {
    let k = 2 * steps * hopper::DEPTH;
    let b = emulator.matrix(k, 128, 5);
    let mut output = emulator.output(64 * 128);
    let call = hopper::fragments(
        b.tensor_map(Matrix::new(k as u64, 128)).expect("a matrix"),
        output.as_arg_mut(),
        steps as u32,
    );
    complaint(emulator.launch(1, seed, call)).or_else(|| {
        let wanted = registers(128, |row, col| {
            let a = |i: usize| -> f64 {
                let (step, col) = (i / hopper::DEPTH, i % hopper::DEPTH);
                hopper::a(row as u32, col as u32, step as u32).into()
            };
            (0..k).map(|i| a(i) * number(i * 128 + col, 5)).sum()
        });
        difference("the sum", &output, &wanted)
    })
}

/// The fence is in the call, so that nothing of a loop comes between it and the instructions: ptxas serialises none, or the builder refuses.
#[test]
fn fragments_are_multiplied_by_stages_that_come_between_them() {
    let emulator = HOPPER.emulator(HOPPER.ptx());
    for (seed, steps) in (0..SEEDS).zip([1, 2, 5].into_iter().cycle()) {
        assert_eq!(fragments(&emulator, steps, seed), None, "seed {seed}: {steps} steps");
    }
}

#[test]
fn e1_a_fragment_that_no_fence_hands_over() {
    let run = |emulator: &Emulator, seed| fragments(emulator, 3, seed);
    for nth in [0, 1] {
        let fence = ("wgmma.fence.sync.aligned;", nth, "");
        let named = HOPPER.rules_without("fragments", fence, run);
        assert!(named.contains("rule E1"), "{nth}: {named}");
    }
}

fn through_tensor_memory(emulator: &Emulator, steps: usize, seed: u64) -> Option<String> {
    let rows_of_k = steps * blackwell::STEP;
    let q = emulator.matrix(128, 64, 7);
    let k = emulator.matrix(rows_of_k, 64, 5);
    let v = emulator.matrix(rows_of_k, 128, 3);
    let mut output = emulator.output(128 * 128);
    let call = blackwell::through_tensor_memory(
        q.tensor_map(Matrix::new(128, 64)).expect("a matrix"),
        k.tensor_map(Matrix::new(rows_of_k as u64, 64)).expect("a matrix"),
        v.tensor_map(Matrix::new(rows_of_k as u64, 128)).expect("a matrix"),
        output.as_arg_mut(),
        steps as u32,
    );
    complaint(emulator.launch(1, seed, call)).or_else(|| {
        let wanted = rows(1, 128, |_, row, col| {
            let p = |i| f64::from(blackwell::p(product(64, row, i) as f32));
            (0..rows_of_k).map(|i| p(i) * number(i * 128 + col, 3)).sum()
        });
        difference("O", &output, &wanted)
    })
}

#[test]
fn what_threads_store_to_tensor_memory_is_multiplied() {
    let emulator = BLACKWELL.emulator(BLACKWELL.ptx());
    for (seed, steps) in (0..SEEDS).zip([1, 2, 3].into_iter().cycle()) {
        assert_eq!(
            through_tensor_memory(&emulator, steps, seed),
            None,
            "seed {seed}: {steps} steps"
        );
    }
}

/// Steps of the hand-over to the thread that multiplies, left out: the wait for the second store, which covers the first, and the fence behind it.
#[test]
fn d2_d4_an_operand_in_tensor_memory_that_is_not_handed_over() {
    let run = |emulator: &Emulator, seed| through_tensor_memory(emulator, 2, seed);
    let named = |what, nth| BLACKWELL.rules_without("through_tensor_memory", (what, nth, ""), run);
    let said = named("tcgen05.wait::st.sync.aligned;", 1);
    assert!(said.contains("rule D4"), "{said}");
    // Behind those of the claim and of the accumulator.
    let said = named("tcgen05.fence::before_thread_sync;", 2);
    assert!(said.contains("rule D2"), "{said}");
}
