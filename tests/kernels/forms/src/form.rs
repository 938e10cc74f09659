//! One call of an instruction, between comments that tell a reader of the PTX which one it is.
//!
//! `forms!(ld::ld<M: (Relaxed Acquire), S: scopes>(addr: Addr<Global>))` calls the function once for
//! each combination of the types listed. Around each call it leaves, in blocks of inline assembly of
//! their own,
//!
//! ```text
//! //@form ld ld | M=Relaxed, S=Cta, | addr 1
//! //@arg %rd1
//! ```
//!
//! then the instruction, then `//@result %r1`. Behind an argument's name stands how many registers it has;
//! their names follow in order.

use core::arch::asm;

use baton::float::{bf16, bf16x2, f16, f16x2};
use baton::ptx::addr::{Addr, Space};
use baton::ptx::cluster_launch::Response;
use baton::ptx::mbarrier::State;
use baton::ptx::multimem::Multimem;
use baton::ptx::policy::{NoHint, Policy};
use baton::ptx::tcgen05_mma_full::Shifted;
use baton::ptx::tensor::{Coordinates, Im2col};
use baton::ptx::tensor_full::{
    Gather4, Multicast, One, Pixels, Scatter4, Tile, Wide, Wide128, Window,
};

/// A value that a register holds, or several.
pub trait Operand: Sized {
    /// How many registers that are.
    const REGISTERS: usize = 1;
    /// Some value, in registers that nothing else has.
    fn fresh() -> Self;
    /// Names the registers that the value is in.
    fn sink(self);
}

macro_rules! registers {
    ($($ty:ty: $class:ident $bits:ident, $from:expr, $to:expr;)*) => {$(
        impl Operand for $ty {
            #[inline(always)]
            fn fresh() -> $ty {
                let bits: $bits;
                // SAFETY: a comment. Whatever the register holds is a value.
                unsafe { asm!("//@arg {}", out($class) bits, options(nostack)) };
                let from: fn($bits) -> $ty = $from;
                from(bits)
            }
            #[inline(always)]
            fn sink(self) {
                let to: fn($ty) -> $bits = $to;
                // SAFETY: a comment.
                unsafe { asm!("//@result {}", in($class) to(self), options(nostack)) };
            }
        }
    )*};
}

registers! {
    bool: reg32 u32, |b| b != 0, u32::from;
    u8: reg16 u16, |b| b as u8, u16::from;
    i8: reg16 u16, |b| b as i8, |v| v as u8 as u16;
    u16: reg16 u16, |b| b, |v| v;
    i16: reg16 u16, |b| b as i16, |v| v as u16;
    u32: reg32 u32, |b| b, |v| v;
    i32: reg32 u32, |b| b as i32, |v| v as u32;
    u64: reg64 u64, |b| b, |v| v;
    i64: reg64 u64, |b| b as i64, |v| v as u64;
    f32: reg32 u32, f32::from_bits, f32::to_bits;
    f64: reg64 u64, f64::from_bits, f64::to_bits;
    bf16: reg16 u16, bf16::from_bits, bf16::to_bits;
    f16: reg16 u16, f16::from_bits, f16::to_bits;
    bf16x2: reg32 u32, bf16x2::from_bits, bf16x2::to_bits;
    f16x2: reg32 u32, f16x2::from_bits, f16x2::to_bits;
}

impl<Sp: Space<Bits: Operand>> Operand for Addr<Sp> {
    #[inline(always)]
    fn fresh() -> Self {
        Addr::from_raw(Operand::fresh())
    }
    #[inline(always)]
    fn sink(self) {
        self.raw().sink();
    }
}

/// Structures of operands.
macro_rules! structures {
    ($($name:ident$(<$C:ident: $bound:ident>)? { $($field:tt: $ty:ty),* })*) => {$(
        impl$(<$C: $bound>)? Operand for $name$(<$C>)? where $($ty: Operand),* {
            const REGISTERS: usize = 0 $(+ <$ty as Operand>::REGISTERS)*;
            #[inline(always)]
            fn fresh() -> Self {
                $name { $($field: Operand::fresh()),* }
            }
            #[inline(always)]
            fn sink(self) {
                $(self.$field.sink();)*
            }
        }
    )*};
}

structures! {
    Shifted { 0: Addr<baton::ptx::addr::Tmem> }
    Tile<C: Coordinates> { 0: C }
    Window<C: Im2col> { 0: C, 1: C::Offsets }
    Wide<C: Im2col> { at: C, halo: u16, offset: u16 }
    Wide128<C: Im2col> { at: C, halo: u16, offset: u16 }
    Pixels<C: Im2col> { 0: C }
    Gather4 { 0: [i32; 5] }
    Scatter4 { 0: [i32; 5] }
    Multicast { 0: u16 }
    One {}
    NoHint {}
}

impl Operand for Multimem {
    #[inline(always)]
    fn fresh() -> Self {
        Multimem::from_raw(u64::fresh())
    }
    #[inline(always)]
    fn sink(self) {
        self.raw().sink();
    }
}

impl Operand for Response {
    const REGISTERS: usize = 2;
    #[inline(always)]
    fn fresh() -> Self {
        let low = u64::fresh();
        Response { low, high: u64::fresh() }
    }
    #[inline(always)]
    fn sink(self) {
        self.low.sink();
        self.high.sink();
    }
}

impl Operand for u128 {
    const REGISTERS: usize = 2;
    #[inline(always)]
    fn fresh() -> Self {
        let low = u64::fresh();
        u128::from(u64::fresh()) << 64 | u128::from(low)
    }
    #[inline(always)]
    fn sink(self) {
        (self as u64).sink();
        ((self >> 64) as u64).sink();
    }
}

impl Operand for Policy {
    #[inline(always)]
    fn fresh() -> Self {
        // SAFETY: nothing runs this kernel.
        unsafe { Policy::from_raw(u64::fresh()) }
    }
    #[inline(always)]
    fn sink(self) {
        self.raw().sink();
    }
}

impl<A> Operand for State<A> {
    #[inline(always)]
    fn fresh() -> Self {
        // SAFETY: a `State` is a transparent `u64`. Nothing runs this kernel.
        unsafe { core::mem::transmute::<u64, State<A>>(u64::fresh()) }
    }
    #[inline(always)]
    fn sink(self) {
        // SAFETY: as above.
        unsafe { core::mem::transmute::<State<A>, u64>(self) }.sink();
    }
}

/// Arrays of the lengths that instructions have. Written out: a loop would need a stack.
macro_rules! arrays {
    ($($n:literal: $($element:ident)*;)*) => {$(
        impl<T: Operand> Operand for [T; $n] {
            const REGISTERS: usize = $n * T::REGISTERS;
            #[inline(always)]
            fn fresh() -> Self {
                $(let $element = T::fresh();)*
                [$($element),*]
            }
            #[inline(always)]
            fn sink(self) {
                let [$($element),*] = self;
                $($element.sink();)*
            }
        }
    )*};
}

arrays! {
    1: e0;
    2: e0 e1;
    3: e0 e1 e2;
    4: e0 e1 e2 e3;
    5: e0 e1 e2 e3 e4;
    6: e0 e1 e2 e3 e4 e5;
    8: e0 e1 e2 e3 e4 e5 e6 e7;
    16: e0 e1 e2 e3 e4 e5 e6 e7 e8 e9 e10 e11 e12 e13 e14 e15;
    32: e0 e1 e2 e3 e4 e5 e6 e7 e8 e9 e10 e11 e12 e13 e14 e15 e16 e17 e18 e19 e20 e21 e22 e23 e24 e25 e26 e27 e28 e29 e30 e31;
    64: e0 e1 e2 e3 e4 e5 e6 e7 e8 e9 e10 e11 e12 e13 e14 e15 e16 e17 e18 e19 e20 e21 e22 e23 e24 e25 e26 e27 e28 e29 e30 e31 e32 e33 e34 e35 e36 e37 e38 e39 e40 e41 e42 e43 e44 e45 e46 e47 e48 e49 e50 e51 e52 e53 e54 e55 e56 e57 e58 e59 e60 e61 e62 e63;
    128: e0 e1 e2 e3 e4 e5 e6 e7 e8 e9 e10 e11 e12 e13 e14 e15 e16 e17 e18 e19 e20 e21 e22 e23 e24 e25 e26 e27 e28 e29 e30 e31 e32 e33 e34 e35 e36 e37 e38 e39 e40 e41 e42 e43 e44 e45 e46 e47 e48 e49 e50 e51 e52 e53 e54 e55 e56 e57 e58 e59 e60 e61 e62 e63 e64 e65 e66 e67 e68 e69 e70 e71 e72 e73 e74 e75 e76 e77 e78 e79 e80 e81 e82 e83 e84 e85 e86 e87 e88 e89 e90 e91 e92 e93 e94 e95 e96 e97 e98 e99 e100 e101 e102 e103 e104 e105 e106 e107 e108 e109 e110 e111 e112 e113 e114 e115 e116 e117 e118 e119 e120 e121 e122 e123 e124 e125 e126 e127;
}

impl Operand for () {
    #[inline(always)]
    fn fresh() {}
    #[inline(always)]
    fn sink(self) {}
}

impl<A: Operand, B: Operand> Operand for (A, B) {
    #[inline(always)]
    fn fresh() -> Self {
        (A::fresh(), B::fresh())
    }
    #[inline(always)]
    fn sink(self) {
        self.0.sink();
        self.1.sink();
    }
}

/// A kernel of forms.
macro_rules! kernel {
    ($($name:ident { $($body:tt)* })*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "ptx-kernel" fn $name() {
            // SAFETY: nobody runs this kernel.
            unsafe { $($body)* }
        }
    )*};
}

/// Calls a function with each combination of what its parameters can be. Types stand before a
/// semicolon, constants (of type `u32`) after it.
macro_rules! forms {
    ($($path:ident)::+ $(<>)? ($($args:tt)*)) => {
        form!([$($path)::+] {} {} ($($args)*))
    };
    ($($path:ident)::+ <$($g:ident: $list:tt),* $(; $($n:ident: $numbers:tt),*)?> ($($args:tt)*)) => {
        each!([$($path)::+] ($($args)*) {} {} [$($g $list)* $($(const $n $numbers)*)?])
    };
}

/// The combinations: takes the first list apart, then the next.
macro_rules! each {
    ($path:tt $args:tt $types:tt $numbers:tt []) => { form!($path $types $numbers $args); };
    ($path:tt $args:tt $types:tt $numbers:tt [const $n:ident ($($x:tt)*) $($rest:tt)*]) => {
        each!(@number $path $args $types $numbers $n ($($x)*) [$($rest)*])
    };
    (@number $path:tt $args:tt $types:tt $numbers:tt $n:ident ($($x:tt)*) $rest:tt) => {
        $( each!(@chosen $path $args $types $numbers $n $x $rest); )*
    };
    (@chosen $path:tt $args:tt $types:tt {$($numbers:tt)*} $n:ident $x:tt [$($rest:tt)*]) => {
        each!($path $args $types {$($numbers)* $n $x} [$($rest)*])
    };
    ($path:tt $args:tt $types:tt $numbers:tt [$g:ident ($($x:tt)*) $($rest:tt)*]) => {
        each!(@type $path $args $types $numbers $g ($($x)*) [$($rest)*])
    };
    (@type $path:tt $args:tt $types:tt $numbers:tt $g:ident ($($x:tt)*) $rest:tt) => {
        $( each!(@picked $path $args $types $numbers $g $x $rest); )*
    };
    (@picked $path:tt $args:tt {$($types:tt)*} $numbers:tt $g:ident $x:tt [$($rest:tt)*]) => {
        each!($path $args {$($types)* $g $x} $numbers [$($rest)*])
    };

    // Lists with a name.
    ($path:tt $args:tt $types:tt $numbers:tt [$g:ident scopes $($rest:tt)*]) => {
        each!($path $args $types $numbers [$g (Cta Cluster Gpu Sys) $($rest)*])
    };
    ($path:tt $args:tt $types:tt $numbers:tt [$g:ident within_cluster $($rest:tt)*]) => {
        each!($path $args $types $numbers [$g (Cta Cluster) $($rest)*])
    };
    ($path:tt $args:tt $types:tt $numbers:tt [$g:ident memory $($rest:tt)*]) => {
        each!($path $args $types $numbers [$g (Global SharedCta SharedCluster) $($rest)*])
    };
    ($path:tt $args:tt $types:tt $numbers:tt [$g:ident reached $($rest:tt)*]) => {
        each!($path $args $types $numbers [$g (Global SharedCta SharedCluster Generic) $($rest)*])
    };
    ($path:tt $args:tt $types:tt $numbers:tt [$g:ident stored $($rest:tt)*]) => {
        each!($path $args $types $numbers [$g (Global SharedCta SharedCluster Generic Local) $($rest)*])
    };
    ($path:tt $args:tt $types:tt $numbers:tt [$g:ident loaded $($rest:tt)*]) => {
        each!($path $args $types $numbers [$g (Global SharedCta SharedCluster Generic Local Const) $($rest)*])
    };
    ($path:tt $args:tt $types:tt $numbers:tt [$g:ident shared $($rest:tt)*]) => {
        each!($path $args $types $numbers [$g (SharedCta SharedCluster) $($rest)*])
    };
    ($path:tt $args:tt $types:tt $numbers:tt [$g:ident words $($rest:tt)*]) => {
        each!($path $args $types $numbers
            [$g (u8 i8 u16 i16 bf16 f16 u32 i32 f32 bf16x2 f16x2 u64 i64 f64) $($rest)*])
    };
    ($path:tt $args:tt $types:tt $numbers:tt [$g:ident words_32 $($rest:tt)*]) => {
        each!($path $args $types $numbers [$g (u32 i32 f32 bf16x2 f16x2) $($rest)*])
    };
    ($path:tt $args:tt $types:tt $numbers:tt [$g:ident groups $($rest:tt)*]) => {
        each!($path $args $types $numbers [$g (Group1 Group2) $($rest)*])
    };
    ($path:tt $args:tt $types:tt $numbers:tt [$g:ident kinds $($rest:tt)*]) => {
        each!($path $args $types $numbers [$g (F16 Tf32 F8f6f4 I8) $($rest)*])
    };
    ($path:tt $args:tt $types:tt $numbers:tt [$g:ident block_kinds $($rest:tt)*]) => {
        each!($path $args $types $numbers
            [$g (Mxf8f6f4 Mxf8f6f4Block32 Mxf4 Mxf4Block32 Mxf4nvf4Vec2 Mxf4nvf4Vec4 Mxf4nvf4Block16 Mxf4nvf4Block32)
                $($rest)*])
    };
    ($path:tt $args:tt $types:tt $numbers:tt [$g:ident buffers $($rest:tt)*]) => {
        each!($path $args $types $numbers [$g (Buffer0 Buffer1 Buffer2 Buffer3) $($rest)*])
    };
    ($path:tt $args:tt $types:tt $numbers:tt [$g:ident ranks $($rest:tt)*]) => {
        each!($path $args $types $numbers
            [$g ([i32; 1] [i32; 2] [i32; 3] [i32; 4] [i32; 5]) $($rest)*])
    };
}

/// One call that does not return.
macro_rules! ending {
    ($($path:ident)::+ ()) => {{
        core::arch::asm!(
            concat!("//@form", $(" ", stringify!($path),)+ " | |"),
            options(nostack)
        );
        $($path)::+()
    }};
}

/// One call.
macro_rules! form {
    ([$($path:ident)::+] {$($g:ident $x:tt)*} {$($n:ident $v:tt)*} ($($arg:ident: $ty:ty),* $(,)?)) => {{
        $(
            #[allow(dead_code)]
            type $g = $x;
        )*
        $(
            #[allow(dead_code)]
            const $n: u32 = $v;
        )*
        core::arch::asm!(
            concat!(
                "//@form", $(" ", stringify!($path),)+ " |",
                $(" ", stringify!($g), "=", stringify!($x), ",",)*
                $(" ", stringify!($n), "=", stringify!($v), ",",)* " |"
                $(, " ", stringify!($arg), " {}")*
            ),
            $(const <$ty as $crate::form::Operand>::REGISTERS,)*
            options(nostack)
        );
        $(let $arg: $ty = $crate::form::Operand::fresh();)*
        // The comments of the arguments and their number tell which register is which.
        let result = $($path)::+::<$($g,)* $($n),*>($($arg),*);
        $crate::form::Operand::sink(result);
    }};
}
