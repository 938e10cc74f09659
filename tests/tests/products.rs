//! Products of a warpgroup, for each type of factors, on the emulator: exact under every schedule.

use std::fs;

use baton::float::{e4m3, e5m2};
use baton::launch::Call;
use baton_builder::{Arch, Builder, Ptxas};
use baton_host::{Binary, Buffer, Device, EmulatorOptions, Image, KernelInfo, Module};
use baton_tests::root;
use products_kernel as kernels;
use products_kernel::{a, b};

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

fn emulator() -> (Device, Module) {
    const KERNELS: &[KernelInfo] = &[
        kernel("of_bf16"),
        kernel("of_f16"),
        kernel("of_tf32"),
        kernel("of_u8"),
        kernel("of_i8"),
        kernel("of_e4m3"),
        kernel("of_e5m2"),
    ];
    let output = Builder::new(root().join("tests/kernels/products"))
        .arch(Arch::Sm90a)
        .ptxas(Ptxas::Required)
        .out_dir(root().join("target/baton-tests/products"))
        .build()
        .unwrap_or_else(|error| panic!("the products: {error}"));
    let ptx = fs::read_to_string(&output.binaries[0].ptx).expect("the builder wrote it").leak();
    let binary = Binary { arch: "sm_90a", ptx, lines: "", cubin: None, kernels: KERNELS };
    // An image is part of a program, and lives as long.
    let binaries: &'static [Binary] = Box::leak(Box::new([binary]));
    let device = Device::emulator(EmulatorOptions::default());
    let module = device.load(&Image { name: "products", binaries }).expect("the kernels load");
    (device, module)
}

/// The registers of all threads, thread after thread for each register, as the kernels write them (ISA, wgmma D fragments).
fn expected(k: usize, value: impl Fn(u8) -> f64) -> Vec<f64> {
    let product = |row: usize, col: usize| -> f64 {
        let factor = |i: usize| value(a((row * k + i) as u32)) * value(b((col * k + i) as u32));
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
        device.launch(&module, 1, call).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
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
        let small = expected(64, f64::from);
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
