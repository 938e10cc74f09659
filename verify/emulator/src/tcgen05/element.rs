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
    /// An e2m1 number that shares its byte with another (`kind::mxf4`, `kind::mxf4nvf4`).
    Packed4,
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
            ElementType::Packed4 => 4,
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

/// The value of a small number with `exponent` and `fraction` bits under a sign, all of whose codes
/// are finite.
fn small_to_f32(bits: u8, exponent: u32, fraction: u32) -> f32 {
    let bits = u32::from(bits);
    let bias = (1 << (exponent - 1)) - 1;
    let (e, f) = (bits >> fraction & ((1 << exponent) - 1), bits & ((1 << fraction) - 1));
    let power = |e: i32| f32::from_bits(((e + 127) as u32) << 23);
    let unit = power(e.max(1) as i32 - bias - fraction as i32);
    let magnitude = (f | u32::from(e != 0) << fraction) as f32 * unit;
    if bits >> (exponent + fraction) & 1 == 1 { -magnitude } else { magnitude }
}

/// The value of an e2m3 number in the low 6 bits; exact.
pub fn e2m3_to_f32(bits: u8) -> f32 {
    small_to_f32(bits, 2, 3)
}

/// The value of an e3m2 number in the low 6 bits; exact.
pub fn e3m2_to_f32(bits: u8) -> f32 {
    small_to_f32(bits, 3, 2)
}

/// The value of an e2m1 number in the low 4 bits; exact.
pub fn e2m1_to_f32(bits: u8) -> f32 {
    small_to_f32(bits, 2, 1)
}

/// The value of a ue8m0 scale factor, a power of two; exact.
pub fn ue8m0_to_f64(bits: u8) -> f64 {
    if bits == 0xff { f64::NAN } else { f64::from_bits((u64::from(bits) + 1023 - 127) << 52) }
}

/// The value of a ue4m3 scale factor; exact. The sign bit is ignored.
pub fn ue4m3_to_f64(bits: u8) -> f64 {
    e4m3_to_f32(bits & 0x7f).into()
}

/// Sixteen small numbers in 16 bytes of shared memory: packed, then padding.
pub(crate) fn unpack_padded(bytes: [u8; 16], width: u32) -> [u8; 16] {
    let all = u128::from_le_bytes(bytes);
    std::array::from_fn(|i| (all >> (width * i as u32)) as u8 & ((1 << width) - 1))
}

/// The same sixteen, each in a byte of its own as tensor memory holds them: 6 bits at the bottom, 4
/// bits above two zeros.
pub(crate) fn containers(bytes: [u8; 16], width: u32) -> [u8; 16] {
    unpack_padded(bytes, width).map(|v| if width == 4 { v << 2 } else { v })
}
