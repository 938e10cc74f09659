//! Printing and assertions on the device.
//!
//! [`println!`] hands a line to the driver, which shows it when the launch has ended; [`assert!`] stops the
//! kernel and reports message, file and line. Both are the calls that a GPU's driver offers to every
//! kernel (`vprintf`, `__assertfail`), and the emulator offers the same.
//!
//! A line is printed by each thread that executes it. Its format string is Rust's, translated at compile
//! time: `{}`, `{:x}`, `{:X}`, `{:o}`, `{:e}`, `{:.3}`, widths, `<`, `>`, `+`, `#` and `0`. Integers,
//! floats, `bool` and C strings (`c"…"`) can be printed. `{}` of a float shows six significant digits.
//!
//! Printing needs a stack and a call: not for a main loop.

use crate::float::{bf16, f16};
use core::ffi::CStr;
use core::marker::PhantomData;

use crate::require;

#[doc(inline)]
pub use crate::__assert as assert;
pub use baton_macros::{print, println};

/// A part of a format string: what `println!` expands to.
#[doc(hidden)]
#[derive(Clone, Copy)]
pub enum Piece {
    /// C text.
    Text(&'static str),
    /// An argument, with C flags, width and precision.
    Value(&'static str),
}

mod sealed {
    pub trait Sealed {}
}

/// A line to print: what `println!` implements. Sound whatever the pieces are, because [`format`] looks at them.
#[doc(hidden)]
pub trait Line {
    /// The format string.
    const PIECES: &'static [Piece];
}

/// Joins pieces and conversions to a C string that ends in a NUL; `N` bytes are enough, and the rest are NUL too. Each conversion in
/// it is one of `conversions`, in order.
#[doc(hidden)]
pub const fn format<const N: usize>(pieces: &[Piece], conversions: &[&str]) -> [u8; N] {
    let mut line = [0; N];
    let mut at = 0;
    let mut conversion = 0;
    let mut piece = 0;
    while piece < pieces.len() {
        match pieces[piece] {
            Piece::Text(text) => {
                require(
                    is_text(text.as_bytes()),
                    "a `%` in the text of a line begins a conversion",
                );
                at = append(&mut line, at, text);
            }
            Piece::Value(flags) => {
                require(
                    is_flags(flags.as_bytes()),
                    "flags, a width and a precision come before a conversion",
                );
                at = append(&mut line, at, "%");
                at = append(&mut line, at, flags);
                at = append(&mut line, at, conversions[conversion]);
                conversion += 1;
            }
        }
        piece += 1;
    }
    require(at < N, "a line has no place for its NUL");
    line
}

/// Whether C prints this as it is, but for `%%`.
const fn is_text(text: &[u8]) -> bool {
    let mut i = 0;
    while i < text.len() {
        if text[i] == b'%' {
            i += 1;
            if i == text.len() || text[i] != b'%' {
                return false;
            }
        }
        i += 1;
    }
    true
}

/// Whether this is no conversion, and takes no argument (as `*` does).
const fn is_flags(flags: &[u8]) -> bool {
    let mut i = 0;
    while i < flags.len() {
        if !matches!(flags[i], b'-' | b'+' | b'#' | b'.' | b'0'..=b'9') {
            return false;
        }
        i += 1;
    }
    true
}

const fn append(line: &mut [u8], at: usize, text: &str) -> usize {
    let text = text.as_bytes();
    let mut i = 0;
    while i < text.len() {
        line[at + i] = text[i];
        i += 1;
    }
    at + text.len()
}

/// A C conversion as a type.
#[doc(hidden)]
pub trait Conversion: sealed::Sealed {
    const TEXT: &'static str;
}

macro_rules! conversions {
    ($($name:ident $text:literal)*) => {$(
        #[doc(hidden)]
        pub struct $name;
        impl sealed::Sealed for $name {}
        impl Conversion for $name {
            const TEXT: &'static str = $text;
        }
    )*};
}
conversions! {
    Signed "lld" Unsigned "llu" Text "s" Shortest "g" Fixed "f" Scientific "e" LowerHex "llx" UpperHex "llX" Octal "llo"
}

/// An argument: eight bytes, and how they are read.
#[doc(hidden)]
pub struct Slot<C>(u64, PhantomData<C>);

/// A type that `{}` prints on the device.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be printed on the device",
    label = "expected an integer, a float, `bool` or a C string (`c\"…\"`)",
    note = "the device prints through C's vprintf: a `&str` has no terminating NUL, and `Display` is too large for a kernel"
)]
pub trait Show: Copy + sealed::Sealed {
    #[doc(hidden)]
    type Conversion: Conversion;
    #[doc(hidden)]
    fn bits(self) -> u64;
}

/// A type that `{:x}`, `{:X}` and `{:o}` print: an integer.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an integer, and `{{:x}}`, `{{:X}}` and `{{:o}}` print integers",
    label = "for a float, print its `to_bits()`"
)]
pub trait Integer: Copy + sealed::Sealed {
    #[doc(hidden)]
    fn pattern(self) -> u64;
}

/// A type that `{:.3}` and `{:e}` print: a float.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a float, and a precision or `{{:e}}` needs one",
    label = "expected `f32`, `f64`, `f16` or `bf16`"
)]
pub trait Float: Copy + sealed::Sealed {
    #[doc(hidden)]
    fn double(self) -> f64;
}

macro_rules! integers {
    ($conversion:ident as $wide:ident: $($ty:ident by $pattern:ident)*) => {$(
        impl sealed::Sealed for $ty {}
        impl Show for $ty {
            type Conversion = $conversion;
            #[inline(always)]
            fn bits(self) -> u64 {
                self as $wide as u64
            }
        }
        impl Integer for $ty {
            #[inline(always)]
            fn pattern(self) -> u64 {
                self as $pattern as u64
            }
        }
    )*};
}
integers!(Signed as i64: i8 by u8 i16 by u16 i32 by u32 i64 by u64 isize by usize);
integers!(Unsigned as u64: u8 by u8 u16 by u16 u32 by u32 u64 by u64 usize by usize);

macro_rules! floats {
    ($($ty:ty, $double:expr;)*) => {$(
        impl sealed::Sealed for $ty {}
        impl Show for $ty {
            type Conversion = Shortest;
            #[inline(always)]
            fn bits(self) -> u64 {
                self.double().to_bits()
            }
        }
        impl Float for $ty {
            #[inline(always)]
            fn double(self) -> f64 {
                let double: fn($ty) -> f64 = $double;
                double(self)
            }
        }
    )*};
}
floats! {
    f32, |v| f64::from(v);
    f64, |v| v;
    f16, |v| f64::from(v.to_f32());
    bf16, |v| f64::from(v.to_f32());
}

impl sealed::Sealed for bool {}
impl Show for bool {
    type Conversion = Text;
    #[inline(always)]
    fn bits(self) -> u64 {
        if self { c"true".bits() } else { c"false".bits() }
    }
}

impl sealed::Sealed for &'static CStr {}
impl Show for &'static CStr {
    type Conversion = Text;
    #[inline(always)]
    fn bits(self) -> u64 {
        self.as_ptr() as u64
    }
}

macro_rules! styles {
    ($($name:ident($bound:ident -> $conversion:ty) = $bits:expr;)*) => {$(
        #[doc(hidden)]
        #[inline(always)]
        pub fn $name<T: $bound>(value: T) -> Slot<$conversion> {
            let bits: fn(T) -> u64 = $bits;
            Slot(bits(value), PhantomData)
        }
    )*};
}
styles! {
    display(Show -> T::Conversion) = T::bits;
    fixed(Float -> Fixed) = |value| value.double().to_bits();
    scientific(Float -> Scientific) = |value| value.double().to_bits();
    lower_hex(Integer -> LowerHex) = T::pattern;
    upper_hex(Integer -> UpperHex) = T::pattern;
    octal(Integer -> Octal) = T::pattern;
}

/// The arguments of a line, in order: a tuple of slots.
#[doc(hidden)]
pub trait Arguments: sealed::Sealed {
    const CONVERSIONS: &'static [&'static str];
    type Packed;
    fn pack(self) -> Self::Packed;
}

macro_rules! tuples {
    ($($count:literal: $($ty:ident)*;)*) => {$(
        impl<$($ty: Conversion),*> sealed::Sealed for ($(Slot<$ty>,)*) {}
        impl<$($ty: Conversion),*> Arguments for ($(Slot<$ty>,)*) {
            const CONVERSIONS: &'static [&'static str] = &[$($ty::TEXT),*];
            type Packed = [u64; $count];
            #[inline(always)]
            #[allow(non_snake_case)]
            fn pack(self) -> [u64; $count] {
                let ($($ty,)*) = self;
                [$($ty.0),*]
            }
        }
    )*};
}
tuples! {
    0: ;
    1: A;
    2: A B;
    3: A B C;
    4: A B C D;
    5: A B C D E;
    6: A B C D E F;
    7: A B C D E F G;
    8: A B C D E F G H;
    9: A B C D E F G H I;
    10: A B C D E F G H I J;
    11: A B C D E F G H I J K;
    12: A B C D E F G H I J K L;
}

/// Prints a line: what `println!` calls.
#[doc(hidden)]
#[inline(always)]
pub fn print_line<L: Line, A: Arguments, const BYTES: usize>(arguments: A) {
    let format: &'static [u8; BYTES] = const { &format::<BYTES>(L::PIECES, A::CONVERSIONS) };
    let packed = arguments.pack();
    #[cfg(target_arch = "nvptx64")]
    {
        unsafe extern "C" {
            fn vprintf(format: *const u8, arguments: *const core::ffi::c_void) -> i32;
        }
        // SAFETY: `format` ends in a NUL, and each of its conversions reads eight bytes of `packed`, in
        // order, as the value that was put there.
        unsafe {
            vprintf(format.as_ptr(), (&raw const packed).cast());
        }
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        let _ = (format, packed);
        crate::ptx::off_device()
    }
}

/// Reports a failed assertion and stops the kernel: what `assert!` calls. The strings end in a NUL.
#[doc(hidden)]
#[inline(always)]
pub fn fail(message: &'static CStr, file: &'static CStr, line: u32, function: &'static CStr) -> ! {
    #[cfg(target_arch = "nvptx64")]
    {
        use core::ffi::c_char;
        unsafe extern "C" {
            fn __assertfail(
                message: *const c_char,
                file: *const c_char,
                line: u32,
                function: *const c_char,
                char_size: usize,
            ) -> !;
        }
        // SAFETY: three C strings of characters of one byte.
        unsafe { __assertfail(message.as_ptr(), file.as_ptr(), line, function.as_ptr(), 1) }
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        let _ = (message, file, line, function);
        crate::ptx::off_device()
    }
}

/// The C string of a literal that the macro ended with a NUL.
#[doc(hidden)]
pub const fn c_string(text: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(text.as_bytes()) {
        Ok(text) => text,
        Err(_) => panic!("the message of an assertion cannot contain a NUL"),
    }
}

/// Stops the kernel with a message unless a condition holds: `assert!(condition)` or
/// `assert!(condition, "message")`, in a kernel.
///
/// Driver and emulator report the message, the file, the line, the block and the thread.
#[doc(hidden)]
#[macro_export]
macro_rules! __assert {
    (@ $condition:expr, $message:expr) => {
        if $condition {
        } else {
            $crate::print::fail(
                const { $crate::print::c_string($message) },
                const {
                    $crate::print::c_string($crate::macro_support::core::concat!(
                        $crate::macro_support::core::file!(), "\0"
                    ))
                },
                $crate::macro_support::core::line!(),
                const {
                    $crate::print::c_string($crate::macro_support::core::concat!(
                        $crate::macro_support::core::module_path!(), "\0"
                    ))
                },
            )
        }
    };
    ($condition:expr $(,)?) => {
        $crate::__assert!(@ $condition, $crate::macro_support::core::concat!(
            "assertion failed: ", $crate::macro_support::core::stringify!($condition), "\0"
        ))
    };
    ($condition:expr, $message:literal $(,)?) => {
        $crate::__assert!(@ $condition, $crate::macro_support::core::concat!($message, "\0"))
    };
}
