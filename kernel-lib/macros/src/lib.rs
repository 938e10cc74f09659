//! The macros of baton. Use them through the library: `#[baton::kernel]`, `baton::shared!`, `baton::println!`.

use proc_macro::TokenStream;

mod kernel;
mod print;
mod shared;
mod unroll;

/// Makes a kernel of a function.
///
/// For the GPU the function becomes an entry point; for the host, a function of the same name that takes the
/// kernel's arguments and returns a `baton::launch::Call`, so that wrong or missing arguments do not compile.
///
/// ```text
/// #[baton::kernel(threads = 192, min_ctas = 1)]
/// pub fn gemm(cta: Cta<'_, Smem, 192>, a: TensorMap<A>, k_steps: u32) -> Exit<'_> { … }
/// ```
///
/// - `threads = N`: threads of a CTA, the same number as in the root token's type.
/// - `cluster = N`: CTAs of a cluster along x.
/// - `min_ctas = N`: CTAs that must fit on one multiprocessor (`.minnctapersm`).
/// - `no_stack`: what the compiler keeps in local memory instead of registers, and what ptxas spills, is an error of the build; without it,
///   a warning. Either names the line.
/// - `instances(name = <T, …>, …)`: for a generic kernel, its entry points and their type arguments.
///
/// The kernel's name (an instance's, of a generic kernel) is its symbol in the PTX: one for each crate, in ASCII, and none that the
/// library, the compiler, C or the driver has for itself.
///
/// The first parameter is the root token, the others are scalars, `ReadOnly<T>`, `GlobalPtr<T>` or
/// `TensorMap<Tile>`; the kernel returns the `Exit` of its joined token.
#[proc_macro_attribute]
pub fn kernel(attributes: TokenStream, item: TokenStream) -> TokenStream {
    kernel::expand(attributes.into(), item.into())
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}

/// Declares the shared and tensor memory of a kernel's CTA as a type.
///
/// ```text
/// shared! {
///     /// What the CTA holds.
///     pub struct Smem in smem { ab: Stages<4, AB>, acc: Accs<2, 128, 256>, c: Staging<CTile> }
/// }
/// ```
///
/// makes the layout `Smem`, the module `smem` with a tag type for each field, and `smem::Parts`, which
/// `cta.claim()` returns. Offsets, bytes and columns are computed from the fields' types. At most one field
/// uses tensor memory.
#[proc_macro]
pub fn shared(item: TokenStream) -> TokenStream {
    shared::expand(item.into()).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Prints a line on the device: `println!("x = {} {:x}", a, b)`.
///
/// The format string is Rust's, as far as the device's `vprintf` has it: `{}`, `{name}`, `{0}`, `{:x}`,
/// `{:X}`, `{:o}`, `{:e}`, `{:.3}`, widths, `<`, `>`, `+`, `#` and `0`. Anything else is an error here.
#[proc_macro]
pub fn println(input: TokenStream) -> TokenStream {
    print::expand(input.into(), true).into()
}

/// As [`println!`], without the line's end.
#[proc_macro]
pub fn print(input: TokenStream) -> TokenStream {
    print::expand(input.into(), false).into()
}

/// Writes a loop over constants out: `unroll! { for i in 0..32 { … } }`.
///
/// An array is kept in registers only where every index is a constant. Whether the compiler unrolls a loop is its own decision, by the size
/// of the body; where it does not, the array goes to local memory, which the builder finds. In this macro the index is a constant in each
/// copy, whatever the size.
///
/// The ends are literals, which give as many copies as there are numbers (up to 1024), or constants (also of const generics), for which
/// the range has at most 128 numbers. `break` and `continue` would leave nothing, and are errors.
#[proc_macro]
pub fn unroll(input: TokenStream) -> TokenStream {
    unroll::expand(input.into()).unwrap_or_else(syn::Error::into_compile_error).into()
}
