use super::*;
use crate::tensor_map::Swizzle;

mod access;
mod descriptor;
mod element;
mod idesc;
mod mma;
mod tensor_memory;

/// SplitMix64: enough for choosing test data, and the same on every machine.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A multiple of 1/64 in -2 to 2, so that many types hold it.
    fn value(&mut self) -> f32 {
        (self.next() % 257) as f32 / 64.0 - 2.0
    }
}

fn at(lane: u32, column: u32) -> TensorAddress {
    TensorAddress { lane, column }
}

/// Tensor memory with all columns allocated by CTA 0.
fn full() -> TensorMemory {
    let mut memory = TensorMemory::new();
    assert_eq!(memory.alloc(0, 512), Ok(Some(at(0, 0))));
    memory
}

/// A shared-memory descriptor with the swizzle code `code`.
fn encode_descriptor(start: u32, leading: u32, stride: u32, swizzle: u64) -> u64 {
    let field = |x: u32| u64::from((x & 0x3_ffff) >> 4);
    field(start) | field(leading) << 16 | field(stride) << 32 | 1 << 46 | swizzle << 61
}

/// The layout of such a descriptor.
fn layout(code: u64, major: Major, bits: u32, start: u32, lbo: u32, sbo: u32) -> OperandLayout {
    let bits64 = encode_descriptor(start, lbo, sbo, code);
    SharedDescriptor::decode(bits64).unwrap().layout(major, bits).unwrap()
}

/// The type field of an f32 accumulator in an instruction descriptor.
const F32_ACCUMULATOR: u32 = 1 << 4;

/// The M and N fields of an instruction descriptor.
fn shape_bits(m: u32, n: u32) -> u32 {
    (n / 8) << 17 | (m / 16) << 24
}
