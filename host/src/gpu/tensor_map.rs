//! Tensor maps, encoded by the driver.

use std::ptr;

use baton::launch::EncodedTensorMap;
use baton_emulator::tensor_map::TensorMapDesc;
use cudarc::driver::sys;

use super::{Gpu, text};
use crate::tensor_map::driver;

impl Gpu {
    pub(crate) fn encode(&self, map: &TensorMapDesc) -> Result<EncodedTensorMap, String> {
        self.bind("encoding a tensor map").map_err(|error| error.to_string())?;
        let mut encoded = sys::CUtensorMap { opaque: [0; 16] };
        let data_type = driver::data_type(map.data_type);
        let address = ptr::with_exposed_provenance_mut(map.global_address as usize);
        let (dims, strides) = (map.global_dims.as_ptr(), map.global_strides.as_ptr());
        let element_strides = map.element_strides.as_ptr();
        let interleave = driver::interleave(map.interleave);
        let swizzle = driver::swizzle(map.swizzle);
        let l2_promotion = driver::l2_promotion(map.l2_promotion);
        let oob_fill = driver::oob_fill(map.oob_fill);
        let result = match &map.im2col {
            // SAFETY: the arrays have the rank that is passed, and one fewer for the strides, which the
            // description's own validation has checked; the result is aligned by its type. The address
            // is not followed.
            None => unsafe {
                sys::cuTensorMapEncodeTiled(
                    &mut encoded,
                    data_type,
                    map.rank,
                    address,
                    dims,
                    strides,
                    map.box_dims.as_ptr(),
                    element_strides,
                    interleave,
                    swizzle,
                    l2_promotion,
                    oob_fill,
                )
            },
            // SAFETY: as above; the corners have an entry for each dimension between the first and the last.
            Some(im2col) => unsafe {
                sys::cuTensorMapEncodeIm2col(
                    &mut encoded,
                    data_type,
                    map.rank,
                    address,
                    dims,
                    strides,
                    im2col.lower.as_ptr(),
                    im2col.upper.as_ptr(),
                    im2col.channels,
                    im2col.pixels,
                    element_strides,
                    interleave,
                    swizzle,
                    l2_promotion,
                    oob_fill,
                )
            },
        };
        result.result().map(|()| EncodedTensorMap(encoded.opaque)).map_err(text)
    }
}
