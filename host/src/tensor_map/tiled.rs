//! Tiled maps of any rank, described field by field.

use std::marker::PhantomData;
use std::sync::Arc;

use baton::global::{Load, Store};
use baton::tile::Element;
use baton_emulator::tensor_map::{
    DataType, Interleave, L2Promotion, OobFill, Swizzle, TensorMapDesc, TensorMapError,
};

use super::encoded::{EncodedMap, Lent};
use super::matrix::data_type;
use crate::buffer::Buffer;
use crate::error::Error;
use crate::reservation::Access;

/// A tensor in a buffer, cut into boxes. Made by [`Buffer::tiled`] and [`Buffer::tiled_mut`].
///
/// Dimensions run from the innermost, which is contiguous, outwards; there are 1 to 5 of them. Unless told otherwise the
/// tensor is dense, takes every element, and lies in shared memory as it comes, zeros outside.
///
/// ```
/// # fn main() -> Result<(), baton_host::Error> {
/// # let device = baton_host::Device::emulator(Default::default());
/// use baton_host::{Buffer, OobFill, Swizzle};
///
/// let image = Buffer::<f32>::zeroed(&device, 64 * 30 * 20)?;
/// let map = image
///     .tiled(&[64, 30, 20], &[32, 8, 4])
///     .swizzle(Swizzle::B128)
///     .fill(OobFill::Nan)
///     .encode()?;
/// assert_eq!(map.bytes(), 32 * 8 * 4 * 4);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
#[must_use = "a description does nothing until it is encoded"]
pub struct Tiled<'a, T, A = Load> {
    tensor: Tensor<'a, T>,
    boxes: Vec<u32>,
    access: PhantomData<fn() -> A>,
}

/// What tiled and im2col maps have in common.
#[derive(Clone, Debug)]
pub(super) struct Tensor<'a, T> {
    pub buffer: &'a Buffer<T>,
    /// What its kernels do with the buffer.
    pub access: Access,
    pub data_type: DataType,
    pub dims: Vec<u64>,
    /// In elements; `None` for a dense tensor.
    pub strides: Option<Vec<u64>>,
    pub element_strides: Option<Vec<u32>>,
    pub interleave: Interleave,
    pub swizzle: Swizzle,
    pub l2_promotion: L2Promotion,
    pub oob_fill: OobFill,
}

impl<T: Element> Buffer<T> {
    /// A tensor of these dimensions at the start of this buffer, of which kernels load boxes.
    pub fn tiled(&self, dims: &[u64], boxes: &[u32]) -> Tiled<'_, T, Load> {
        let tensor = Tensor::new(self, Access::Read, dims);
        Tiled { tensor, boxes: boxes.into(), access: PhantomData }
    }

    /// A tensor of these dimensions at the start of this buffer, into which kernels store boxes.
    pub fn tiled_mut(&mut self, dims: &[u64], boxes: &[u32]) -> Tiled<'_, T, Store> {
        let tensor = Tensor::new(self, Access::Write, dims);
        Tiled { tensor, boxes: boxes.into(), access: PhantomData }
    }
}

/// The fields that a tensor has for boxes and for pixels.
macro_rules! fields {
    () => {
        /// Elements from one index to the next, in dimensions 1 and up.
        pub fn strides(mut self, elements: &[u64]) -> Self {
            self.tensor.strides = Some(elements.into());
            self
        }

        /// Every how many elements one is taken, in each dimension.
        pub fn element_strides(mut self, strides: &[u32]) -> Self {
            self.tensor.element_strides = Some(strides.into());
            self
        }

        /// How the pieces of a box are permuted in shared memory.
        pub fn swizzle(mut self, swizzle: Swizzle) -> Self {
            self.tensor.swizzle = swizzle;
            self
        }

        /// How far the L2 cache widens a fetch.
        pub fn l2_promotion(mut self, promotion: L2Promotion) -> Self {
            self.tensor.l2_promotion = promotion;
            self
        }

        /// What a load writes for elements outside the tensor.
        pub fn fill(mut self, fill: OobFill) -> Self {
            self.tensor.oob_fill = fill;
            self
        }

        /// Another element type of the same size: for `f32` those that flush or round on the way.
        pub fn data_type(mut self, data_type: DataType) -> Self {
            self.tensor.data_type = data_type;
            self
        }

        /// A layout with interleaved channels.
        ///
        /// # Safety
        /// What the map reaches lies in the buffer. That the dimensions and strides do is checked; where the driver puts
        /// the slices of the channels is not.
        pub unsafe fn interleave(mut self, interleave: Interleave) -> Self {
            self.tensor.interleave = interleave;
            self
        }
    };
}
pub(super) use fields;

impl<'a, T: Element, A> Tiled<'a, T, A> {
    fields!();

    /// Encodes the map, by the driver on a GPU.
    ///
    /// # Errors
    /// [`Error::BadTensorMap`] names the rule that a field breaks, before the driver is asked, so that the emulator refuses
    /// what a GPU would refuse; [`Error::TensorDoesNotFit`] is about the buffer.
    pub fn encode(self) -> Result<EncodedMap<'a, A>, Error> {
        let Self { tensor, boxes, .. } = self;
        let refuse = |reason: String| tensor.refuse(format!("in boxes of {boxes:?}"), reason);
        let desc = tensor
            .describe(&boxes)?
            .and_then(|desc| desc.validate().map(|()| desc))
            .map_err(|error| refuse(error.to_string()))?;
        tensor.encode(&desc).map_err(refuse)
    }
}

impl<'a, T: Element> Tensor<'a, T> {
    pub fn new(buffer: &'a Buffer<T>, access: Access, dims: &[u64]) -> Self {
        Self {
            buffer,
            access,
            data_type: data_type::<T>(),
            dims: dims.into(),
            strides: None,
            element_strides: None,
            interleave: Interleave::None,
            swizzle: Swizzle::None,
            l2_promotion: L2Promotion::None,
            oob_fill: OobFill::Zeros,
        }
    }

    /// The driver's description, whose own rules are not checked yet. The outer error is of this crate, the inner one of
    /// the description.
    pub fn describe(&self, boxes: &[u32]) -> Result<Result<TensorMapDesc, TensorMapError>, Error> {
        let size = size_of::<T>() as u64;
        if u64::from(self.data_type.bytes()) != size {
            let reason = format!(
                "{:?} has {} bytes and the buffer's elements {size}: name a type of that size",
                self.data_type,
                self.data_type.bytes()
            );
            return Err(self.refuse("of another type".into(), reason));
        }
        let strides = match &self.strides {
            Some(strides) => strides.clone(),
            None => dense(&self.dims),
        };
        let bytes: Vec<u64> = strides.iter().map(|stride| stride.saturating_mul(size)).collect();
        let desc =
            TensorMapDesc::new(self.data_type, self.buffer.address(), &self.dims, &bytes, boxes);
        let mut desc = match desc {
            Ok(desc) => desc,
            Err(error) => return Ok(Err(error)),
        };
        if let Some(given) = &self.element_strides {
            match desc.element_strides.get_mut(..given.len()) {
                Some(strides) if given.len() == self.dims.len() => strides.copy_from_slice(given),
                _ => {
                    return Ok(Err(TensorMapError::Length {
                        what: "element stride",
                        rank: self.dims.len(),
                        expected: self.dims.len(),
                        found: given.len(),
                    }));
                }
            }
        }
        desc.interleave = self.interleave;
        desc.swizzle = self.swizzle;
        desc.l2_promotion = self.l2_promotion;
        desc.oob_fill = self.oob_fill;
        self.fits(&strides)?;
        Ok(Ok(desc))
    }

    /// Encodes a description of this tensor that breaks no rule.
    pub fn encode<A>(&self, desc: &TensorMapDesc) -> Result<EncodedMap<'a, A>, String> {
        let encoded = self.buffer.device().driver().encode(desc)?;
        let (allocation, owner) = (Arc::clone(self.buffer.allocation()), self.buffer.owner());
        let tensor = Lent { allocation, owner, access: self.access };
        Ok(EncodedMap::new(tensor, encoded, desc.tile_bytes()))
    }

    /// Refuses a tensor whose last element does not lie in the buffer. The dimensions have as many strides as they need.
    fn fits(&self, strides: &[u64]) -> Result<(), Error> {
        // A dimension without elements is refused by the description's rules.
        let ends = self.dims.iter().map(|dim| u128::from(dim.saturating_sub(1)));
        let steps = std::iter::once(1).chain(strides.iter().map(|stride| u128::from(*stride)));
        let last: u128 = ends.zip(steps).map(|(end, step)| end * step).sum();
        if last < self.buffer.len() as u128 {
            return Ok(());
        }
        Err(Error::TensorDoesNotFit {
            dims: self.dims.clone(),
            strides: strides.into(),
            last,
            len: self.buffer.len(),
        })
    }

    pub fn refuse(&self, how: String, reason: String) -> Error {
        let what = format!(
            "a tensor of {:?} elements of {} bytes, the innermost dimension first, {how}",
            self.dims,
            size_of::<T>()
        );
        Error::BadTensorMap { what, reason }
    }
}

/// The strides of a tensor without gaps.
fn dense(dims: &[u64]) -> Vec<u64> {
    let outer = dims.len().saturating_sub(1);
    dims[..outer]
        .iter()
        .scan(1u64, |step, dim| {
            *step = step.saturating_mul(*dim);
            Some(*step)
        })
        .collect()
}
