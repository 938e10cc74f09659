//! What calls return.

/// A `cudaError_t` that is not success.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Code(pub i32);

macro_rules! codes {
    ($($name:ident = $number:literal, $cuda:literal, $text:literal;)*) => {
        impl Code {
            $(#[doc = $text] pub const $name: Code = Code($number);)*

            /// Its name.
            pub fn name(number: i32) -> &'static std::ffi::CStr {
                match number {
                    0 => c"cudaSuccess",
                    $($number => $cuda,)*
                    _ => c"unrecognized error code",
                }
            }

            /// What it says.
            pub fn text(number: i32) -> &'static std::ffi::CStr {
                match number {
                    0 => c"no error",
                    $($number => {
                        const TEXT: &std::ffi::CStr = match std::ffi::CStr::from_bytes_with_nul(concat!($text, "\0").as_bytes()) {
                            Ok(text) => text,
                            Err(_) => c"",
                        };
                        TEXT
                    })*
                    _ => c"unrecognized error code",
                }
            }
        }
    };
}

codes! {
    INVALID_VALUE = 1, c"cudaErrorInvalidValue", "an argument is not valid";
    MEMORY = 2, c"cudaErrorMemoryAllocation", "out of memory";
    CONFIGURATION = 9, c"cudaErrorInvalidConfiguration", "the kernel cannot be launched in this shape";
    PITCH = 12, c"cudaErrorInvalidPitchValue", "the pitch is smaller than a row";
    SYMBOL = 13, c"cudaErrorInvalidSymbol", "no such device variable";
    DEVICE_POINTER = 17, c"cudaErrorInvalidDevicePointer", "no such device memory";
    DIRECTION = 21, c"cudaErrorInvalidMemcpyDirection", "the direction of the copy does not fit its pointers";
    MISSING_CONFIGURATION = 52, c"cudaErrorMissingConfiguration", "a kernel is launched without its configuration";
    FUNCTION = 98, c"cudaErrorInvalidDeviceFunction", "no such kernel for this device";
    NO_DEVICE = 100, c"cudaErrorNoDevice", "no device";
    DEVICE = 101, c"cudaErrorInvalidDevice", "no such device";
    NO_IMAGE = 209, c"cudaErrorNoKernelImageForDevice", "the program has no PTX for this kernel";
    PTX = 218, c"cudaErrorInvalidPtx", "the kernel's PTX cannot be executed";
    HANDLE = 400, c"cudaErrorInvalidResourceHandle", "no such stream or event";
    NOT_FOUND = 500, c"cudaErrorSymbolNotFound", "no such entry point";
    NOT_READY = 600, c"cudaErrorNotReady", "not complete yet";
    ADDRESS = 700, c"cudaErrorIllegalAddress", "a kernel touched memory that is not its own";
    TIMEOUT = 702, c"cudaErrorLaunchTimeout", "a kernel did not end";
    ASSERT = 710, c"cudaErrorAssert", "an assertion in a kernel failed";
    NOT_REGISTERED = 713, c"cudaErrorHostMemoryNotRegistered", "the host memory was not registered";
    MISALIGNED = 716, c"cudaErrorMisalignedAddress", "a kernel used a misaligned address";
    LAUNCH = 719, c"cudaErrorLaunchFailure", "a kernel failed";
    TOO_LARGE = 720, c"cudaErrorCooperativeLaunchTooLarge", "a cooperative launch has more CTAs than run at once";
    UNSUPPORTED = 801, c"cudaErrorNotSupported", "not supported on the emulator";
    UNKNOWN = 999, c"cudaErrorUnknown", "unknown error";
}
