//! What `#[baton::kernel]` expands to, on either side.

use crate::layout::Layout;
use crate::require;

/// Fails the compilation when the attribute and the root token disagree.
#[track_caller]
pub const fn same_threads(attribute: u32, token: u32) {
    require(
        attribute == token,
        "rule F1: `threads = …` in `#[baton::kernel]` and the number in the type of the root token `Cta` differ: write the same \
         in both",
    );
}

/// Fails the compilation when the attribute and the layout `L` disagree.
#[track_caller]
pub const fn same_cluster<L: Layout>(attribute: u32) {
    require(
        !L::PAIR || attribute == 2,
        "rule D10: tensor memory of a pair is that of the two CTAs of a cluster (`cta_group::2`), and the kernel is not launched \
         in clusters \
         of two: write `cluster = 2` in `#[baton::kernel]`",
    );
    require(
        L::CLUSTER == 0 || attribute == L::CLUSTER,
        "rule F3: a field of the layout spans a cluster, and the kernel is not launched in clusters of that many CTAs: write \
         `cluster = …` in \
         `#[baton::kernel]`",
    );
    // A kernel without `cluster` has clusters of one CTA.
    let ctas = if attribute == 0 { 1 } else { attribute };
    require(
        L::ASKS == 0 || ctas == L::ASKS,
        "rule F8: an answer to `clusterlaunchcontrol.try_cancel` is the work of a whole cluster, so one CTA of the cluster asks, \
         for all: declare `Takeover<DEPTH, FOLLOWERS, N>` in a kernel with `cluster = N`",
    );
}

/// The host's call of a kernel; see `#[baton::kernel]`.
///
/// # Safety
/// 1. The kernel `kernel` was built with this shape, and its parameters are `params`.
/// 2. What `params` borrows lives for `'a`.
#[cfg(not(target_arch = "nvptx64"))]
#[doc(hidden)]
pub unsafe fn call<'a>(
    kernel: &'static str,
    threads: u32,
    cluster: u32,
    min_ctas: u32,
    dynamic_shared: u32,
    params: crate::launch::Params,
) -> crate::launch::Call<'a> {
    let shape = crate::launch::Shape {
        threads: [threads, 1, 1],
        cluster: if cluster == 0 { None } else { Some([cluster, 1, 1]) },
        min_ctas,
        dynamic_shared,
    };
    // SAFETY: the caller's promises.
    unsafe { crate::launch::Call::new(kernel, shape, params) }
}

/// A line of metadata in the PTX, for the builder.
#[cfg(target_arch = "nvptx64")]
#[doc(hidden)]
#[macro_export]
#[allow_internal_unstable(asm_experimental_arch)]
macro_rules! __baton_comment {
    ($text:literal $(, $value:expr)*) => {
        ::core::arch::global_asm!($text $(, const $value)*);
    };
}

/// An entry point.
#[cfg(all(target_arch = "nvptx64", not(feature = "rust-cuda")))]
#[doc(hidden)]
#[macro_export]
#[allow_internal_unstable(abi_ptx)]
macro_rules! __baton_entry {
    ($name:ident($($param:ident: $ty:ty),*) $body:block) => {
        #[unsafe(no_mangle)]
        pub unsafe extern "ptx-kernel" fn $name($($param: $ty),*) {
            // A safe function of its own, so that what is unsafe in the body says so.
            #[inline(always)]
            fn entered($($param: $ty),*) $body
            entered($($param),*)
        }
    };
}

/// An entry point, as Rust-CUDA's compiler knows it: by an attribute of its tool, which its builder registers.
#[cfg(all(target_arch = "nvptx64", feature = "rust-cuda"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __baton_entry {
    ($name:ident($($param:ident: $ty:ty),*) $body:block) => {
        #[unsafe(no_mangle)]
        #[nvvm_internal::kernel]
        pub unsafe extern "C" fn $name($($param: $ty),*) {
            #[inline(always)]
            fn entered($($param: $ty),*) $body
            entered($($param),*)
        }
    };
}

/// The generic address of a kernel parameter.
#[cfg(target_arch = "nvptx64")]
#[doc(hidden)]
#[macro_export]
#[allow_internal_unstable(asm_experimental_arch)]
macro_rules! __baton_param_address {
    ($symbol:literal) => {{
        let address: u64;
        // The parameter's address is a constant of the launch.
        ::core::arch::asm!(
            ::core::concat!("{{ .reg .b64 at; mov.b64 at, ", $symbol, "; cvta.param.u64 {}, at; }}"),
            out(reg64) address,
            options(pure, nomem, nostack)
        );
        address
    }};
}

/// A panic ends the grid with an error at the host's next call.
#[cfg(all(target_arch = "nvptx64", not(feature = "rust-cuda")))]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    crate::ptx::control::trap()
}
