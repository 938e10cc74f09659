//! Tensor maps: how a buffer looks to the tensor unit.
//!
//! A bulk tensor copy names a tile by its coordinates, and the tensor map says what they mean: where
//! the tensor begins, its extents and strides, the box that one copy moves and how that box lies in
//! shared memory. Box, swizzle and element type follow from the tile type of the kernel's parameter,
//! so the host gives only what it alone knows: the [`Matrix`] in the buffer.
//!
//! Tensors of other shapes than a matrix, and maps for kernels that are written against the instructions, are described
//! field by field: [`Tiled`], and [`Im2col`] for convolutions.
//!
//! A tile of several panels is moved by one copy for each panel, so the box is a panel. Elements of
//! a box that lie outside the matrix are read as zero and not written, which is how ragged edges
//! work.
//!
//! On a GPU the driver encodes the map, on the emulator `baton-emulator` does, in its own format. The
//! rules are checked in one place, before either, so that what the emulator takes a GPU takes too.

mod encoded;
mod im2col;
mod matrix;
mod tiled;

pub use encoded::{EncodedMap, StoredMap, Tiles};
pub use im2col::Im2col;
pub use matrix::Matrix;
pub use tiled::Tiled;
