//! Maps for convolutions: columns of pixels of a bounding box, shifted by the filter's offsets.
//!
//! The tensor has channels innermost, then one to three dimensions of space, then the images. A copy takes
//! `pixels` pixels of `channels` channels each, beginning at its coordinates and going on through the bounding box; the
//! box is the tensor, made smaller or larger by its two corners, and the copy's own offsets shift it.

use baton::global::Load;
use baton::tile::Element;
use baton_emulator::tensor_map::{
    DataType, Interleave, L2Promotion, MAX_RANK, OobFill, Swizzle, TensorMapDesc,
};

use super::tiled::{EncodedMap, Tensor, fields};
use crate::device::Backend;
use crate::{Buffer, Error};

/// Most dimensions of space.
const SPACE: usize = MAX_RANK - 2;

/// The arguments of the driver's `cuTensorMapEncodeIm2col`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Im2colDesc {
    /// What it shares with a tiled map, of which the box does not count.
    pub tensor: TensorMapDesc,
    /// For each dimension of space, the innermost first.
    pub lower_corner: [i32; SPACE],
    pub upper_corner: [i32; SPACE],
    pub channels: u32,
    pub pixels: u32,
}

/// A tensor in a buffer, of which kernels load columns of pixels. Made by [`Buffer::im2col`].
///
/// The emulator checks such a map and does not encode it: it does not execute these copies.
#[derive(Clone, Debug)]
#[must_use = "a description does nothing until it is encoded"]
pub struct Im2col<'a, T> {
    tensor: Tensor<'a, T>,
    channels: u32,
    pixels: u32,
    corners: [Option<Vec<i32>>; 2],
}

impl<T: Element> Buffer<T> {
    /// A tensor of these dimensions at the start of this buffer (channels, one to three of space, images), of which kernels
    /// load `pixels` pixels of `channels` channels at a time.
    pub fn im2col(&self, dims: &[u64], channels: u32, pixels: u32) -> Im2col<'_, T> {
        Im2col { tensor: Tensor::new(self, dims), channels, pixels, corners: [None, None] }
    }
}

impl<'a, T: Element> Im2col<'a, T> {
    fields!();

    /// Where the bounding box begins, seen from the tensor's first pixel: for each dimension of space, the innermost
    /// first. Minus the padding, usually; zero unless told otherwise.
    pub fn lower_corner(mut self, corner: &[i32]) -> Self {
        self.corners[0] = Some(corner.into());
        self
    }

    /// Where the bounding box ends, seen from the tensor's end. The padding less the filter's extent less one, usually.
    pub fn upper_corner(mut self, corner: &[i32]) -> Self {
        self.corners[1] = Some(corner.into());
        self
    }

    /// Encodes the map, by the driver on a GPU.
    ///
    /// # Errors
    /// As for [`Tiled::encode`](super::Tiled::encode).
    pub fn encode(self) -> Result<EncodedMap<'a, Load>, Error> {
        let Self { tensor, channels, pixels, corners } = self;
        let refuse = |reason: String| {
            tensor.refuse(format!("in columns of {pixels} pixels of {channels} channels"), reason)
        };
        let rank = tensor.dims.len();
        if !(3..=MAX_RANK).contains(&rank) {
            return Err(refuse(format!(
                "tensor map: {rank} dimensions; use 3 to 5 for im2col: channels, space, images"
            )));
        }
        let mut desc = Im2colDesc {
            // The box does not count; this one breaks no rule of its own.
            tensor: tensor.describe(&vec![1; rank])?.map_err(|error| refuse(error.to_string()))?,
            lower_corner: [0; SPACE],
            upper_corner: [0; SPACE],
            channels,
            pixels,
        };
        let space = rank - 2;
        for (given, (corner, name)) in corners
            .iter()
            .zip([(&mut desc.lower_corner, "lower"), (&mut desc.upper_corner, "upper")])
        {
            match given {
                None => {}
                Some(given) if given.len() == space => corner[..space].copy_from_slice(given),
                Some(given) => {
                    return Err(refuse(format!(
                        "tensor map: the {name} corner has {} entries; give {space}, one for each dimension of space",
                        given.len()
                    )));
                }
            }
        }
        desc.validate().map_err(refuse)?;
        let bytes = u64::from(channels) * u64::from(pixels) * size_of::<T>() as u64;
        let encoded = match tensor.device.backend() {
            Backend::Gpu(gpu) => gpu.encode_im2col(&desc).map_err(refuse)?,
            Backend::Emulator(_) => {
                return Err(refuse(
                    "the emulator does not execute im2col copies: run this on a GPU".into(),
                ));
            }
        };
        Ok(EncodedMap::new(tensor.device, encoded, bytes))
    }
}

impl Im2colDesc {
    /// Checks the rules that the driver's call documents.
    fn validate(&self) -> Result<(), String> {
        let Self { tensor, lower_corner, upper_corner, channels, pixels } = self;
        // Address, dimensions, strides and fill have the rules of tiled maps. The rule for the innermost extent is about
        // the channels here.
        let rank = tensor.rank as usize;
        let mut tiled = *tensor;
        tiled.box_dims = [1; MAX_RANK];
        tiled.box_dims[0] = *channels;
        tiled.validate().map_err(|error| {
            error.to_string().replace("the inner box dimension", "the channels of a pixel")
        })?;
        if !(1..=1024).contains(pixels) {
            return Err(format!("tensor map: a column of {pixels} pixels; use 1 to 1024"));
        }
        let space = rank - 2;
        // The fewer dimensions, the more bits for each.
        let bits = 16 / space as u32;
        let range = -(1i32 << (bits - 1))..1i32 << (bits - 1);
        for (at, (&lower, &upper)) in lower_corner.iter().zip(upper_corner).enumerate().take(space)
        {
            for (name, value) in [("lower", lower), ("upper", upper)] {
                if !range.contains(&value) {
                    return Err(format!(
                        "tensor map: the {name} corner is {value} in dimension {}; with {rank} dimensions use {} to {}",
                        at + 1,
                        range.start,
                        range.end - 1
                    ));
                }
            }
            let extent =
                i128::from(tensor.global_dims[at + 1]) + i128::from(upper) - i128::from(lower);
            if extent < 1 {
                return Err(format!(
                    "tensor map: the bounding box has no pixel in dimension {}: {} from {lower} to the end and {upper}; \
                     move the corners apart",
                    at + 1,
                    tensor.global_dims[at + 1]
                ));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::{Buffer, Device, EmulatorOptions, Im2col, Swizzle};

    /// Why a map of 64 channels, 14 × 12 pixels and 3 images is refused; the last word is the emulator's.
    fn refusal(change: impl for<'a> FnOnce(Im2col<'a, f32>) -> Im2col<'a, f32>) -> String {
        let device = Device::emulator(EmulatorOptions::default());
        let buffer = Buffer::<f32>::zeroed(&device, 64 * 14 * 12 * 3).unwrap();
        let map = buffer.im2col(&[64, 14, 12, 3], 32, 128);
        change(map).encode().unwrap_err().to_string()
    }

    #[test]
    fn rules_are_checked_before_the_device_is_asked() {
        let legal = refusal(|map| map.lower_corner(&[-1, -1]).upper_corner(&[-1, -1]));
        assert!(legal.contains("the emulator does not execute im2col"), "{legal}");
        let far = refusal(|map| map.lower_corner(&[-129, 0]));
        assert!(
            far.contains("lower corner is -129 in dimension 1") && far.contains("-128 to 127"),
            "{far}"
        );
        let empty = refusal(|map| map.lower_corner(&[0, 6]).upper_corner(&[0, -6]));
        assert!(empty.contains("no pixel in dimension 2"), "{empty}");
        let short = refusal(|map| map.upper_corner(&[0]));
        assert!(short.contains("the upper corner has 1 entries; give 2"), "{short}");
        let narrow = refusal(|map| map.swizzle(Swizzle::B64));
        assert!(
            narrow.contains("the channels of a pixel has 128 bytes, more than the 64"),
            "{narrow}"
        );
        let gap = refusal(|map| map.strides(&[66, 14 * 66, 12 * 14 * 66]));
        assert!(gap.contains("does not fit a buffer"), "{gap}");
    }

    #[test]
    fn ranks_and_sizes_have_limits() {
        let device = Device::emulator(EmulatorOptions::default());
        let buffer = Buffer::<f32>::zeroed(&device, 4096).unwrap();
        let refusal = |dims: &[u64], channels, pixels| {
            buffer.im2col(dims, channels, pixels).encode().unwrap_err().to_string()
        };
        assert!(refusal(&[64, 4], 32, 8).contains("3 to 5 for im2col"));
        assert!(refusal(&[64, 4, 4], 257, 8).contains("257 elements in dimension 0"));
        assert!(refusal(&[64, 4, 4], 32, 1025).contains("1025 pixels"));
        assert!(refusal(&[64, 4, 4], 3, 8).contains("multiple of 16 bytes"));
    }
}
