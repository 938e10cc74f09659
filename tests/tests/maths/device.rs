//! The kernels on the emulator, against the same source on the host.

use std::fmt::Debug;
use std::fs;
use std::sync::OnceLock;

use baton_builder::{Arch, Builder, Output, Ptxas};
use baton_host::{Binary, Buffer, Device, EmulatorOptions, Image, KernelInfo, Module};
use baton_tests::root;
use maths_kernel as kernels;

/// What the builder makes of the kernels.
fn built() -> &'static (Output, String) {
    static BUILT: OnceLock<(Output, String)> = OnceLock::new();
    BUILT.get_or_init(|| {
        let output = Builder::new(root().join("tests/kernels/maths"))
            .arch(Arch::Sm90a)
            .ptxas(Ptxas::Required)
            .out_dir(root().join("target/baton-tests/maths"))
            .build()
            .unwrap_or_else(|error| panic!("the functions: {error}"));
        let ptx = fs::read_to_string(&output.binaries[0].ptx).expect("the builder wrote it");
        (output, ptx)
    })
}

fn emulator() -> (Device, Module) {
    let kernel = |&name: &&'static str| KernelInfo {
        name,
        registers: None,
        spill_bytes: 0,
        stack_bytes: 0,
        static_shared: 0,
        declared: None,
    };
    let kernels: Vec<KernelInfo> = kernels::NAMES.iter().map(kernel).collect();
    let binary = Binary {
        arch: "sm_90a",
        ptx: &built().1,
        lines: "",
        cubin: None,
        kernels: Vec::leak(kernels),
    };
    // An image is part of a program, and lives as long.
    let binaries: &'static [Binary] = Box::leak(Box::new([binary]));
    let device = Device::emulator(EmulatorOptions::default());
    let module = device.load(&Image { name: "maths", binaries }).expect("the kernels load");
    (device, module)
}

/// Bits that a function is tried with: a spread of all, and where things begin and end.
fn samples() -> Vec<u32> {
    let mut samples: Vec<u32> =
        (0..1u64 << 32).step_by(1 << 18).map(|bits| bits as u32 ^ 0x155).collect();
    for special in [
        0.0,
        1.0,
        0.5,
        2.0,
        0.6,
        0.92,
        4.0,
        88.722,
        104.0,
        127.9,
        150.0,
        32768.0,
        f32::MAX,
        f32::INFINITY,
    ] {
        for bits in [f32::to_bits(special), f32::to_bits(-special)] {
            samples.extend([bits.wrapping_sub(1), bits, bits.wrapping_add(1)]);
        }
    }
    samples.extend([
        1,
        0x8000_0001,
        0x007f_ffff,
        0x0080_0000,
        0x7fc0_0000,
        0xffc0_1234,
        0x7f80_0001,
    ]);
    // Pairs of f16 and bf16 that are subnormal, infinite and halves of NaN.
    samples.extend([0x0001_03ff, 0x7c00_fc00, 0x7e00_3c00, 0x8001_807f, 0xff80_7f80, 0x7fc0_3f80]);
    samples
}

trait Argument: Copy + Debug {
    fn all() -> Vec<Self>;
}
impl Argument for f32 {
    fn all() -> Vec<Self> {
        samples().into_iter().map(f32::from_bits).collect()
    }
}
impl Argument for u32 {
    fn all() -> Vec<Self> {
        samples()
    }
}
impl Argument for u64 {
    /// Pairs, each with others of about its size and with some that are not.
    fn all() -> Vec<Self> {
        let (all, n) = (samples(), samples().len());
        let pair = |i: usize, j: usize| u64::from(all[i % n]) | u64::from(all[j % n]) << 32;
        let spread = (0..n).map(|i| pair(i, 7 * i + 11));
        let near = (0..n).map(|i| pair(i, i + n / 2 + 1));
        let specials = (n - 97..n).flat_map(|i| (n - 97..n).map(move |j| (i, j)));
        spread.chain(near).chain(specials.map(|(i, j)| pair(i, j))).collect()
    }
}
impl Argument for f64 {
    fn all() -> Vec<Self> {
        let spread = (0..1u64 << 14)
            .map(|i| f64::from_bits(i << 50 | i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 14));
        let small = (-4000..4000).map(|i| f64::from(i) / 5.3);
        spread
            .chain(small)
            .chain([0.0, -0.0, 1.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 709.8, -745.2])
            .collect()
    }
}

/// What is the same if the bits are; every NaN is one.
trait Value: Copy + Debug {
    fn bits(self) -> u64;
}
impl Value for f32 {
    fn bits(self) -> u64 {
        if self.is_nan() { u64::MAX } else { u64::from(self.to_bits()) }
    }
}
impl Value for f64 {
    fn bits(self) -> u64 {
        if self.is_nan() { u64::MAX } else { self.to_bits() }
    }
}
impl Value for u32 {
    fn bits(self) -> u64 {
        u64::from(self)
    }
}
impl Value for u64 {
    fn bits(self) -> u64 {
        self
    }
}

#[test]
fn device_and_host_agree_to_the_last_bit() {
    let (device, module) = emulator();
    let mut tried = Vec::new();
    macro_rules! compare {
        ($($name:ident)*) => {$(
            {
                let input = arguments_of(kernels::host::$name);
                let expected: Vec<_> = input.iter().map(|&x| kernels::host::$name(x)).collect();
                let given = Buffer::from_slice(&device, &input).expect("memory");
                let mut output = Buffer::poisoned(&device, input.len()).expect("memory");
                let call = kernels::$name(given.as_arg(), output.as_arg_mut());
                let blocks = input.len().div_ceil(128) as u32;
                drop(device.launch(&module, blocks, call).expect("it runs"));
                for ((x, host), found) in input.iter().zip(expected).zip(output.to_vec().expect("memory")) {
                    assert_eq!(
                        host.bits(), found.bits(),
                        "{} of {x:?}: the host has {host:?}, the emulator {found:?}", stringify!($name)
                    );
                }
                tried.push(stringify!($name));
            }
        )*};
    }
    compare! {
            of_exp of_exp2 of_ln of_log2 of_sin of_cos of_tanh of_sigmoid of_silu of_erf of_gelu
            of_gelu_tanh of_sqrt of_floor of_ceil of_trunc of_round_ties_even of_saturate
            of_ex2_approx of_ex2_approx_ftz of_lg2_approx of_lg2_approx_ftz of_sin_approx
            of_cos_approx of_tanh_approx of_rcp_approx of_rcp_approx_ftz of_rsqrt_approx
            of_rsqrt_approx_ftz of_sqrt_approx of_sqrt_approx_ftz of_exp_approx of_ln_approx
            of_sigmoid_approx of_silu_approx of_gelu_approx of_to_u8 of_to_i8 of_to_u16 of_to_i16
            of_to_u32 of_to_i32 of_to_u64 of_to_i64 of_powf of_min of_max of_min_nan of_max_nan
            of_mul_add of_apart of_exp_f64 of_ln_f64 of_tanh_f64 of_sigmoid_f64 of_sqrt_f64
            of_rounded_f64 of_saturate_f64 of_add_f16 of_sub_f16 of_mul_f16 of_fma_f16 of_relu_f16
            of_min_f16 of_max_nan_f16 of_ex2_f16 of_tanh_f16 of_exp_f16 of_add_bf16 of_sub_bf16
            of_mul_bf16 of_fma_bf16 of_max_bf16 of_min_nan_bf16 of_ex2_bf16 of_tanh_bf16
            of_scalar_f16 of_scalar_bf16 of_dots
    }
    assert_eq!(tried, kernels::NAMES);
}

/// Arguments for a function.
fn arguments_of<T: Argument, U: Value>(_: fn(T) -> U) -> Vec<T> {
    T::all()
}

#[test]
fn no_function_needs_memory_of_its_own() {
    let (output, ptx) = built();
    for kernel in &output.binaries[0].kernels {
        let usage = kernel.usage.as_ref().expect("ptxas was required");
        assert_eq!((usage.stack_bytes, usage.spill_bytes), (0, 0), "{}", kernel.name);
    }
    assert!(!ptx.contains(".local"), "a function keeps something in local memory");
    assert!(!ptx.contains(".func"), "a function is called");
}

#[test]
fn products_and_sums_stay_apart() {
    let ptx = &built().1;
    let of = |name: &str| {
        let begin = ptx.find(&format!(".entry {name}(")).expect("the kernel is there");
        let body = &ptx[begin..];
        &body[..body.find("\n}").expect("it ends")]
    };
    // Without a rounding in its name ptxas may make one of two.
    let apart = of("of_apart");
    assert!(
        apart.contains("mul.rn.f32") && apart.contains("add.rn.f32") && !apart.contains("fma."),
        "{apart}"
    );
    assert!(of("of_mul_add").contains("fma.rn.f32"));
}
