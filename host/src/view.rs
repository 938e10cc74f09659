//! Parts of buffers.
//!
//! A view is to a [`Buffer`] what a slice is to a `Vec`: a range of its values, borrowed. It goes where a buffer goes:
//! into launches, copies, fills, and to the host. What is waited for is the buffer's reservation, so work on two halves of
//! a buffer is ordered as work on the whole; what the compiler sees is the range, so both halves may be written by one
//! launch.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Bound, RangeBounds};
use std::sync::Arc;

use baton::launch::{DeviceSlice, DeviceSliceMut, DeviceValue};

use crate::buffer::{Buffer, bytes_of, bytes_of_mut};
use crate::device::Device;
use crate::error::Error;
use crate::memory::{Allocation, Lender, Resource};
use crate::reservation::Access;
use crate::transfer;

/// Some values of a [`Buffer`], to read. Made by [`Buffer::slice`].
pub struct View<'a, T> {
    memory: &'a Lender,
    /// In values, from the beginning of the buffer.
    first: usize,
    len: usize,
    values: PhantomData<&'a [T]>,
}

/// Some values of a [`Buffer`], to write. Made by [`Buffer::slice_mut`] and [`Buffer::split_at_mut`].
pub struct ViewMut<'a, T> {
    memory: &'a Lender,
    first: usize,
    len: usize,
    /// Whether it is all of the buffer.
    whole: bool,
    values: PhantomData<&'a mut [T]>,
}

impl<T> Clone for View<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for View<'_, T> {}

/// Memory of a device whose values work can read: a [`Buffer`], a [`View`] or a [`ViewMut`], alone or shared in an [`Arc`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no memory of a device that work could read",
    note = "rule G1: pass `&buffer`, or a part of it: `&buffer.slice(a..b)?`"
)]
pub trait Readable: sealed::Sealed {
    /// What the values are.
    type Value: DeviceValue;

    /// All of it as a view.
    fn view(&self) -> View<'_, Self::Value>;
}

/// Memory of a device whose values work can write: a [`Buffer`] or a [`ViewMut`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no memory of a device that work could write",
    note = "rule G1: pass `&mut buffer`, or a part of it: `&mut buffer.slice_mut(a..b)?`"
)]
pub trait Writable: Readable {
    /// All of it as a view.
    fn view_mut(&mut self) -> ViewMut<'_, Self::Value>;
}

pub(crate) mod sealed {
    pub trait Sealed {}
}

impl<T> sealed::Sealed for Buffer<T> {}
impl<T> sealed::Sealed for View<'_, T> {}
impl<M: sealed::Sealed> sealed::Sealed for Arc<M> {}
impl<T> sealed::Sealed for ViewMut<'_, T> {}

impl<T: DeviceValue> Readable for Buffer<T> {
    type Value = T;

    fn view(&self) -> View<'_, T> {
        View { memory: self.lender(), first: 0, len: self.len(), values: PhantomData }
    }
}

impl<T: DeviceValue> Readable for View<'_, T> {
    type Value = T;

    fn view(&self) -> View<'_, T> {
        *self
    }
}

impl<T: DeviceValue> Readable for ViewMut<'_, T> {
    type Value = T;

    fn view(&self) -> View<'_, T> {
        View { memory: self.memory, first: self.first, len: self.len, values: PhantomData }
    }
}

/// What several threads read.
impl<M: Readable> Readable for Arc<M> {
    type Value = M::Value;

    fn view(&self) -> View<'_, M::Value> {
        (**self).view()
    }
}

impl<T: DeviceValue> Writable for Buffer<T> {
    fn view_mut(&mut self) -> ViewMut<'_, T> {
        let len = self.len();
        ViewMut { memory: self.lender(), first: 0, len, whole: true, values: PhantomData }
    }
}

impl<T: DeviceValue> Writable for ViewMut<'_, T> {
    fn view_mut(&mut self) -> ViewMut<'_, T> {
        ViewMut { values: PhantomData, ..*self }
    }
}

/// Where a range of so many values begins, and how many it has.
fn range(range: impl RangeBounds<usize>, len: usize) -> Result<(usize, usize), Error> {
    let after = |value: &usize| value.checked_add(1);
    let first = match range.start_bound() {
        Bound::Included(first) => Some(*first),
        Bound::Excluded(before) => after(before),
        Bound::Unbounded => Some(0),
    };
    let end = match range.end_bound() {
        Bound::Included(last) => after(last),
        Bound::Excluded(end) => Some(*end),
        Bound::Unbounded => Some(len),
    };
    match (first, end) {
        (Some(first), Some(end)) if first <= end && end <= len => Ok((first, end - first)),
        (first, end) => Err(Error::OutOfRange {
            first: first.unwrap_or(usize::MAX),
            end: end.unwrap_or(usize::MAX),
            len,
        }),
    }
}

impl<T: DeviceValue> Buffer<T> {
    /// The values of a range, to read: `buffer.slice(16..)?`.
    pub fn slice(&self, range: impl RangeBounds<usize>) -> Result<View<'_, T>, Error> {
        self.view().slice(range)
    }

    /// The values of a range, to write.
    pub fn slice_mut(&mut self, range: impl RangeBounds<usize>) -> Result<ViewMut<'_, T>, Error> {
        self.view_mut().into_slice(range)
    }

    /// The first `mid` values and the others, to write both:
    ///
    /// ```
    /// # fn main() -> Result<(), baton_host::Error> {
    /// # let device = baton_host::Device::emulator(Default::default());
    /// let mut buffer = baton_host::Buffer::from_slice(&device, &[1u32, 2, 3, 4])?;
    /// let (first, mut second) = buffer.split_at_mut(2)?;
    /// device.stream()?.copy(&first, &mut second)?;
    /// assert_eq!(buffer.to_vec()?, [1, 2, 1, 2]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn split_at_mut(&mut self, mid: usize) -> Result<(ViewMut<'_, T>, ViewMut<'_, T>), Error> {
        self.view_mut().split_at(mid)
    }
}

impl<'a, T: DeviceValue> View<'a, T> {
    /// The values of a range of this view.
    pub fn slice(&self, of: impl RangeBounds<usize>) -> Result<View<'a, T>, Error> {
        let (first, len) = range(of, self.len)?;
        Ok(View { first: self.first + first, len, ..*self })
    }

    /// Copies the values into `values`. The lengths must be equal.
    pub fn read(&self, values: &mut [T]) -> Result<(), Error> {
        same(self.len, values.len())?;
        transfer::read(&self.memory.0, self.first * size_of::<T>(), bytes_of_mut(values))
    }

    /// A copy of the values.
    pub fn to_vec(&self) -> Result<Vec<T>, Error> {
        // SAFETY: zero bytes are a value of a `DeviceValue`, as any bytes are.
        let zero: T = unsafe { std::mem::zeroed() };
        let mut values = vec![zero; self.len];
        self.read(&mut values)?;
        Ok(values)
    }

    /// The view as an argument that a kernel reads.
    pub fn as_arg(&self) -> DeviceSlice<'a, T> {
        let (device, address) = (self.device().id(), self.address());
        // SAFETY: the range lies in the buffer, which has been compared when the view was made, and is aligned for its
        // values; the borrow is the buffer's, shared.
        let slice = unsafe { DeviceSlice::from_raw(device, address, self.len as u64) };
        // SAFETY: the buffer's allocation is all that the memory is a part of.
        unsafe { slice.owned_by(self.memory) }
    }
}

impl<'a, T: DeviceValue> ViewMut<'a, T> {
    /// The values of a range of this view, to read.
    pub fn slice(&self, of: impl RangeBounds<usize>) -> Result<View<'_, T>, Error> {
        self.view().slice(of)
    }

    /// The values of a range of this view, to write.
    pub fn slice_mut(&mut self, of: impl RangeBounds<usize>) -> Result<ViewMut<'_, T>, Error> {
        self.view_mut().into_slice(of)
    }

    /// The values of a range of this view, which is used up.
    pub fn into_slice(self, of: impl RangeBounds<usize>) -> Result<ViewMut<'a, T>, Error> {
        let (first, len) = range(of, self.len)?;
        let whole = self.whole && len == self.len;
        Ok(ViewMut { first: self.first + first, len, whole, ..self })
    }

    /// The first `mid` values and the others.
    pub fn split_at(self, mid: usize) -> Result<(ViewMut<'a, T>, ViewMut<'a, T>), Error> {
        let ViewMut { memory, first, len, whole, values } = self;
        let (_, rest) = range(mid.., len)?;
        let part =
            |first, part| ViewMut { memory, first, len: part, whole: whole && part == len, values };
        Ok((part(first, mid), part(first + mid, rest)))
    }

    /// Copies `values` to the device. The lengths must be equal.
    pub fn write(&mut self, values: &[T]) -> Result<(), Error> {
        same(self.len, values.len())?;
        let from = self.first * size_of::<T>();
        transfer::write(&self.memory.0, from, bytes_of(values), self.overwrites())
    }

    /// Sets every byte.
    pub fn fill(&mut self, byte: u8) -> Result<(), Error> {
        let (from, bytes) = (self.first * size_of::<T>(), self.bytes());
        transfer::fill(&self.memory.0, from, bytes, byte, self.overwrites())
    }

    /// The view as an argument that a kernel may write.
    pub fn as_arg_mut(&mut self) -> DeviceSliceMut<'_, T> {
        let view: ViewMut<'_, T> = self.view_mut();
        view.into_arg()
    }

    pub(crate) fn into_arg(self) -> DeviceSliceMut<'a, T> {
        let (device, address) = (self.device().id(), self.address());
        // SAFETY: as for views to read; the borrow is exclusive, of this range.
        let slice = unsafe { DeviceSliceMut::from_raw(device, address, self.len as u64) };
        // SAFETY: the buffer's allocation is all that the memory is a part of.
        unsafe { slice.owned_by(self.memory) }
    }

    /// What it is to the buffer that all of the view is overwritten.
    pub(crate) fn overwrites(&self) -> Access {
        if self.whole { Access::Overwrite } else { Access::Write }
    }
}

macro_rules! parts {
    ($view:ident) => {
        impl<T> $view<'_, T> {
            /// How many values it has.
            pub fn len(&self) -> usize {
                self.len
            }

            /// Whether it has none.
            pub fn is_empty(&self) -> bool {
                self.len == 0
            }

            /// The device whose memory it is.
            pub fn device(&self) -> &Device {
                self.memory.0.device()
            }

            pub(crate) fn allocation(&self) -> &Arc<Allocation> {
                &self.memory.0
            }

            pub(crate) fn address(&self) -> u64 {
                self.memory.0.address() + (self.first * size_of::<T>()) as u64
            }

            pub(crate) fn bytes(&self) -> usize {
                self.len * size_of::<T>()
            }
        }

        impl<T> fmt::Debug for $view<'_, T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($view))
                    .field("device", self.device())
                    .field("address", &format_args!("{:#x}", self.address()))
                    .field("len", &self.len)
                    .finish()
            }
        }
    };
}
parts!(View);
parts!(ViewMut);

fn same(buffer: usize, host: usize) -> Result<(), Error> {
    if buffer == host { Ok(()) } else { Err(Error::LengthMismatch { buffer, host }) }
}
