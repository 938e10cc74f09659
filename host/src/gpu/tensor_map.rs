//! Tensor maps, encoded by the driver.

use std::ptr;

use baton::launch::EncodedTensorMap;
use baton_emulator::tensor_map::TensorMapDesc;
use cudarc::driver::sys;

use super::{Gpu, text};
use crate::tensor_map::{Im2colDesc, driver};

impl Gpu {
    pub(crate) fn encode(&self, map: &TensorMapDesc) -> Result<EncodedTensorMap, String> {
        self.bind("encoding a tensor map").map_err(|error| error.to_string())?;
        let mut encoded = sys::CUtensorMap { opaque: [0; 16] };
        // SAFETY: the arrays have the rank that is passed, and one fewer for the strides, which the
        // description's own validation has checked; the result is aligned by its type. The address
        // is not followed.
        let result = unsafe {
            sys::cuTensorMapEncodeTiled(
                &mut encoded,
                driver::data_type(map.data_type),
                map.rank,
                ptr::with_exposed_provenance_mut(map.global_address as usize),
                map.global_dims.as_ptr(),
                map.global_strides.as_ptr(),
                map.box_dims.as_ptr(),
                map.element_strides.as_ptr(),
                driver::interleave(map.interleave),
                driver::swizzle(map.swizzle),
                driver::l2_promotion(map.l2_promotion),
                driver::oob_fill(map.oob_fill),
            )
        };
        result.result().map(|()| EncodedTensorMap(encoded.opaque)).map_err(text)
    }

    pub(crate) fn encode_im2col(&self, map: &Im2colDesc) -> Result<EncodedTensorMap, String> {
        self.bind("encoding a tensor map").map_err(|error| error.to_string())?;
        let mut encoded = sys::CUtensorMap { opaque: [0; 16] };
        let tensor = &map.tensor;
        // SAFETY: as above; the corners have an entry for each dimension between the first and the last.
        let result = unsafe {
            sys::cuTensorMapEncodeIm2col(
                &mut encoded,
                driver::data_type(tensor.data_type),
                tensor.rank,
                ptr::with_exposed_provenance_mut(tensor.global_address as usize),
                tensor.global_dims.as_ptr(),
                tensor.global_strides.as_ptr(),
                map.lower_corner.as_ptr(),
                map.upper_corner.as_ptr(),
                map.channels,
                map.pixels,
                tensor.element_strides.as_ptr(),
                driver::interleave(tensor.interleave),
                driver::swizzle(tensor.swizzle),
                driver::l2_promotion(tensor.l2_promotion),
                driver::oob_fill(tensor.oob_fill),
            )
        };
        result.result().map(|()| EncodedTensorMap(encoded.opaque)).map_err(text)
    }
}
