//! Arguments of launches on streams.
//!
//! A buffer is an argument only together with what the kernel does with it, so that no launch can
//! forget to wait: `read(&buffer)` where the kernel takes a `ReadOnly<T>`, `write(&mut buffer)` where it
//! takes a `GlobalPtr<T>`, and the same with `_tiles` for tensor maps.

use std::sync::Arc;

use baton::global::{Load, Store};
use baton::launch::{Call, DeviceSlice, DeviceSliceMut, DeviceValue, TensorMap};
use baton::tile::{BulkTile, Element};

use crate::memory::{Allocation, Resource};
use crate::reservation::Access;
use crate::{Buffer, Error, Matrix};

/// A buffer that a kernel reads. Made by [`read`].
#[derive(Debug)]
pub struct Read<'a, T>(&'a Buffer<T>);

/// A buffer that a kernel may write. Made by [`write()`].
#[derive(Debug)]
pub struct Write<'a, T>(&'a mut Buffer<T>);

/// A matrix of which a kernel loads tiles. Made by [`read_tiles`].
pub struct ReadTiles<'a, Tile> {
    allocation: Arc<Allocation>,
    map: TensorMap<'a, Tile, Load>,
}

/// A matrix into which a kernel stores tiles. Made by [`write_tiles`].
pub struct WriteTiles<'a, Tile> {
    allocation: Arc<Allocation>,
    map: TensorMap<'a, Tile, Store>,
}

/// The kernel reads `buffer`: it waits for those that write it.
pub fn read<T: DeviceValue>(buffer: &Buffer<T>) -> Read<'_, T> {
    Read(buffer)
}

/// The kernel may read and write `buffer`: it waits for those that read or write it.
pub fn write<T: DeviceValue>(buffer: &mut Buffer<T>) -> Write<'_, T> {
    Write(buffer)
}

/// The kernel loads tiles of the matrix in `buffer`. See [`Buffer::tensor_map`].
pub fn read_tiles<T: Element + DeviceValue, Tile: BulkTile<Element = T>>(
    buffer: &Buffer<T>,
    matrix: Matrix,
) -> Result<ReadTiles<'_, Tile>, Error> {
    let allocation = Arc::clone(&buffer.allocation);
    Ok(ReadTiles { allocation, map: buffer.tensor_map(matrix)? })
}

/// The kernel stores tiles into the matrix in `buffer`. See [`Buffer::tensor_map_mut`].
pub fn write_tiles<T: Element + DeviceValue, Tile: BulkTile<Element = T>>(
    buffer: &mut Buffer<T>,
    matrix: Matrix,
) -> Result<WriteTiles<'_, Tile>, Error> {
    let allocation = Arc::clone(&buffer.allocation);
    Ok(WriteTiles { allocation, map: buffer.tensor_map_mut(matrix)? })
}

/// What a launch touches, as its arguments say.
#[derive(Default)]
pub struct Touched(pub(super) Vec<(Arc<dyn Resource>, Access)>);

impl Touched {
    fn by(&mut self, allocation: Arc<Allocation>, access: Access) {
        self.0.push((allocation, access));
    }
}

/// An argument of a launch on a [`Stream`](super::Stream).
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no argument of a launch on a stream: it does not say what the launch must wait for",
    label = "a number, or a buffer with its access",
    note = "rule G1: a kernel that reads a buffer waits for those that write it, and one that writes it waits for those that read or write it",
    note = "pass `read(&buffer)` or `write(&mut buffer)`, and for tensor maps `read_tiles(&buffer, matrix)?` or `write_tiles(&mut buffer, matrix)?`"
)]
pub trait Argument<'a>: sealed::Sealed {
    /// What the kernel's host function takes.
    type Host;

    #[doc(hidden)]
    fn resolve(self, touched: &mut Touched) -> Self::Host;
}

mod sealed {
    pub trait Sealed {}
}

impl<T> sealed::Sealed for Read<'_, T> {}
impl<'a, T: DeviceValue> Argument<'a> for Read<'a, T> {
    type Host = DeviceSlice<'a, T>;

    fn resolve(self, touched: &mut Touched) -> Self::Host {
        touched.by(Arc::clone(&self.0.allocation), Access::Read);
        self.0.as_arg()
    }
}

impl<T> sealed::Sealed for Write<'_, T> {}
impl<'a, T: DeviceValue> Argument<'a> for Write<'a, T> {
    type Host = DeviceSliceMut<'a, T>;

    fn resolve(self, touched: &mut Touched) -> Self::Host {
        touched.by(Arc::clone(&self.0.allocation), Access::Write);
        self.0.as_arg_mut()
    }
}

impl<Tile> sealed::Sealed for ReadTiles<'_, Tile> {}
impl<'a, Tile> Argument<'a> for ReadTiles<'a, Tile> {
    type Host = TensorMap<'a, Tile, Load>;

    fn resolve(self, touched: &mut Touched) -> Self::Host {
        touched.by(self.allocation, Access::Read);
        self.map
    }
}

impl<Tile> sealed::Sealed for WriteTiles<'_, Tile> {}
impl<'a, Tile> Argument<'a> for WriteTiles<'a, Tile> {
    type Host = TensorMap<'a, Tile, Store>;

    fn resolve(self, touched: &mut Touched) -> Self::Host {
        touched.by(self.allocation, Access::Write);
        self.map
    }
}

macro_rules! numbers {
    ($($number:ty)*) => {$(
        impl sealed::Sealed for $number {}
        impl Argument<'_> for $number {
            type Host = Self;

            fn resolve(self, _touched: &mut Touched) -> Self {
                self
            }
        }
    )*};
}
numbers! { u8 u16 u32 u64 usize i8 i16 i32 i64 isize f32 f64 }

/// A kernel's host function that takes these.
///
/// It is `'static`, so a closure that would bring further buffers into the call is none.
#[diagnostic::on_unimplemented(
    message = "the kernel does not take these arguments: `{Self}` is no function of `{Hosts}`",
    label = "the arguments do not match the kernel's signature",
    note = "rule G6: a launch passes what the kernel's signature says: `read` for `ReadOnly<T>`, `write` for `GlobalPtr<T>`, `read_tiles` or `write_tiles` for `TensorMap`, numbers of the same type, all of them and in order"
)]
pub trait KernelTaking<'a, Hosts>: 'static {
    #[doc(hidden)]
    fn call(self, hosts: Hosts) -> Call<'a>;
}

/// Arguments for the kernel `K`, as a tuple.
#[diagnostic::on_unimplemented(
    message = "`{Self}` are no arguments for the kernel",
    label = "a tuple of at most 12 arguments is needed",
    note = "rule G6: a launch passes what the kernel's signature says, as a tuple; one argument is `(argument,)`, none is `()`"
)]
pub trait Arguments<'a, K>: Sized {
    #[doc(hidden)]
    fn resolve(self, kernel: K, touched: &mut Touched) -> Call<'a>;
}

macro_rules! tuples {
    ($($name:ident)*) => {
        tuples! { @all [] $($name)* }
    };
    (@all [$($done:ident)*] $next:ident $($rest:ident)*) => {
        tuples! { @one $($done)* }
        tuples! { @all [$($done)* $next] $($rest)* }
    };
    (@all [$($done:ident)*]) => {
        tuples! { @one $($done)* }
    };
    (@one $($name:ident)*) => {
        #[diagnostic::do_not_recommend]
        impl<'a, K, $($name),*> KernelTaking<'a, ($($name,)*)> for K
        where
            K: FnOnce($($name),*) -> Call<'a> + 'static,
        {
            #[allow(non_snake_case, reason = "one name stands for a type and its value")]
            fn call(self, ($($name,)*): ($($name,)*)) -> Call<'a> {
                self($($name),*)
            }
        }

        impl<'a, K, $($name),*> Arguments<'a, K> for ($($name,)*)
        where
            $($name: Argument<'a>,)*
            K: KernelTaking<'a, ($($name::Host,)*)>,
        {
            #[allow(non_snake_case, reason = "one name stands for a type and its value")]
            #[allow(unused_variables, reason = "a kernel without arguments touches nothing")]
            fn resolve(self, kernel: K, touched: &mut Touched) -> Call<'a> {
                let ($($name,)*) = self;
                kernel.call(($($name.resolve(touched),)*))
            }
        }
    };
}
tuples! { A B C D E F G H I J L M }
