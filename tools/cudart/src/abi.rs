//! The entry points.
//!
//! Each is named as the runtime's, takes what that takes and returns a `cudaError_t`. What the program hands over is
//! believed, as the runtime believes it: a pointer that it must not give ends as badly here as there.

use crate::code::Code;
use crate::device::{self, Device, Result};

pub mod errors;
pub mod kernels;
pub mod memory;
pub mod missing;
pub mod properties;
pub mod registration;
pub mod streams;

/// `dim3`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Dim3 {
    /// Innermost.
    pub x: u32,
    /// The second.
    pub y: u32,
    /// Outermost.
    pub z: u32,
}

impl Dim3 {
    /// As an array.
    pub fn get(self) -> [u32; 3] {
        [self.x, self.y, self.z]
    }
}

/// Acts on the device, and returns what C gets.
fn call(act: impl FnOnce(&mut Device) -> Result<()>) -> i32 {
    device::with(|device| {
        let result = act(device);
        device.returns(result)
    })
}

/// Stores a result where the program wants it.
///
/// # Safety
/// `to` is null, or a `T` can be written there.
unsafe fn put<T>(to: *mut T, value: T) -> Result<()> {
    if to.is_null() {
        return Err(Code::INVALID_VALUE);
    }
    // SAFETY: it is not null, and the caller says so of all else.
    unsafe { to.write_unaligned(value) };
    Ok(())
}

/// A text of the program.
///
/// # Safety
/// `text` is null or a text of C.
unsafe fn text(text: *const std::ffi::c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: it is not null, and the caller says so of all else.
    unsafe { std::ffi::CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

/// Entry points; the name in `also` is the same with the default stream of the thread, which is the same here.
macro_rules! entries {
    (@one $name:ident ($($argument:ident: $of:ty),* $(,)?) $body:block) => {
        #[doc = concat!("`", stringify!($name), "`")]
        ///
        /// # Safety
        /// What CUDA's manual asks of its caller.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $of),*) -> i32 $body
    };
    (@alias $alias:ident $name:ident ($($argument:ident: $of:ty),* $(,)?)) => {
        #[doc = concat!("`", stringify!($alias), "`")]
        ///
        /// # Safety
        /// What CUDA's manual asks of its caller.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $alias($($argument: $of),*) -> i32 {
            // SAFETY: the same is asked of the caller.
            unsafe { $name($($argument),*) }
        }
    };
    ($($(#[also($alias:ident)])? $name:ident $arguments:tt $body:block)*) => {
        $(
            $crate::abi::entries! { @one $name $arguments $body }
            $($crate::abi::entries! { @alias $alias $name $arguments })?
        )*
    };
}
pub(crate) use entries;
