//! The activation: `gelu`, by the hardware's hyperbolic tangent.

/// √(2 / π).
const SCALE: f32 = 0.797_884_6;
/// Of the cube.
const CUBIC: f32 = 0.044_715;

/// x / 2 · (1 + tanh(√(2 / π) (x + 0.044715 x³))).
#[inline(always)]
pub fn gelu(x: f32) -> f32 {
    let half = 0.5 * x;
    half + half * tanh(x * (SCALE + SCALE * CUBIC * x * x))
}

/// `tanh.approx.f32`, PTX 7.0, sm_75: with a relative error of at most 2⁻¹¹.
#[cfg(target_arch = "nvptx64")]
#[inline(always)]
fn tanh(x: f32) -> f32 {
    let result: f32;
    // SAFETY: arithmetic on registers.
    unsafe {
        core::arch::asm!(
            "tanh.approx.f32 {}, {};",
            out(reg32) result, in(reg32) x, options(pure, nomem, nostack)
        );
    }
    result
}

/// On the host a kernel has types and no body.
#[cfg(not(target_arch = "nvptx64"))]
fn tanh(_: f32) -> f32 {
    unreachable!()
}
