//! Elements of matrices: reading 8- to 32-bit numbers, and rounding to 16 bits.

/// Type of an element of A or B.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "each name is the type")]
pub enum ElementType {
    F16,
    Bf16,
    Tf32,
    E4m3,
    E5m2,
    E2m3,
    E3m2,
    E2m1,
    U8,
    S8,
}

impl ElementType {
    /// Bits of an element in shared memory, where the 6- and 4-bit types of `kind::f8f6f4` take a
    /// padded byte.
    pub const fn bits(self) -> u32 {
        match self {
            ElementType::Tf32 => 32,
            ElementType::F16 | ElementType::Bf16 => 16,
            _ => 8,
        }
    }
}

/// The value of a half-precision number; exact.
#[inline]
pub fn f16_to_f32(bits: u16) -> f32 {
    // The same fields at the places that f32 has for them are the value times 2^-112, subnormal
    // numbers included.
    let fields = u32::from(bits & 0x7fff) << 13;
    let finite = f32::from_bits(fields) * f32::from_bits((127 + 112) << 23);
    let special = bits & 0x7c00 == 0x7c00;
    let magnitude = if special { fields | 0x7f80_0000 } else { finite.to_bits() };
    f32::from_bits(magnitude | u32::from(bits & 0x8000) << 16)
}

/// The half-precision number nearest to a value, ties to even.
#[inline]
pub fn f32_to_f16(value: f32) -> u16 {
    let bits = value.to_bits();
    let sign = (bits >> 16) as u16 & 0x8000;
    let magnitude = bits & 0x7fff_ffff;
    let rounded = match magnitude {
        // NaN: PTX's canonical one.
        0x7f80_0001.. => return 0x7fff,
        // 65520 and more round to infinity.
        0x477f_f000.. => 0x7c00,
        // Normal: rebias the exponent, then round away 13 bits.
        0x3880_0000.. => {
            let odd = magnitude >> 13 & 1;
            (magnitude - (112 << 23) + 0xfff + odd) >> 13
        }
        // Subnormal: adding 0.5 leaves the result, rounded, in the lowest bits of the sum.
        _ => (f32::from_bits(magnitude) + 0.5).to_bits() - 0.5f32.to_bits(),
    };
    sign | rounded as u16
}

/// The value of a bfloat16; exact.
#[inline]
pub fn bf16_to_f32(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}

/// The value that a tensor core sees in a 32-bit tf32 element: it ignores the lower 13 bits.
#[inline]
pub fn tf32_to_f32(bits: u32) -> f32 {
    f32::from_bits(bits & 0xffff_e000)
}

/// The value of an e4m3 number; exact. There is no infinity.
#[inline]
pub fn e4m3_to_f32(bits: u8) -> f32 {
    if bits & 0x7f == 0x7f {
        return f32::NAN;
    }
    // The same fields in half precision, whose exponent bias is larger by 8.
    let half = u16::from(bits & 0x80) << 8 | u16::from(bits & 0x7f) << 7;
    f16_to_f32(half) * 256.0
}

/// The value of an e5m2 number; exact.
#[inline]
pub fn e5m2_to_f32(bits: u8) -> f32 {
    f16_to_f32(u16::from(bits) << 8)
}
