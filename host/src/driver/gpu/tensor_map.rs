//! Tensor maps, encoded by the driver.

use std::ffi::c_uint;
use std::ptr;

use baton::launch::EncodedTensorMap;
use baton_emulator::tensor_map::TensorMapDesc;
use cudarc::driver::sys::CUtensorMap;

use super::context::Gpu;
use super::words;

pub(super) fn encode(gpu: &Gpu, map: &TensorMapDesc) -> Result<EncodedTensorMap, String> {
    let _entered = gpu.enter("encoding a tensor map").map_err(|error| error.to_string())?;
    let mut encoded = CUtensorMap { opaque: [0; 16] };
    let data_type = words::data_type(map.data_type) as c_uint;
    let address = ptr::with_exposed_provenance_mut(map.global_address as usize);
    let (dims, strides) = (map.global_dims.as_ptr(), map.global_strides.as_ptr());
    let element_strides = map.element_strides.as_ptr();
    let interleave = words::interleave(map.interleave) as c_uint;
    let swizzle = words::swizzle(map.swizzle) as c_uint;
    let l2_promotion = words::l2_promotion(map.l2_promotion) as c_uint;
    let oob_fill = words::oob_fill(map.oob_fill) as c_uint;
    let result = match &map.im2col {
        // SAFETY: the arrays have the rank that is passed, and one fewer for the strides, which the
        // description's own validation has checked; the result is aligned by its type. The address
        // is not followed.
        None => unsafe {
            gpu.api.cuTensorMapEncodeTiled(
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
            gpu.api.cuTensorMapEncodeIm2col(
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
    result.map(|()| EncodedTensorMap(encoded.opaque)).map_err(|code| gpu.api.text(code))
}
