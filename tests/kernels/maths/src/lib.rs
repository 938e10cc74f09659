//! Functions of floats, each applied to an array: what a GPU computes is compared with what the same source computes on the host.
#![no_std]

use baton::float::{bf16x2, f16x2};
use baton::math::*;
use baton::prelude::*;

macro_rules! maps {
    ($($name:ident: $from:ty => $to:ty = $f:expr;)*) => {
        $(
            /// Each element's value.
            #[baton::kernel(threads = 128, no_stack)]
            pub fn $name(cta: Cta<'_, NoShared, 128>, input: ReadOnly<$from>, output: GlobalPtr<$to>) -> Exit<'_> {
                let f: fn($from) -> $to = $f;
                for mut place in output.partition(&cta) {
                    place.put(f(input.get(place.index())));
                }
                let (cta, ()) = cta.claim();
                cta.join().exit(())
            }
        )*

        /// The same on the host, by the kernels' names.
        #[cfg(not(target_arch = "nvptx64"))]
        pub mod host {
            #[allow(unused_imports)]
            use super::*;
            $(
                /// One element's value.
                pub fn $name(value: $from) -> $to {
                    let f: fn($from) -> $to = $f;
                    f(value)
                }
            )*
        }

        /// The kernels' names.
        pub const NAMES: &[&str] = &[$(stringify!($name)),*];
    };
}

/// Of the two halves of 64 bits.
fn two<T>(bits: u64, f: impl Fn(u32, u32) -> T) -> T {
    f(bits as u32, (bits >> 32) as u32)
}

maps! {
    of_exp: f32 => f32 = Math::exp;
    of_exp2: f32 => f32 = Math::exp2;
    of_ln: f32 => f32 = Math::ln;
    of_log2: f32 => f32 = Math::log2;
    of_sin: f32 => f32 = Math::sin;
    of_cos: f32 => f32 = Math::cos;
    of_tanh: f32 => f32 = Math::tanh;
    of_sigmoid: f32 => f32 = Math::sigmoid;
    of_silu: f32 => f32 = Math::silu;
    of_erf: f32 => f32 = Math::erf;
    of_gelu: f32 => f32 = Math::gelu;
    of_gelu_tanh: f32 => f32 = Math::gelu_tanh;
    of_sqrt: f32 => f32 = Math::sqrt;
    of_floor: f32 => f32 = Math::floor;
    of_ceil: f32 => f32 = Math::ceil;
    of_trunc: f32 => f32 = Math::trunc;
    of_round_ties_even: f32 => f32 = Math::round_ties_even;
    of_saturate: f32 => f32 = Math::saturate;
    of_ex2_approx: f32 => f32 = Approx::ex2_approx;
    of_ex2_approx_ftz: f32 => f32 = Approx::ex2_approx_ftz;
    of_lg2_approx: f32 => f32 = Approx::lg2_approx;
    of_lg2_approx_ftz: f32 => f32 = Approx::lg2_approx_ftz;
    of_sin_approx: f32 => f32 = Approx::sin_approx;
    of_cos_approx: f32 => f32 = Approx::cos_approx;
    of_tanh_approx: f32 => f32 = Approx::tanh_approx;
    of_rcp_approx: f32 => f32 = Approx::rcp_approx;
    of_rcp_approx_ftz: f32 => f32 = Approx::rcp_approx_ftz;
    of_rsqrt_approx: f32 => f32 = Approx::rsqrt_approx;
    of_rsqrt_approx_ftz: f32 => f32 = Approx::rsqrt_approx_ftz;
    of_sqrt_approx: f32 => f32 = Approx::sqrt_approx;
    of_sqrt_approx_ftz: f32 => f32 = Approx::sqrt_approx_ftz;
    of_exp_approx: f32 => f32 = Approx::exp_approx;
    of_ln_approx: f32 => f32 = Approx::ln_approx;
    of_sigmoid_approx: f32 => f32 = Approx::sigmoid_approx;
    of_silu_approx: f32 => f32 = Approx::silu_approx;
    of_gelu_approx: f32 => f32 = Approx::gelu_approx;
    of_to_u8: f32 => u32 = |x| cvt_rni_sat::<u8>(x) as u32;
    of_to_i8: f32 => u32 = |x| cvt_rni_sat::<i8>(x) as u32;
    of_to_u16: f32 => u32 = |x| cvt_rni_sat::<u16>(x) as u32;
    of_to_i16: f32 => u32 = |x| cvt_rni_sat::<i16>(x) as u32;
    of_to_u32: f32 => u32 = cvt_rni_sat::<u32>;
    of_to_i32: f32 => u32 = |x| cvt_rni_sat::<i32>(x) as u32;
    of_to_u64: f32 => u64 = cvt_rni_sat::<u64>;
    of_to_i64: f32 => u64 = |x| cvt_rni_sat::<i64>(x) as u64;
    of_powf: u64 => f32 = |bits| two(bits, |x, y| Math::powf(f32::from_bits(x), f32::from_bits(y)));
    of_min: u64 => f32 = |bits| two(bits, |x, y| Math::min(f32::from_bits(x), f32::from_bits(y)));
    of_max: u64 => f32 = |bits| two(bits, |x, y| Math::max(f32::from_bits(x), f32::from_bits(y)));
    of_min_nan: u64 => f32 = |bits| two(bits, |x, y| Math::min_nan(f32::from_bits(x), f32::from_bits(y)));
    of_max_nan: u64 => f32 = |bits| two(bits, |x, y| Math::max_nan(f32::from_bits(x), f32::from_bits(y)));
    of_mul_add: u64 => f32 = |bits| two(bits, |x, y| Math::mul_add(f32::from_bits(x), f32::from_bits(y), -1.5));
    of_apart: u64 => f32 = |bits| two(bits, |x, y| f32::from_bits(x) * f32::from_bits(y) + -1.5);
    of_exp_f64: f64 => f64 = Math::exp;
    of_ln_f64: f64 => f64 = Math::ln;
    of_tanh_f64: f64 => f64 = Math::tanh;
    of_sigmoid_f64: f64 => f64 = Math::sigmoid;
    of_sqrt_f64: f64 => f64 = Math::sqrt;
    of_rounded_f64: f64 => f64 = |x| Math::floor(x) + Math::ceil(x) - Math::trunc(x) * Math::round_ties_even(x);
    of_saturate_f64: f64 => f64 = Math::saturate;
    of_add_f16: u64 => u32 = |bits| two(bits, |x, y| (f16x2::from_bits(x) + f16x2::from_bits(y)).to_bits());
    of_sub_f16: u64 => u32 = |bits| two(bits, |x, y| (f16x2::from_bits(x) - f16x2::from_bits(y)).to_bits());
    of_mul_f16: u64 => u32 = |bits| two(bits, |x, y| (f16x2::from_bits(x) * f16x2::from_bits(y)).to_bits());
    of_fma_f16: u64 => u32 = |bits| two(bits, |x, y| {
        f16x2::from_bits(x).mul_add(f16x2::from_bits(y), f16x2::from_bits(x ^ 0x9234_1555)).to_bits()
    });
    of_relu_f16: u64 => u32 = |bits| two(bits, |x, y| {
        f16x2::from_bits(x).mul_add_relu(f16x2::from_bits(y), f16x2::from_bits(0x3c00_bc00)).to_bits()
    });
    of_min_f16: u64 => u32 = |bits| two(bits, |x, y| f16x2::from_bits(x).min(f16x2::from_bits(y)).to_bits());
    of_max_nan_f16: u64 => u32 = |bits| two(bits, |x, y| f16x2::from_bits(x).max_nan(f16x2::from_bits(y)).to_bits());
    of_ex2_f16: u32 => u32 = |x| f16x2::from_bits(x).ex2_approx().to_bits();
    of_tanh_f16: u32 => u32 = |x| f16x2::from_bits(x).tanh_approx().to_bits();
    of_exp_f16: u32 => u32 = |x| Math::exp(f16::from_bits(x as u16)).to_bits() as u32;
    of_add_bf16: u64 => u32 = |bits| two(bits, |x, y| (bf16x2::from_bits(x) + bf16x2::from_bits(y)).to_bits());
    of_sub_bf16: u64 => u32 = |bits| two(bits, |x, y| (bf16x2::from_bits(x) - bf16x2::from_bits(y)).to_bits());
    of_mul_bf16: u64 => u32 = |bits| two(bits, |x, y| (bf16x2::from_bits(x) * bf16x2::from_bits(y)).to_bits());
    of_fma_bf16: u64 => u32 = |bits| two(bits, |x, y| {
        bf16x2::from_bits(x).mul_add(bf16x2::from_bits(y), bf16x2::from_bits(x ^ 0x9234_1555)).to_bits()
    });
    of_max_bf16: u64 => u32 = |bits| two(bits, |x, y| bf16x2::from_bits(x).max(bf16x2::from_bits(y)).to_bits());
    of_min_nan_bf16: u64 => u32 = |bits| two(bits, |x, y| bf16x2::from_bits(x).min_nan(bf16x2::from_bits(y)).to_bits());
    of_ex2_bf16: u32 => u32 = |x| bf16x2::from_bits(x).ex2_approx().to_bits();
    of_tanh_bf16: u32 => u32 = |x| bf16x2::from_bits(x).tanh_approx().to_bits();
    of_scalar_f16: u64 => u32 = |bits| two(bits, |x, y| {
        let (x, y) = (f16::from_bits(x as u16), f16::from_bits(y as u16));
        (x * y + x - y).mul_add(x, -y).min(x.max(y)).max_nan(x.ex2_approx()).min_nan(y.tanh_approx()).to_bits() as u32
    });
    of_scalar_bf16: u64 => u32 = |bits| two(bits, |x, y| {
        let (x, y) = (bf16::from_bits(x as u16), bf16::from_bits(y as u16));
        (x * y + x - y).mul_add(x, -y).min(x.max(y)).max_nan(x.ex2_approx()).min_nan(y.tanh_approx()).to_bits() as u32
    });
    of_dots: u64 => u32 = |bits| two(bits, |x, y| {
        let unsigned = dp4a_u32(x, y, 7) ^ dp2a_lo_u32(x, y, 11).rotate_left(3) ^ dp2a_hi_u32(x, y, 13).rotate_left(6);
        let (s, t) = (x as i32, y as i32);
        let signed = dp4a_s32(s, t, -7) ^ dp4a_s32_u32(s, y, 17).rotate_left(9);
        unsigned ^ (signed ^ dp2a_lo_s32(s, t, -9).rotate_left(12) ^ dp2a_hi_s32(s, t, 3).rotate_left(15)) as u32
    });
}
