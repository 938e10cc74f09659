//! What `#[baton::kernel]` expands to, on either side.

use crate::layout::Layout;
use crate::require;
use crate::token::{Cta, RootToken};

/// The library that the macros name through `$crate`: `::core` may be another crate where they are used.
pub use ::core;

mod sealed {
    pub trait Sealed {}
}

/// What the root token of a kernel says of its launches: a function that takes the token, whatever its lifetime.
#[diagnostic::on_unimplemented(
    message = "the first parameter of a kernel is the token of its threads",
    label = "not `fn(Cta<'_, …>)`",
    note = "rule F1: a kernel begins as all threads of a CTA: `cta: Cta<'_, Smem, 128>`, with the layout of its shared memory \
            (`NoShared` if it has none) and the number of threads"
)]
pub trait Launched: sealed::Sealed {
    /// The layout of the CTA's shared memory.
    type Layout: Layout;
    /// Threads of the CTA.
    const THREADS: u32;
}

impl<L, const THREADS: u32> sealed::Sealed for for<'k> fn(Cta<'k, L, THREADS>) {}
impl<L: Layout, const THREADS: u32> Launched for for<'k> fn(Cta<'k, L, THREADS>) {
    type Layout = L;
    const THREADS: u32 = <Cta<'static, L, THREADS> as RootToken<'static>>::THREADS;
}

/// `T`, in an alias that has the parameters `G` whether `T` needs them or not.
pub trait With<G: ?Sized> {
    /// The same type.
    type Itself: ?Sized;
}

impl<T: ?Sized, G: ?Sized> With<G> for T {
    type Itself = T;
}

/// Bytes of dynamic shared memory that the kernel is launched with.
pub const fn bytes<R: Launched>() -> u32 {
    crate::layout::launch_bytes::<R::Layout>()
}

/// CTAs along y and z of a cluster with this many along x: none, where a kernel is not launched in clusters.
pub const fn one_if_any(cluster: u32) -> u32 {
    if cluster == 0 { 0 } else { 1 }
}

/// What the entry says of the parameter `name` of this type, for a launch to compare.
pub const fn signature<P: crate::global::ReceiveParam>(name: &str) -> [u64; 3] {
    P::SIGNATURE.named(name)
}

/// Fails the compilation when the parameters of a kernel, or the fields of a layout, are not numbered one after the other.
pub const fn in_order<const N: usize>(indices: [usize; N]) {
    let mut i = 0;
    while i < N {
        require(
            indices[i] == i,
            "rule G6: a parameter or a field has another number than its place: leave the numbers to `#[baton::kernel]` and `shared!`",
        );
        i += 1;
    }
}

/// The threads of the attribute; fails the compilation when the root token or its layout disagrees with the attribute.
#[track_caller]
pub const fn agreed<R: Launched>(threads: u32, cluster: u32) -> u32 {
    same_threads(threads, R::THREADS);
    same_cluster::<R::Layout>(cluster);
    threads
}

#[track_caller]
const fn same_threads(attribute: u32, token: u32) {
    require(
        attribute == token,
        "rule F1: `threads = …` in `#[baton::kernel]` and the number in the type of the root token `Cta` differ: write the same \
         in both",
    );
}

#[track_caller]
const fn same_cluster<L: Layout>(attribute: u32) {
    require(
        !L::PAIR || (attribute != 0 && attribute % 2 == 0),
        "rule D10: tensor memory of a pair is that of two CTAs of a cluster (`cta_group::2`), and the kernel is not launched \
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

/// One entry point of a kernel, and what the host calls: the same names, types and numbers make both.
///
/// This is the host's half: a function of the kernel's name that takes the arguments and returns the call, and the kernel
/// itself as a static, so that its types are checked and its constants evaluated.
///
/// The types stand where the author's function stood, in no module and in no scope with names of this macro, so that they mean
/// the same in both halves. Sound whatever it is given: what stands beside `unsafe` is names, types and numbers, never tokens
/// as they come, and the body is an item.
#[cfg(not(target_arch = "nvptx64"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __baton_kernel {
    (
        $(#[$attribute:meta])*
        $visibility:vis $name:ident = $body:item as $path:path;
        threads $threads:literal, cluster $cluster:literal, min_ctas $min_ctas:literal $(, no_stack $no_stack:literal)?;
        launched $launched:ty;
        $($index:literal $received:ident $host:ident: $ty:ty;)*
    ) => {
        $(#[$attribute])*
        #[allow(clippy::too_many_arguments)]
        $visibility fn $name<'lent>(
            $($host: <$ty as $crate::launch::KernelParam>::Host<'lent>),*
        ) -> $crate::launch::Call<'lent> {
            #[allow(unused_mut)]
            let mut params = $crate::launch::Params::new();
            $(params.pass::<$ty>($crate::macro_support::core::stringify!($host), $host);)*
            // SAFETY: (1) the device's half is made of the same (I27); (2) the call has the lifetime of the borrows that were pushed
            // (I24).
            unsafe {
                $crate::macro_support::call(
                    $crate::macro_support::core::stringify!($name),
                    $threads,
                    $cluster,
                    $min_ctas,
                    $crate::macro_support::bytes::<$launched>(),
                    params,
                )
            }
        }
        const _: () = {
            $crate::macro_support::agreed::<$launched>($threads, $cluster);
            $crate::macro_support::in_order([$($index),*]);
        };
        const _: () = {
            #[used]
            static __BATON_BODY: $crate::__baton_body!($launched; $($ty),*) = {
                $body
                $path
            };
        };
    };
}

/// One entry point of a kernel: the device's half, with the metadata for the builder as comments.
#[cfg(target_arch = "nvptx64")]
#[doc(hidden)]
#[macro_export]
#[allow_internal_unstable(asm_experimental_arch)]
macro_rules! __baton_kernel {
    (
        $(#[$attribute:meta])*
        $visibility:vis $name:ident = $body:item as $path:path;
        threads $threads:literal, cluster $cluster:literal, min_ctas $min_ctas:literal $(, no_stack $no_stack:literal)?;
        launched $launched:ty;
        $($index:literal $received:ident $host:ident: $ty:ty;)*
    ) => {
        $crate::__baton_entry! {
            $(#[$attribute])*
            #[unsafe(no_mangle)]
            $visibility $name($($received: <$ty as $crate::global::ReceiveParam>::Abi),*) {
                const { $crate::macro_support::in_order([$($index),*]) };
                // SAFETY: comments.
                unsafe {
                    $crate::macro_support::core::arch::asm!(
                        $crate::macro_support::core::concat!(
                            "//@baton kernel ", $crate::macro_support::core::stringify!($name),
                            " threads={},1,1 cluster={},{},{} min_ctas={} smem={} no_stack={}"
                        ),
                        $($crate::macro_support::core::concat!(
                            "//@baton param ", $crate::macro_support::core::stringify!($name), " ", $index,
                            " align={} signature={},{},{}"
                        ),)*
                        const $crate::macro_support::agreed::<$launched>($threads, $cluster),
                        const $cluster,
                        const $crate::macro_support::one_if_any($cluster),
                        const $crate::macro_support::one_if_any($cluster),
                        const $min_ctas,
                        const $crate::macro_support::bytes::<$launched>(),
                        const 0 $(+ $no_stack)?,
                        $(
                            const <$ty as $crate::global::ReceiveParam>::ALIGN,
                            const $crate::macro_support::signature::<$ty>($crate::macro_support::core::stringify!($host))[0],
                            const $crate::macro_support::signature::<$ty>($crate::macro_support::core::stringify!($host))[1],
                            const $crate::macro_support::signature::<$ty>($crate::macro_support::core::stringify!($host))[2],
                        )*
                        options(nomem, nostack, preserves_flags)
                    );
                }
                let body: $crate::__baton_body!($launched; $($ty),*) = {
                    $body
                    $path
                };
                $(
                    // SAFETY: the parameter of this entry that stands in its place, in the order of the declaration (I27).
                    let $received: $ty = unsafe {
                        $crate::global::ReceiveParam::receive(
                            $received,
                            || $crate::__baton_param_address!($name $index),
                        )
                    };
                )*
                // SAFETY: the entry of the kernel, launched as its metadata says (I27); this is executed once in each thread (I1),
                // and `body` is a function for any lifetime, so that of the token is nothing else's (I3).
                let root = unsafe { $crate::token::RootToken::root() };
                let _ = body(root, $($received),*);
                if const { false $(|| <$ty as $crate::global::ReceiveParam>::DEPENDENT)* } {
                    $crate::previous::complete_in_order();
                }
            }
        }
    };
}

/// The type of a kernel's body, for any lifetime.
#[doc(hidden)]
#[macro_export]
macro_rules! __baton_body {
    ($launched:ty; $($ty:ty),*) => {
        for<'run> fn(
            $crate::token::Cta<
                'run,
                <$launched as $crate::macro_support::Launched>::Layout,
                { <$launched as $crate::macro_support::Launched>::THREADS },
            >,
            $($ty),*
        ) -> $crate::token::Exit<'run>
    };
}

/// An entry point, `unsafe` because it makes a token of all threads. Who calls this macro writes the `unsafe` of the attribute.
#[cfg(all(target_arch = "nvptx64", not(feature = "rust-cuda")))]
#[doc(hidden)]
#[macro_export]
#[allow_internal_unstable(abi_ptx)]
macro_rules! __baton_entry {
    ($(#[$attribute:meta])* $visibility:vis $name:ident($($received:ident: $ty:ty),*) $body:block) => {
        $(#[$attribute])*
        #[allow(clippy::too_many_arguments)]
        $visibility unsafe extern "ptx-kernel" fn $name($($received: $ty),*) $body
    };
}

/// An entry point, as Rust-CUDA's compiler knows it: by an attribute of its tool, which its builder registers.
#[cfg(all(target_arch = "nvptx64", feature = "rust-cuda"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __baton_entry {
    ($(#[$attribute:meta])* $visibility:vis $name:ident($($received:ident: $ty:ty),*) $body:block) => {
        $(#[$attribute])*
        #[nvvm_internal::kernel]
        #[allow(clippy::too_many_arguments)]
        $visibility unsafe extern "C" fn $name($($received: $ty),*) $body
    };
}

/// The generic address of a kernel parameter; unsafe, as all assembly.
#[cfg(target_arch = "nvptx64")]
#[doc(hidden)]
#[macro_export]
#[allow_internal_unstable(asm_experimental_arch)]
macro_rules! __baton_param_address {
    ($name:ident $index:literal) => {{
        let address: $crate::macro_support::core::primitive::u64;
        // The parameter's address is a constant of the launch.
        $crate::macro_support::core::arch::asm!(
            $crate::macro_support::core::concat!(
                "{{ .reg .b64 at; mov.b64 at, ", $crate::macro_support::core::stringify!($name), "_param_", $index,
                "; cvta.param.u64 {}, at; }}"
            ),
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
