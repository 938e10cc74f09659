//! The instructions: one function for one PTX form, named after it.
//!
//! A module is a family of the ISA, a function is a mnemonic, and its qualifiers are type parameters
//! over sealed traits ([`scope`](crate::scope), [`sem`](crate::sem), [`addr`]), so that a form that
//! PTX does not have is a form that Rust does not have. Nothing here keeps a protocol: that is what
//! the layer above is for, and kernels should rarely need this one.
//!
//! Each function says which PTX it emits, from which ISA version and target on, which section of the
//! ISA describes it, and which of the project's rules (A1 to F7) its misuse can break. Functions that
//! cannot break memory safety by themselves (fences, special registers) are safe.
//!
//! # What the assembly promises the compiler
//! - Whatever orders memory carries no `nomem`, `readonly` or `pure`: for LLVM it reads and writes
//!   all memory, so that no access moves across it.
//! - Per-thread constants and arithmetic are `pure, nomem`; weak loads are `pure, readonly`.
//! - Collectives (everything that threads must execute together) are never `pure`. Right before each
//!   stands `anchor`, which keeps LLVM from cloning it into two arms of a branch, and in its text the
//!   line `//@baton collective …`, by which the builder checks in the PTX that this held.
//! - Where a product of `wgmma` is handed to the instructions, and where a wait gives it back, `//@baton handed …` and
//!   `//@baton settled …` name its registers: the builder checks that the one leads to the other on every way.
//!
//! # Qualifiers
//! What a function says of its ISA version and target goes for the form as such. Wherever they stand,
//! these need more: `.shared::cta`: PTX 7.8. `.shared::cluster`: PTX 7.8, sm_90. `.cluster`: PTX 7.8,
//! sm_90. Below sm_90 there is no `fence.acquire` and no `fence.release`; `fence.acq_rel` serves.
//!
//! All forms, by mnemonic, are listed in [`forms`]. Those of [`cached`], [`tcgen05_mma_full`] and [`vector`], and
//! of [`wgmma`] the odd multiples of 8 beyond N = 128, are compiled for the device with the feature `every-form`
//! only: they are many, and rarely needed.
//!
//! Off the `nvptx64` target the functions type-check and panic when called.

// On other targets the bodies are gone, and with them every use of the arguments.
#![cfg_attr(not(target_arch = "nvptx64"), allow(unused))]

/// What a function does on the device. On other targets the body is gone and the call diverges.
///
/// The body runs in an `unsafe` block: it is assembly whose obligations the caller of the enclosing
/// function has taken over.
#[cfg(target_arch = "nvptx64")]
macro_rules! device {
    ($($body:tt)*) => {{
        #[allow(unused_imports)]
        use core::arch::asm;
        // SAFETY: the assembly is the documented instruction, its options are the truth about its
        // effects (I28), and the obligations are those of the enclosing function, met by its caller.
        #[allow(unused_unsafe)]
        unsafe { $($body)* }
    }};
}
#[cfg(not(target_arch = "nvptx64"))]
macro_rules! device {
    ($($body:tt)*) => {
        $crate::ptx::off_device()
    };
}

/// Picks an instruction's text by the qualifier types of a generic function.
///
/// `select!(emit [] scope S, space Sp)` expands to a `match` on each qualifier in turn, whose arms
/// call the macro `emit!` with the literals chosen: `emit!(".gpu" (".global" reg64 u64))`. The
/// matches are over integers in `const` blocks: rustc leaves out the other arms of those before it
/// generates code, where arms by the hundred, each a block of assembly, would cost a second.
#[cfg(target_arch = "nvptx64")]
macro_rules! select {
    ($emit:ident [$($done:tt)*]) => { $emit!($($done)*) };
    ($emit:ident [$($done:tt)*] , $($rest:tt)+) => { select!($emit [$($done)*] $($rest)+) };

    ($emit:ident [$($done:tt)*] scope $S:ident $($rest:tt)*) => {
        match const { <$S as $crate::scope::Scope>::LEVEL as u8 } {
            $crate::ptx::code::LEVEL_CTA => select!($emit [$($done)* ".cta"] $($rest)*),
            $crate::ptx::code::LEVEL_CLUSTER => select!($emit [$($done)* ".cluster"] $($rest)*),
            $crate::ptx::code::LEVEL_GPU => select!($emit [$($done)* ".gpu"] $($rest)*),
            $crate::ptx::code::LEVEL_SYS => select!($emit [$($done)* ".sys"] $($rest)*),
            // There are no others.
            _ => core::hint::unreachable_unchecked(),
        }
    };
    ($emit:ident [$($done:tt)*] within_cluster $S:ident $($rest:tt)*) => {
        match const { <$S as $crate::scope::Scope>::LEVEL as u8 } {
            $crate::ptx::code::LEVEL_CTA => select!($emit [$($done)* ".cta"] $($rest)*),
            $crate::ptx::code::LEVEL_CLUSTER => select!($emit [$($done)* ".cluster"] $($rest)*),
            // No type with this level implements `WithinCluster`.
            _ => core::hint::unreachable_unchecked(),
        }
    };

    ($emit:ident [$($done:tt)*] load_sem $M:ident $($rest:tt)*) => {
        match const { <$M as $crate::sem::Sem>::ORDER as u8 } {
            $crate::ptx::code::ORDER_RELAXED => select!($emit [$($done)* ".relaxed"] $($rest)*),
            $crate::ptx::code::ORDER_ACQUIRE => select!($emit [$($done)* ".acquire"] $($rest)*),
            // No other ordering implements `LoadSem` or `WaitSem`.
            _ => core::hint::unreachable_unchecked(),
        }
    };
    ($emit:ident [$($done:tt)*] store_sem $M:ident $($rest:tt)*) => {
        match const { <$M as $crate::sem::Sem>::ORDER as u8 } {
            $crate::ptx::code::ORDER_RELAXED => select!($emit [$($done)* ".relaxed"] $($rest)*),
            $crate::ptx::code::ORDER_RELEASE => select!($emit [$($done)* ".release"] $($rest)*),
            // No other ordering implements `StoreSem`, `RedSem` or `ArriveSem`.
            _ => core::hint::unreachable_unchecked(),
        }
    };
    ($emit:ident [$($done:tt)*] atom_sem $M:ident $($rest:tt)*) => {
        match const { <$M as $crate::sem::Sem>::ORDER as u8 } {
            $crate::ptx::code::ORDER_RELAXED => select!($emit [$($done)* ".relaxed"] $($rest)*),
            $crate::ptx::code::ORDER_ACQUIRE => select!($emit [$($done)* ".acquire"] $($rest)*),
            $crate::ptx::code::ORDER_RELEASE => select!($emit [$($done)* ".release"] $($rest)*),
            $crate::ptx::code::ORDER_ACQ_REL => select!($emit [$($done)* ".acq_rel"] $($rest)*),
            // No other ordering implements `AtomSem`.
            _ => core::hint::unreachable_unchecked(),
        }
    };
    ($emit:ident [$($done:tt)*] fence_sem $M:ident $($rest:tt)*) => {
        match const { <$M as $crate::sem::Sem>::ORDER as u8 } {
            $crate::ptx::code::ORDER_ACQUIRE => select!($emit [$($done)* ".acquire"] $($rest)*),
            $crate::ptx::code::ORDER_RELEASE => select!($emit [$($done)* ".release"] $($rest)*),
            $crate::ptx::code::ORDER_ACQ_REL => select!($emit [$($done)* ".acq_rel"] $($rest)*),
            $crate::ptx::code::ORDER_SC => select!($emit [$($done)* ".sc"] $($rest)*),
            // No other ordering implements `FenceSem`.
            _ => core::hint::unreachable_unchecked(),
        }
    };

    ($emit:ident [$($done:tt)*] memory $Sp:ident $($rest:tt)*) => {
        match const { <$Sp as $crate::ptx::addr::Space>::KIND as u8 } {
            $crate::ptx::code::SPACE_GLOBAL =>
                select!($emit [$($done)* (".global" reg64 u64)] $($rest)*),
            $crate::ptx::code::SPACE_SHARED_CTA =>
                select!($emit [$($done)* (".shared::cta" reg32 u32)] $($rest)*),
            $crate::ptx::code::SPACE_SHARED_CLUSTER =>
                select!($emit [$($done)* (".shared::cluster" reg32 u32)] $($rest)*),
            // No other space implements `Memory`.
            _ => core::hint::unreachable_unchecked(),
        }
    };
    ($emit:ident [$($done:tt)*] reached $Sp:ident $($rest:tt)*) => {
        match const { <$Sp as $crate::ptx::addr::Space>::KIND as u8 } {
            $crate::ptx::code::SPACE_GENERIC => select!($emit [$($done)* ("" reg64 u64)] $($rest)*),
            _ => select!($emit [$($done)*] memory $Sp $($rest)*),
        }
    };
    ($emit:ident [$($done:tt)*] stored $Sp:ident $($rest:tt)*) => {
        match const { <$Sp as $crate::ptx::addr::Space>::KIND as u8 } {
            $crate::ptx::code::SPACE_LOCAL => select!($emit [$($done)* (".local" reg64 u64)] $($rest)*),
            _ => select!($emit [$($done)*] reached $Sp $($rest)*),
        }
    };
    ($emit:ident [$($done:tt)*] loaded $Sp:ident $($rest:tt)*) => {
        match const { <$Sp as $crate::ptx::addr::Space>::KIND as u8 } {
            $crate::ptx::code::SPACE_CONST => select!($emit [$($done)* (".const" reg64 u64)] $($rest)*),
            _ => select!($emit [$($done)*] stored $Sp $($rest)*),
        }
    };
    ($emit:ident [$($done:tt)*] shared $Sp:ident $($rest:tt)*) => {
        match const { <$Sp as $crate::ptx::addr::Space>::KIND as u8 } {
            $crate::ptx::code::SPACE_SHARED_CTA =>
                select!($emit [$($done)* ".shared::cta"] $($rest)*),
            $crate::ptx::code::SPACE_SHARED_CLUSTER =>
                select!($emit [$($done)* ".shared::cluster"] $($rest)*),
            // No other space implements `Shared`.
            _ => core::hint::unreachable_unchecked(),
        }
    };

    ($emit:ident [$($done:tt)*] word $T:ident $($rest:tt)*) => {
        match const { <$T as $crate::ptx::word::Word>::BYTES } {
            1 => select!($emit [$($done)* (".b8" reg16 u16)] $($rest)*),
            2 => select!($emit [$($done)* (".b16" reg16 u16)] $($rest)*),
            4 => select!($emit [$($done)* (".b32" reg32 u32)] $($rest)*),
            8 => select!($emit [$($done)* (".b64" reg64 u64)] $($rest)*),
            // `Word` is sealed over these sizes.
            _ => core::hint::unreachable_unchecked(),
        }
    };

    ($emit:ident [$($done:tt)*] add_number $T:ident $($rest:tt)*) => {
        match const { <$T as $crate::ptx::atom::Add>::NUMBER as u8 } {
            $crate::ptx::code::NUMBER_U32 => select!($emit [$($done)* (".u32" reg32 u32)] $($rest)*),
            $crate::ptx::code::NUMBER_S32 => select!($emit [$($done)* (".s32" reg32 u32)] $($rest)*),
            // Addition modulo 2⁶⁴ is the same for both; PTX has it as `.u64`.
            $crate::ptx::code::NUMBER_U64 | $crate::ptx::code::NUMBER_S64 =>
                select!($emit [$($done)* (".u64" reg64 u64)] $($rest)*),
            $crate::ptx::code::NUMBER_F32 => select!($emit [$($done)* (".f32" reg32 u32)] $($rest)*),
            $crate::ptx::code::NUMBER_F64 => select!($emit [$($done)* (".f64" reg64 u64)] $($rest)*),
            $crate::ptx::code::NUMBER_F16 => select!($emit [$($done)* (".noftz.f16" reg16 u16)] $($rest)*),
            $crate::ptx::code::NUMBER_BF16 => select!($emit [$($done)* (".noftz.bf16" reg16 u16)] $($rest)*),
            $crate::ptx::code::NUMBER_F16X2 =>
                select!($emit [$($done)* (".noftz.f16x2" reg32 u32)] $($rest)*),
            $crate::ptx::code::NUMBER_BF16X2 =>
                select!($emit [$($done)* (".noftz.bf16x2" reg32 u32)] $($rest)*),
            // There are no others.
            _ => core::hint::unreachable_unchecked(),
        }
    };
    ($emit:ident [$($done:tt)*] min_max_number $T:ident $($rest:tt)*) => {
        match const { <$T as $crate::ptx::atom::MinMax>::NUMBER as u8 } {
            $crate::ptx::code::NUMBER_U32 => select!($emit [$($done)* (".u32" reg32 u32)] $($rest)*),
            $crate::ptx::code::NUMBER_S32 => select!($emit [$($done)* (".s32" reg32 u32)] $($rest)*),
            $crate::ptx::code::NUMBER_U64 => select!($emit [$($done)* (".u64" reg64 u64)] $($rest)*),
            $crate::ptx::code::NUMBER_S64 => select!($emit [$($done)* (".s64" reg64 u64)] $($rest)*),
            // No float implements `MinMax`.
            _ => core::hint::unreachable_unchecked(),
        }
    };
    ($emit:ident [$($done:tt)*] bits_32_64 $T:ident $($rest:tt)*) => {
        match const { <$T as $crate::ptx::word::Word>::BYTES } {
            4 => select!($emit [$($done)* (".b32" reg32 u32)] $($rest)*),
            8 => select!($emit [$($done)* (".b64" reg64 u64)] $($rest)*),
            // No narrower word implements `Bitwise` or `Exchange`.
            _ => core::hint::unreachable_unchecked(),
        }
    };
    ($emit:ident [$($done:tt)*] bits_16_32_64 $T:ident $($rest:tt)*) => {
        match const { <$T as $crate::ptx::word::Word>::BYTES } {
            2 => select!($emit [$($done)* (".b16" reg16 u16)] $($rest)*),
            4 => select!($emit [$($done)* (".b32" reg32 u32)] $($rest)*),
            8 => select!($emit [$($done)* (".b64" reg64 u64)] $($rest)*),
            // No byte implements `Compare`.
            _ => core::hint::unreachable_unchecked(),
        }
    };

    ($emit:ident [$($done:tt)*] cta_group $G:ident $($rest:tt)*) => {
        match const { <$G as $crate::ptx::tcgen05::CtaGroup>::CTAS } {
            1 => select!($emit [$($done)* ".cta_group::1"] $($rest)*),
            2 => select!($emit [$($done)* ".cta_group::2"] $($rest)*),
            // `CtaGroup` is sealed over these.
            _ => core::hint::unreachable_unchecked(),
        }
    };
    ($emit:ident [$($done:tt)*] mma_kind $K:ident $($rest:tt)*) => {
        match const { <$K as $crate::ptx::tcgen05::MmaKind>::KIND as u8 } {
            $crate::ptx::code::KIND_F16 => select!($emit [$($done)* ".kind::f16"] $($rest)*),
            $crate::ptx::code::KIND_TF32 => select!($emit [$($done)* ".kind::tf32"] $($rest)*),
            $crate::ptx::code::KIND_F8F6F4 => select!($emit [$($done)* ".kind::f8f6f4"] $($rest)*),
            $crate::ptx::code::KIND_I8 => select!($emit [$($done)* ".kind::i8"] $($rest)*),
            // There are no others.
            _ => core::hint::unreachable_unchecked(),
        }
    };
}

pub mod addr;
pub mod async_store;
pub mod atom;
pub mod barrier;
pub mod bulk;
#[cfg(any(feature = "every-form", not(target_arch = "nvptx64")))]
pub mod cached;
pub mod cluster_launch;
pub mod control;
pub mod cp_async;
pub mod fence;
#[doc = include_str!("forms.md")]
pub mod forms {}
pub mod ld;
pub(crate) mod mark;
pub mod matrix;
pub mod mbarrier;
pub mod multimem;
pub mod policy;
pub mod red;
pub mod shared;
pub mod sreg;
pub mod st;
pub mod tcgen05;
pub mod tcgen05_mma;
#[cfg(any(feature = "every-form", not(target_arch = "nvptx64")))]
pub mod tcgen05_mma_full;
pub mod tcgen05_move;
pub mod tensor;
pub mod tensor_full;
pub mod tensormap;
#[cfg(any(feature = "every-form", not(target_arch = "nvptx64")))]
pub mod vector;
pub mod warp;
pub mod wgmma;
pub mod wide;
pub mod word;

/// The qualifiers' enums as the integers that `select!` matches.
#[cfg(target_arch = "nvptx64")]
pub(crate) mod code {
    macro_rules! codes {
        ($($name:ident = $value:path;)*) => { $(pub(crate) const $name: u8 = $value as u8;)* };
    }

    codes! {
        LEVEL_CTA = crate::scope::Level::Cta;
        LEVEL_CLUSTER = crate::scope::Level::Cluster;
        LEVEL_GPU = crate::scope::Level::Gpu;
        LEVEL_SYS = crate::scope::Level::Sys;
        ORDER_RELAXED = crate::sem::Order::Relaxed;
        ORDER_ACQUIRE = crate::sem::Order::Acquire;
        ORDER_RELEASE = crate::sem::Order::Release;
        ORDER_ACQ_REL = crate::sem::Order::AcqRel;
        ORDER_SC = crate::sem::Order::Sc;
        SPACE_GENERIC = crate::ptx::addr::Kind::Generic;
        SPACE_LOCAL = crate::ptx::addr::Kind::Local;
        SPACE_CONST = crate::ptx::addr::Kind::Const;
        SPACE_GLOBAL = crate::ptx::addr::Kind::Global;
        SPACE_SHARED_CTA = crate::ptx::addr::Kind::SharedCta;
        SPACE_SHARED_CLUSTER = crate::ptx::addr::Kind::SharedCluster;
        NUMBER_U32 = crate::ptx::atom::Number::U32;
        NUMBER_S32 = crate::ptx::atom::Number::S32;
        NUMBER_U64 = crate::ptx::atom::Number::U64;
        NUMBER_S64 = crate::ptx::atom::Number::S64;
        NUMBER_F32 = crate::ptx::atom::Number::F32;
        NUMBER_F64 = crate::ptx::atom::Number::F64;
        NUMBER_F16 = crate::ptx::atom::Number::F16;
        NUMBER_BF16 = crate::ptx::atom::Number::Bf16;
        NUMBER_F16X2 = crate::ptx::atom::Number::F16x2;
        NUMBER_BF16X2 = crate::ptx::atom::Number::Bf16x2;
        KIND_F16 = crate::ptx::tcgen05::KindName::F16;
        KIND_TF32 = crate::ptx::tcgen05::KindName::Tf32;
        KIND_F8F6F4 = crate::ptx::tcgen05::KindName::F8f6f4;
        KIND_I8 = crate::ptx::tcgen05::KindName::I8;
    }
}

/// The instructions exist on the device only.
#[cfg(not(target_arch = "nvptx64"))]
#[cold]
pub(crate) fn off_device() -> ! {
    panic!("a PTX instruction was called on the host: it runs on the device only")
}

/// `value`, which the compiler does not know to be a constant: a loop that runs so often stays a loop.
#[inline(always)]
pub(crate) fn opaque(value: u32) -> u32 {
    device! {
        let same;
        asm!("mov.b32 {}, {};", out(reg32) same, in(reg32) value, options(pure, nomem, nostack));
        same
    }
}

/// Keeps the collective that follows it where the source has it.
///
/// rustc does not mark inline assembly convergent, so LLVM may clone a barrier into both arms of a
/// branch, where `.aligned` no longer holds. A call of a convergent intrinsic in the same basic block
/// makes LLVM leave that block whole. It costs nothing: the builder removes it from the finished PTX.
#[cfg(all(target_arch = "nvptx64", not(feature = "rust-cuda")))]
#[inline(always)]
pub(crate) fn anchor() {
    // SAFETY: an LLVM intrinsic with this signature, which only reads the mask of active lanes.
    unsafe extern "C" {
        #[link_name = "llvm.nvvm.activemask"]
        safe fn activemask() -> u32;
    }
    activemask();
}

/// Rust-CUDA's compiler knows no intrinsic of LLVM, and libNVVM left the barriers of the cases that were tried where they were.
#[cfg(all(target_arch = "nvptx64", feature = "rust-cuda"))]
#[inline(always)]
pub(crate) fn anchor() {}
