//! The driver's words for what a description says.

use baton_emulator::tensor_map::{DataType, Interleave, L2Promotion, OobFill, Swizzle};
use cudarc::driver::sys;

pub(super) fn data_type(data_type: DataType) -> sys::CUtensorMapDataType {
    use sys::CUtensorMapDataType as Is;
    match data_type {
        DataType::U8 => Is::CU_TENSOR_MAP_DATA_TYPE_UINT8,
        DataType::U16 => Is::CU_TENSOR_MAP_DATA_TYPE_UINT16,
        DataType::U32 => Is::CU_TENSOR_MAP_DATA_TYPE_UINT32,
        DataType::I32 => Is::CU_TENSOR_MAP_DATA_TYPE_INT32,
        DataType::U64 => Is::CU_TENSOR_MAP_DATA_TYPE_UINT64,
        DataType::I64 => Is::CU_TENSOR_MAP_DATA_TYPE_INT64,
        DataType::F16 => Is::CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
        DataType::Bf16 => Is::CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
        DataType::F32 => Is::CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
        DataType::F64 => Is::CU_TENSOR_MAP_DATA_TYPE_FLOAT64,
        DataType::F32Ftz => Is::CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ,
        DataType::Tf32 => Is::CU_TENSOR_MAP_DATA_TYPE_TFLOAT32,
        DataType::Tf32Ftz => Is::CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ,
    }
}

pub(super) fn interleave(interleave: Interleave) -> sys::CUtensorMapInterleave {
    use sys::CUtensorMapInterleave as Is;
    match interleave {
        Interleave::None => Is::CU_TENSOR_MAP_INTERLEAVE_NONE,
        Interleave::B16 => Is::CU_TENSOR_MAP_INTERLEAVE_16B,
        Interleave::B32 => Is::CU_TENSOR_MAP_INTERLEAVE_32B,
    }
}

pub(super) fn swizzle(swizzle: Swizzle) -> sys::CUtensorMapSwizzle {
    use sys::CUtensorMapSwizzle as Is;
    match swizzle {
        Swizzle::None => Is::CU_TENSOR_MAP_SWIZZLE_NONE,
        Swizzle::B32 => Is::CU_TENSOR_MAP_SWIZZLE_32B,
        Swizzle::B64 => Is::CU_TENSOR_MAP_SWIZZLE_64B,
        Swizzle::B128 => Is::CU_TENSOR_MAP_SWIZZLE_128B,
        Swizzle::B128Atom32 => Is::CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B,
        Swizzle::B128Atom32Flip8 => Is::CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B_FLIP_8B,
        Swizzle::B128Atom64 => Is::CU_TENSOR_MAP_SWIZZLE_128B_ATOM_64B,
    }
}

pub(super) fn l2_promotion(promotion: L2Promotion) -> sys::CUtensorMapL2promotion {
    use sys::CUtensorMapL2promotion as Is;
    match promotion {
        L2Promotion::None => Is::CU_TENSOR_MAP_L2_PROMOTION_NONE,
        L2Promotion::B64 => Is::CU_TENSOR_MAP_L2_PROMOTION_L2_64B,
        L2Promotion::B128 => Is::CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
        L2Promotion::B256 => Is::CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
    }
}

pub(super) fn oob_fill(fill: OobFill) -> sys::CUtensorMapFloatOOBfill {
    use sys::CUtensorMapFloatOOBfill as Is;
    match fill {
        OobFill::Zeros => Is::CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
        OobFill::Nan => Is::CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA,
    }
}
