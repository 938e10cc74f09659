//! Products of a warpgroup, for each type of factors, on the emulator: exact under every schedule.

use std::fs;
use std::sync::OnceLock;

use baton::float::{bf16, e4m3, e5m2, f16};
use baton::launch::Call;
use baton_builder::{Arch, Builder, Ptxas};
use baton_host::{Binary, Buffer, Device, EmulatorOptions, Image, KernelInfo, Matrix, Module};
use baton_ptx::Operand;
use baton_tests::root;
use products_kernel as kernels;
use products_kernel::{ROUNDS, a, b};

/// Schedules for each product.
const SEEDS: u64 = 20;

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

/// What the builder makes of the kernels. It takes none of which ptxas says that its `wgmma` are serialised.
fn ptx() -> &'static str {
    static PTX: OnceLock<String> = OnceLock::new();
    PTX.get_or_init(|| {
        let output = Builder::new(root().join("tests/kernels/products"))
            .arch(Arch::Sm90a)
            .ptxas(Ptxas::Required)
            .out_dir(root().join("target/baton-tests/products"))
            .build()
            .unwrap_or_else(|error| panic!("the products: {error}"));
        fs::read_to_string(&output.binaries[0].ptx).expect("the builder wrote it")
    })
}

fn emulator() -> (Device, Module) {
    emulator_with(ptx(), EmulatorOptions::default())
}

fn emulator_with(ptx: &'static str, options: EmulatorOptions) -> (Device, Module) {
    const KERNELS: &[KernelInfo] = &[
        kernel("of_bf16"),
        kernel("of_f16"),
        kernel("of_f16_in_f16"),
        kernel("of_e4m3_in_f16"),
        kernel("of_tf32"),
        kernel("of_u8"),
        kernel("of_i8"),
        kernel("of_e4m3"),
        kernel("of_e5m2"),
        kernel("of_e4m3_e5m2"),
        kernel("of_e5m2_e4m3"),
        kernel("of_u8_i8"),
        kernel("with_bf16"),
        kernel("with_f16_in_f16"),
        kernel("with_tf32"),
        kernel("with_e4m3_e5m2"),
        kernel("with_i8_u8"),
        kernel("together"),
        kernel("stored_as_bf16"),
        kernel("stored_as_f16"),
        kernel("stored_as_u16"),
        kernel("stored_as_f32"),
        kernel("stored_as_u8"),
        kernel("stored_as_f64"),
        kernel("some_columns"),
    ];
    let binary = Binary { arch: "sm_90a", ptx, lines: "", cubin: None, kernels: KERNELS };
    // An image is part of a program, and lives as long.
    let binaries: &'static [Binary] = Box::leak(Box::new([binary]));
    let device = Device::emulator(options);
    let module = device.load(&Image { name: "products", binaries }).expect("the kernels load");
    (device, module)
}

/// The registers of all threads, thread after thread for each register, as the kernels write them (ISA, wgmma D fragments).
fn expected(k: usize, value: impl Fn(u8) -> f64) -> Vec<f64> {
    expected_of(k, &value, &value)
}

/// As [`expected`], of two types.
fn expected_of(k: usize, value_a: impl Fn(u8) -> f64, value_b: impl Fn(u8) -> f64) -> Vec<f64> {
    let product = |row: usize, col: usize| -> f64 {
        let factor = |i: usize| value_a(a((row * k + i) as u32)) * value_b(b((col * k + i) as u32));
        (0..k).map(factor).sum()
    };
    let mut registers = Vec::new();
    for register in 0..8 {
        for thread in 0..128 {
            let row = 16 * (thread / 32) + thread % 32 / 4 + 8 * (register / 2 % 2);
            let col = 8 * (register / 4) + 2 * (thread % 4) + register % 2;
            registers.push(product(row, col));
        }
    }
    registers
}

#[test]
fn products_of_all_types_are_exact() {
    let (device, module) = emulator();
    let run = |seed: u64, call: Call<'_>| {
        device.set_seed(seed);
        drop(
            device.launch(&module, 1, call).unwrap_or_else(|error| panic!("seed {seed}: {error}")),
        );
    };
    for seed in 0..SEEDS {
        let floats = |call: &dyn Fn(&mut Buffer<f32>), wanted: Vec<f64>, what: &str| {
            let mut output = Buffer::<f32>::poisoned(&device, 1024).expect("memory");
            call(&mut output);
            let found: Vec<f64> =
                output.to_vec().expect("memory").into_iter().map(f64::from).collect();
            assert_eq!(found, wanted, "{what}, seed {seed}");
        };
        let integers = |call: &dyn Fn(&mut Buffer<i32>), wanted: Vec<f64>, what: &str| {
            let mut output = Buffer::<i32>::poisoned(&device, 1024).expect("memory");
            call(&mut output);
            let found: Vec<f64> =
                output.to_vec().expect("memory").into_iter().map(f64::from).collect();
            assert_eq!(found, wanted, "{what}, seed {seed}");
        };
        let halves = |call: &dyn Fn(&mut Buffer<f16>), wanted: &[f64], what: &str| {
            let mut output = Buffer::<f16>::poisoned(&device, 1024).expect("memory");
            call(&mut output);
            assert_eq!(of_halves(&output), wanted, "{what}, seed {seed}");
        };
        let small = expected(64, f64::from);
        halves(&|out| run(seed, kernels::of_f16_in_f16(out.as_arg_mut())), &small, "f16 in f16");
        let eights = expected(128, f64::from);
        halves(&|out| run(seed, kernels::of_e4m3_in_f16(out.as_arg_mut())), &eights, "e4m3 in f16");
        floats(&|out| run(seed, kernels::of_bf16(out.as_arg_mut())), small.clone(), "bf16");
        floats(&|out| run(seed, kernels::of_f16(out.as_arg_mut())), small, "f16");
        let tf32 = expected(32, f64::from);
        floats(&|out| run(seed, kernels::of_tf32(out.as_arg_mut())), tf32, "tf32");
        let u8s = expected(128, |byte| f64::from(250 + byte));
        integers(&|out| run(seed, kernels::of_u8(out.as_arg_mut())), u8s, "u8");
        let i8s = expected(128, |byte| f64::from(byte) - 3.0);
        integers(&|out| run(seed, kernels::of_i8(out.as_arg_mut())), i8s, "i8");
        let e4m3s = expected(128, |byte| f64::from(e4m3::from_bits(0x38 + byte).to_f32()));
        floats(&|out| run(seed, kernels::of_e4m3(out.as_arg_mut())), e4m3s, "e4m3");
        let e5m2s = expected(128, |byte| f64::from(e5m2::from_bits(0x3c + byte).to_f32()));
        floats(&|out| run(seed, kernels::of_e5m2(out.as_arg_mut())), e5m2s, "e5m2");
    }
}

/// Values of the types that the kernels use.
fn of_e4m3(byte: u8) -> f64 {
    f64::from(e4m3::from_bits(0x38 + byte).to_f32())
}
fn of_e5m2(byte: u8) -> f64 {
    f64::from(e5m2::from_bits(0x3c + byte).to_f32())
}

/// What a kernel wrote, as numbers of all kinds.
fn numbers<T: Copy + Into<f64> + baton::launch::DeviceValue>(output: &Buffer<T>) -> Vec<f64> {
    output.to_vec().expect("memory").into_iter().map(Into::into).collect()
}

/// What a kernel wrote in f16.
fn of_halves(output: &Buffer<f16>) -> Vec<f64> {
    output.to_vec().expect("memory").into_iter().map(|half| half.to_f32().into()).collect()
}

#[test]
fn products_of_two_types_are_exact() {
    let (device, module) = emulator();
    let bytes_a: Vec<u8> = (0..64 * 128).map(a).collect();
    let bytes_b: Vec<u8> = (0..16 * 128).map(b).collect();
    let matrices = (Matrix::new(64, 128), Matrix::new(16, 128));
    macro_rules! product {
        ($kernel:ident, $sum:ty, $a:expr, $b:expr, $value_a:expr, $value_b:expr) => {{
            let a: Vec<_> = bytes_a.iter().map($a).collect();
            let b: Vec<_> = bytes_b.iter().map($b).collect();
            let a = Buffer::from_slice(&device, &a).expect("memory");
            let b = Buffer::from_slice(&device, &b).expect("memory");
            let wanted = expected_of(128, $value_a, $value_b);
            for seed in 0..SEEDS {
                device.set_seed(seed);
                let mut output = Buffer::<$sum>::poisoned(&device, 1024).expect("memory");
                let call = kernels::$kernel(
                    a.tensor_map(matrices.0).expect("a matrix"),
                    b.tensor_map(matrices.1).expect("a matrix"),
                    output.as_arg_mut(),
                );
                let report =
                    device.launch(&module, 1, call).unwrap_or_else(|e| panic!("seed {seed}: {e}"));
                assert!(report.hazards.is_empty(), "seed {seed}: {:?}", report.hazards);
                assert_eq!(numbers(&output), wanted, "{}, seed {seed}", stringify!($kernel));
            }
        }};
    }
    let (e4, e5) =
        (|byte: &u8| e4m3::from_bits(0x38 + byte), |byte: &u8| e5m2::from_bits(0x3c + byte));
    product!(of_e4m3_e5m2, f32, e4, e5, of_e4m3, of_e5m2);
    product!(of_e5m2_e4m3, f32, e5, e4, of_e5m2, of_e4m3);
    product!(
        of_u8_i8,
        i32,
        |byte: &u8| 250 + byte,
        |byte: &u8| *byte as i8 - 3,
        |byte| f64::from(250 + byte),
        |byte| f64::from(byte) - 3.0
    );
}

#[test]
fn products_with_a_in_registers_are_exact() {
    let (device, module) = emulator();
    let rounds = ROUNDS as usize;
    macro_rules! product {
        ($kernel:ident, $sum:ty, $k:expr, $value_a:expr, $value_b:expr) => {{
            let wanted = expected_of(rounds * $k, $value_a, $value_b);
            for seed in 0..SEEDS {
                device.set_seed(seed);
                let mut output = Buffer::<$sum>::poisoned(&device, 1024).expect("memory");
                let launch = device.launch(&module, 1, kernels::$kernel(output.as_arg_mut()));
                let report = launch.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
                assert!(report.hazards.is_empty(), "seed {seed}: {:?}", report.hazards);
                assert_eq!(numbers(&output), wanted, "{}, seed {seed}", stringify!($kernel));
            }
        }};
    }
    let wanted = expected(rounds * 64, f64::from);
    for seed in 0..SEEDS {
        device.set_seed(seed);
        let mut output = Buffer::<f16>::poisoned(&device, 1024).expect("memory");
        let launch = device.launch(&module, 1, kernels::with_f16_in_f16(output.as_arg_mut()));
        let report = launch.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        assert!(report.hazards.is_empty(), "seed {seed}: {:?}", report.hazards);
        assert_eq!(of_halves(&output), wanted, "with_f16_in_f16, seed {seed}");
    }
    product!(with_bf16, f32, 64, f64::from, f64::from);
    product!(with_tf32, f32, 64, f64::from, f64::from);
    product!(with_e4m3_e5m2, f32, 128, of_e4m3, of_e5m2);
    product!(with_i8_u8, i32, 128, |byte| f64::from(byte) - 3.0, |byte| f64::from(250 + byte));
}

/// What is wrong with the products of two CTAs that load for each other, under a seed.
fn together_goes_wrong(
    (device, module): &(Device, Module),
    [tiles, steps]: [usize; 2],
    seed: u64,
) -> Option<String> {
    let (k, cols) = (64 * steps, kernels::SHARED_COLS);
    let number = |i: usize, factor: usize| (i * factor % 11) as f32 / 4.0 - 1.0;
    let matrix = |rows: usize, factor: usize| -> Vec<bf16> {
        (0..rows * k).map(|i| bf16::from_f32(number(i, factor))).collect()
    };
    let a = Buffer::from_slice(device, &matrix(128 * tiles, 7)).expect("memory");
    let b = Buffer::from_slice(device, &matrix(cols, 5)).expect("memory");
    device.set_seed(seed);
    let mut output = Buffer::<f32>::poisoned(device, 128 * tiles * cols).expect("memory");
    let call = kernels::together(
        a.tensor_map(Matrix::new(128 * tiles as u64, k as u64)).expect("a matrix"),
        b.tensor_map(Matrix::new(cols as u64, k as u64)).expect("a matrix"),
        output.as_arg_mut(),
        tiles as u32,
        steps as u32,
    );
    match device.launch(module, 2, call) {
        Err(error) => return Some(error.to_string()),
        Ok(report) => {
            if let Some(hazard) = report.hazards.first() {
                return Some(hazard.to_string());
            }
        }
    }
    // Quarters below 2²⁴: f32 has them all. Elements go round the threads of both CTAs: register after register.
    let found = numbers(&output);
    let mut wanted = Vec::new();
    for (tile, register) in (0..tiles).flat_map(|tile| (0..cols / 2).map(move |r| (tile, r))) {
        for (cta, thread) in (0..2).flat_map(|cta| (0..128).map(move |thread| (cta, thread))) {
            let row = 16 * (thread / 32) + thread % 32 / 4 + 8 * (register / 2 % 2);
            let row = 128 * tile + 64 * cta + row;
            let col = 8 * (register / 4) + 2 * (thread % 4) + register % 2;
            let product = |i| f64::from(number(row * k + i, 7)) * f64::from(number(col * k + i, 5));
            wanted.push((0..k).map(product).sum::<f64>());
        }
    }
    let first = (0..wanted.len()).find(|&i| found[i] != wanted[i])?;
    Some(format!("number {first} is {} and not {}", found[first], wanted[first]))
}

#[test]
fn products_of_two_ctas_that_load_for_each_other_are_exact_under_every_schedule() {
    let emulator = emulator_with(ptx(), EmulatorOptions::default().with_strict(true));
    for (seed, shape) in (0..100).zip([[1, 1], [1, 7], [4, 1], [3, 2]].into_iter().cycle()) {
        assert_eq!(together_goes_wrong(&emulator, shape, seed), None, "seed {seed}: {shape:?}");
    }
}

#[test]
fn what_is_forgotten_under_way_is_refused_where_it_was_issued() {
    let built = Builder::new(root().join("tests/kernels/products"))
        .arch(Arch::Sm90a)
        .features(["forgets"])
        .out_dir(root().join("target/baton-tests/forgets"))
        .build();
    let said = built.expect_err("a product is forgotten").to_string();
    let source = fs::read_to_string(root().join("tests/kernels/products/src/forgotten.rs"))
        .expect("it is there");
    let findings: Vec<&str> = said.lines().collect();
    for (mark, rule, step) in [
        ("// Forgotten below.", "rule E2", ".wait_group::<0, _>(&mut wg)"),
        ("// Forgotten copies.", "rules B8 and B9", ".wait_copies(&mut set)"),
    ] {
        let issued = source.lines().position(|line| line.ends_with(mark)).expect("the line") + 1;
        let place = format!("products/src/forgotten.rs:{issued}:");
        for part in [rule, &place, step] {
            assert!(said.contains(part), "`{part}` in\n{said}");
        }
        let named = findings.iter().filter(|line| line.contains(rule)).count();
        assert_eq!(named, 1, "{said}");
    }
}

/// Rule E1, in the PTX that the compiler made of the example's product: its zeros are in the registers when the fence comes. The
/// emulator cannot see this, because a `mov` between registers is a new name for it.
#[test]
fn e1_a_new_product_is_zero_before_the_fence() {
    for binary in gemm_hopper::KERNELS.binaries {
        let module = baton_ptx::Module::parse(binary.ptx, binary.arch).expect("it is PTX");
        let mut products = 0;
        for body in module.functions.iter().filter_map(|function| function.body.as_ref()) {
            let wgmma = |at: usize, what: &str| {
                body.instructions[at].opcode() == "wgmma" && body.instructions[at].has(what)
            };
            for fence in (0..body.instructions.len()).filter(|&at| wgmma(at, "fence")) {
                let behind = fence + 1..body.instructions.len();
                let Some(first) = behind.clone().find(|&at| wgmma(at, "mma_async")) else {
                    continue;
                };
                products += 1;
                let Some(Operand::Vector(accumulator)) = body.instructions[first].operands.first()
                else {
                    panic!("{}: a product names its registers", binary.arch);
                };
                for instruction in &body.instructions[fence + 1..first] {
                    let written = instruction.operands.first();
                    let text = module.text(instruction);
                    assert!(
                        written.is_none_or(|register| !accumulator.contains(register)),
                        "{}: line {}: `{text}` behind `wgmma.fence`",
                        binary.arch,
                        instruction.line,
                    );
                }
            }
        }
        assert!(products > 0, "{}: there is a product", binary.arch);
    }
}

/// A product, stored as elements of each width, each with something of its row and its column.
#[test]
fn a_product_is_stored_as_elements_of_every_width() {
    use kernels::stored::{self, COLUMNS, FIRST, SOME, with_its_place};
    let (device, module) = emulator_with(ptx(), EmulatorOptions::default().with_strict(true));
    let wanted = |columns: std::ops::Range<usize>| -> Vec<f32> {
        let factor = |of: fn(u32) -> u8, row: usize, i: usize| of((64 * row + i) as u32) % 3;
        let sum = |row, column| -> f32 {
            let product = |i| f32::from(factor(a, row, i) * factor(b, column, i));
            (0..64).map(product).sum()
        };
        let element =
            |row: usize, column: usize| with_its_place(row as u32, column as u32, sum(row, column));
        let places = (0..64).flat_map(|row| columns.clone().map(move |column| (row, column)));
        places.map(|(row, column)| element(row, column)).collect()
    };
    macro_rules! all {
        ($($name:ident: $element:ty, $columns:expr, $from:expr, $to:expr;)*) => {$(
            let (from, to): (fn(f32) -> $element, fn($element) -> f64) = ($from, $to);
            let elements = wanted($columns);
            for seed in 0..SEEDS {
                device.set_seed(seed);
                let mut output = Buffer::<$element>::poisoned(&device, elements.len()).expect("memory");
                let matrix = Matrix::new(64, ($columns).len() as u64);
                let call = stored::$name(output.tensor_map_mut(matrix).expect("a matrix"));
                let launch = device.launch(&module, 1, call);
                let launch = launch.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
                assert!(launch.hazards.is_empty(), "{}, seed {seed}: {launch:?}", stringify!($name));
                let found = output.to_vec().expect("memory").into_iter().map(to);
                let elements = elements.iter().map(|&value| to(from(value)));
                assert!(found.eq(elements), "{}, seed {seed}", stringify!($name));
            }
        )*};
    }
    all! {
        stored_as_bf16: bf16, 0..COLUMNS, bf16::from_f32, |e| e.to_f32().into();
        stored_as_f16: f16, 0..COLUMNS, f16::from_f32, |e| e.to_f32().into();
        stored_as_u16: u16, 0..COLUMNS, |value| value as u16, f64::from;
        stored_as_f32: f32, 0..COLUMNS, |value| value, f64::from;
        stored_as_u8: u8, 0..COLUMNS, |value| value as u8, f64::from;
        stored_as_f64: f64, 0..COLUMNS, f64::from, |e| e;
        some_columns: bf16, FIRST..FIRST + SOME, bf16::from_f32, |e| e.to_f32().into();
    }
}
