//! Maps for convolutions: columns of pixels of a bounding box, shifted by the filter's offsets.
//!
//! The tensor has channels innermost, then one to three dimensions of space, then the images. A copy takes
//! `pixels` pixels of `channels` channels each, beginning at its coordinates and going on through the bounding box; the
//! box is the tensor, made smaller or larger by its two corners, and the copy's own offsets shift it.

use baton::global::Load;
use baton::tile::Element;
use baton_emulator::tensor_map::{
    self as map, DataType, Interleave, L2Promotion, MAX_RANK, MAX_SPATIAL, OobFill, Swizzle,
    TensorMapDesc,
};

use super::encoded::EncodedMap;
use super::tiled::{Tensor, fields};
use crate::buffer::Buffer;
use crate::error::Error;
use crate::reservation::Access;

/// A tensor in a buffer, of which kernels load columns of pixels. Made by [`Buffer::im2col`].
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
        let tensor = Tensor::new(self, Access::Read, dims);
        Im2col { tensor, channels, pixels, corners: [None, None] }
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
        let space = rank - 2;
        let [mut lower, mut upper] = [[0; MAX_SPATIAL]; 2];
        for (given, (corner, name)) in
            corners.iter().zip([(&mut lower, "lower"), (&mut upper, "upper")])
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
        // The box is one pixel.
        let mut pixel = vec![1; rank];
        pixel[0] = channels;
        let mut desc = tensor.describe(&pixel)?.map_err(|error| refuse(error.to_string()))?;
        desc.im2col = Some(map::Im2col { lower, upper, channels, pixels });
        desc.validate().map_err(|error| refuse(error.to_string()))?;
        has_pixels(&desc, &lower[..space], &upper[..space]).map_err(refuse)?;
        tensor.encode(&desc).map_err(refuse)
    }
}

/// The bounding box has a pixel in each dimension.
fn has_pixels(desc: &TensorMapDesc, lower: &[i32], upper: &[i32]) -> Result<(), String> {
    for (at, (lower, upper)) in lower.iter().zip(upper).enumerate() {
        let length = desc.global_dims[at + 1];
        if i128::from(length) + i128::from(*upper) - i128::from(*lower) < 1 {
            return Err(format!(
                "tensor map: the bounding box has no pixel in dimension {}, which has {length}: it begins at {lower} and \
                 ends {upper} from the end; move the corners apart",
                at + 1
            ));
        }
    }
    Ok(())
}

#[cfg(all(test, feature = "emulator"))]
mod tests {
    use super::Im2col;
    use crate::buffer::Buffer;
    use crate::device::Device;
    use crate::options::EmulatorOptions;
    use baton_emulator::tensor_map::Swizzle;

    /// What becomes of a map of 64 channels, 14 × 12 pixels and 3 images.
    fn encoded(
        change: impl for<'a> FnOnce(Im2col<'a, f32>) -> Im2col<'a, f32>,
    ) -> Result<u64, String> {
        let device = Device::emulator(EmulatorOptions::default());
        let buffer = Buffer::<f32>::zeroed(&device, 64 * 14 * 12 * 3).unwrap();
        let map = buffer.im2col(&[64, 14, 12, 3], 32, 128);
        change(map).encode().map(|map| map.bytes()).map_err(|error| error.to_string())
    }

    #[test]
    fn rules_are_checked_before_the_device_is_asked() {
        let legal = encoded(|map| map.lower_corner(&[-1, -1]).upper_corner(&[-1, -1]));
        assert_eq!(legal, Ok(32 * 128 * 4));
        let far = encoded(|map| map.lower_corner(&[-129, 0])).unwrap_err();
        assert!(far.contains("-129 in dimension 1") && far.contains("-128 to 127"), "{far}");
        let empty = encoded(|map| map.lower_corner(&[0, 6]).upper_corner(&[0, -6])).unwrap_err();
        assert!(empty.contains("no pixel in dimension 2"), "{empty}");
        let short = encoded(|map| map.upper_corner(&[0])).unwrap_err();
        assert!(short.contains("the upper corner has 1 entries; give 2"), "{short}");
        let narrow = encoded(|map| map.swizzle(Swizzle::B64)).unwrap_err();
        assert!(narrow.contains("128 bytes, more than the 64"), "{narrow}");
        let gap = encoded(|map| map.strides(&[66, 14 * 66, 12 * 14 * 66])).unwrap_err();
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
        assert!(refusal(&[64, 4, 4], 257, 8).contains("use 1 to 256"));
        assert!(refusal(&[64, 4, 4], 32, 1025).contains("use 1 to 1024"));
        assert!(refusal(&[64, 4, 4], 3, 8).contains("multiple of 16 bytes"));
    }
}
