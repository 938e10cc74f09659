//! Arguments of launches on streams.
//!
//! A buffer is an argument only together with what the kernel does with it, so that no launch can
//! forget to wait: `read(&buffer)` where the kernel takes a `ReadOnly<T>`, `write(&mut buffer)` where it
//! takes a `GlobalPtr<T>`, the same with `_tiles` for tensor maps, a reference to a stored map, and `zeroed(&mut words)`
//! with its array for a protocol.

use std::sync::Arc;

use baton::global::{Load, Store};
use baton::launch::{Call, DeviceSlice, DeviceSliceMut, DeviceValue, SyncWords, TensorMap};
use baton::tile::{BulkTile, Element};

use crate::buffer::Buffer;
use crate::error::Error;
use crate::memory::Allocation;
use crate::sync_buffer::SyncBuffer;
use crate::tensor_map::{Matrix, StoredMap, Tiles};
use crate::view::{Readable, View, ViewMut, Writable};

/// A buffer, or a part of one, that a kernel reads. Made by [`read`].
#[derive(Debug)]
pub struct Read<'a, T>(View<'a, T>);

/// A buffer, or a part of one, that a kernel may write. Made by [`write()`].
#[derive(Debug)]
pub struct Write<'a, T>(ViewMut<'a, T>);

/// The words of a protocol, zeroed for the launch. Made by [`zeroed`].
#[derive(Debug)]
pub struct Zeroed<'a, const N: usize>(&'a mut SyncBuffer<N>);

/// The kernel reads `memory`, a buffer or a view of one: it waits for those that write the buffer.
pub fn read<M: Readable>(memory: &M) -> Read<'_, M::Value> {
    Read(memory.view())
}

/// The kernel may read and write `memory`, a buffer or a view of one: it waits for those that read or write the buffer.
pub fn write<M: Writable>(memory: &mut M) -> Write<'_, M::Value> {
    Write(memory.view_mut())
}

/// The kernel loads tiles of the matrix in `buffer`. See [`Buffer::tensor_map`].
pub fn read_tiles<T: Element + DeviceValue, Tile: BulkTile<Element = T>>(
    buffer: &Buffer<T>,
    matrix: Matrix,
) -> Result<Tiles<'_, Tile, Load>, Error> {
    Ok(Tiles(buffer.tensor_map(matrix)?))
}

/// The kernel stores tiles into the matrix in `buffer`. See [`Buffer::tensor_map_mut`].
pub fn write_tiles<T: Element + DeviceValue, Tile: BulkTile<Element = T>>(
    buffer: &mut Buffer<T>,
    matrix: Matrix,
) -> Result<Tiles<'_, Tile, Store>, Error> {
    Ok(Tiles(buffer.tensor_map_mut(matrix)?))
}

/// The kernel synchronises its CTAs by `words`, which are zero when it begins (rule A14): the stream
/// zeroes them right before it.
pub fn zeroed<const N: usize>(words: &mut SyncBuffer<N>) -> Zeroed<'_, N> {
    Zeroed(words)
}

/// What a launch needs done right before it, in the order of its stream.
#[derive(Default)]
pub struct Before {
    /// What is to be zeroed: whole allocations, of so many bytes.
    pub(crate) zeroes: Vec<(Arc<Allocation>, usize)>,
}

/// Something that a launch on a [`Stream`](crate::Stream) can pass where the kernel's host function
/// takes a `Host`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be passed to a launch on a stream for the kernel's `{Host}`",
    label = "not what the kernel takes, or without its access",
    note = "rule G1: a buffer is passed with what the kernel does with it, so that the launch waits: `read(&buffer)` for a `DeviceSlice`, `write(&mut buffer)` for a `DeviceSliceMut`, `read_tiles(&buffer, matrix)?` or `write_tiles(&mut buffer, matrix)?` for a `TensorMap`, `zeroed(&mut words)` for `SyncWords`",
    note = "rule G6: a launch passes what the kernel's signature says: numbers of the same type, all of them and in order"
)]
pub trait Argument<'a, Host>: sealed::Sealed {
    #[doc(hidden)]
    fn resolve(self, before: &mut Before) -> Host;
}

mod sealed {
    pub trait Sealed {}
}

impl<T> sealed::Sealed for Read<'_, T> {}
impl<'a, T: DeviceValue> Argument<'a, DeviceSlice<'a, T>> for Read<'a, T> {
    fn resolve(self, _before: &mut Before) -> DeviceSlice<'a, T> {
        self.0.as_arg()
    }
}

impl<T> sealed::Sealed for Write<'_, T> {}
impl<'a, T: DeviceValue> Argument<'a, DeviceSliceMut<'a, T>> for Write<'a, T> {
    fn resolve(self, _before: &mut Before) -> DeviceSliceMut<'a, T> {
        self.0.into_arg()
    }
}

impl<Tile, A> sealed::Sealed for Tiles<'_, Tile, A> {}
impl<'a, Tile, A> Argument<'a, TensorMap<'a, Tile, A>> for Tiles<'a, Tile, A> {
    fn resolve(self, _before: &mut Before) -> TensorMap<'a, Tile, A> {
        self.0
    }
}

impl<A> sealed::Sealed for &StoredMap<'_, A> {}
impl<'a, A> Argument<'a, DeviceSlice<'a, u64>> for &'a StoredMap<'_, A> {
    fn resolve(self, _before: &mut Before) -> DeviceSlice<'a, u64> {
        self.as_arg()
    }
}

impl<const N: usize> sealed::Sealed for Zeroed<'_, N> {}
impl<'a, const N: usize> Argument<'a, SyncWords<'a, N>> for Zeroed<'a, N> {
    fn resolve(self, before: &mut Before) -> SyncWords<'a, N> {
        let (buffer, words) = self.0.lend_unzeroed();
        before.zeroes.push((Arc::clone(buffer.allocation()), buffer.bytes()));
        words
    }
}

// A protocol's words with its array, and with a second one.
impl<A, B> sealed::Sealed for (A, B) {}
impl<'a, A: Argument<'a, Ha>, Ha, B: Argument<'a, Hb>, Hb> Argument<'a, (Ha, Hb)> for (A, B) {
    fn resolve(self, before: &mut Before) -> (Ha, Hb) {
        (self.0.resolve(before), self.1.resolve(before))
    }
}

impl<A, B, C> sealed::Sealed for (A, B, C) {}
impl<'a, A, Ha, B, Hb, C, Hc> Argument<'a, (Ha, Hb, Hc)> for (A, B, C)
where
    A: Argument<'a, Ha>,
    B: Argument<'a, Hb>,
    C: Argument<'a, Hc>,
{
    fn resolve(self, before: &mut Before) -> (Ha, Hb, Hc) {
        (self.0.resolve(before), self.1.resolve(before), self.2.resolve(before))
    }
}

macro_rules! numbers {
    ($($number:ty)*) => {$(
        impl sealed::Sealed for $number {}
        impl Argument<'_, $number> for $number {
            fn resolve(self, _before: &mut Before) -> Self {
                self
            }
        }
    )*};
}
numbers! { u8 u16 u32 u64 usize i8 i16 i32 i64 isize f32 f64 }

/// The host function of a kernel that takes `Hosts`, a tuple.
///
/// It is `'static`, so it borrows no buffer. What a closure brings into the call besides (a leaked buffer's argument) is waited for like
/// the rest: what a launch touches, the call's parameters say.
#[diagnostic::on_unimplemented(
    message = "the kernel does not take as many arguments: `{Self}` is no function of `{Hosts}`",
    label = "the arguments do not match the kernel's signature",
    note = "rule G6: a launch passes what the kernel's signature says, all of it and in order"
)]
pub trait KernelTaking<'a, Hosts>: 'static {
    #[doc(hidden)]
    fn call(self, hosts: Hosts) -> Call<'a>;
}

/// Arguments for a kernel whose host function takes `Hosts`: a tuple of as many.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no tuple of arguments for a kernel",
    label = "a tuple of at most 12 arguments is needed",
    note = "rule G6: a launch passes what the kernel's signature says, as a tuple; one argument is `(argument,)`, none is `()`"
)]
pub trait Arguments<'a, Hosts> {
    #[doc(hidden)]
    fn resolve(self, before: &mut Before) -> Hosts;
}

macro_rules! tuples {
    ($([$argument:ident $host:ident])*) => {
        tuples! { @all [] $([$argument $host])* }
    };
    (@all [$($done:tt)*] $next:tt $($rest:tt)*) => {
        tuples! { @one $($done)* }
        tuples! { @all [$($done)* $next] $($rest)* }
    };
    (@all [$($done:tt)*]) => {
        tuples! { @one $($done)* }
    };
    (@one $([$argument:ident $host:ident])*) => {
        #[diagnostic::do_not_recommend]
        impl<'a, K, $($host),*> KernelTaking<'a, ($($host,)*)> for K
        where
            K: FnOnce($($host),*) -> Call<'a> + 'static,
        {
            #[allow(non_snake_case, reason = "one name stands for a type and its value")]
            fn call(self, ($($host,)*): ($($host,)*)) -> Call<'a> {
                self($($host),*)
            }
        }

        impl<'a, $($argument, $host),*> Arguments<'a, ($($host,)*)> for ($($argument,)*)
        where
            $($argument: Argument<'a, $host>,)*
        {
            #[allow(non_snake_case, reason = "one name stands for a type and its value")]
            #[allow(unused_variables, reason = "a kernel without arguments touches nothing")]
            #[allow(clippy::unused_unit, reason = "no arguments are an empty tuple")]
            fn resolve(self, before: &mut Before) -> ($($host,)*) {
                let ($($argument,)*) = self;
                ($($argument.resolve(before),)*)
            }
        }
    };
}
tuples! { [A Ha] [B Hb] [C Hc] [D Hd] [E He] [F Hf] [G Hg] [H Hh] [I Hi] [J Hj] [L Hl] [M Hm] }
