//! Types that ask for whom they are compiled, so that a kernel takes something else than the host passes, of the same bytes.
//!
//! Nothing of it is a mistake that one build could see. Each call has to be refused by the launch (rule G6).

use baton::prelude::*;

#[cfg(not(target_arch = "nvptx64"))]
mod types {
    use baton::global::Load;
    use baton::prelude::*;
    use baton::protocol::SpinLock;
    pub type Lent = ReadOnly<u32>;
    pub type Narrow = GlobalPtr<u32>;
    pub type Box = Tile<f32, 64, 32>;
    pub type Way = Load;
    pub type Word = SpinLock<u32>;
    pub type Early = ReadOnly<u32>;
    pub type Count = u32;
}

#[cfg(target_arch = "nvptx64")]
mod types {
    use baton::global::Store;
    use baton::prelude::*;
    use baton::previous::Dependent;
    use baton::protocol::RwLock;
    pub type Lent = GlobalPtr<u32>;
    pub type Narrow = GlobalPtr<u64>;
    pub type Box = Tile<f32, 32, 64>;
    pub type Way = Store;
    pub type Word = RwLock<u32>;
    pub type Early = Dependent<ReadOnly<u32>>;
    pub type Count = f32;
}

use types::{Box, Count, Early, Lent, Narrow, Way, Word};

/// What one build takes and the other does not.
macro_rules! kernels {
    ($($(#[$what:meta])* $name:ident: $ty:ty;)*) => {$(
        $(#[$what])*
        #[baton::kernel(threads = 32)]
        pub fn $name(cta: Cta<'_, NoShared, 32>, _other: u32, taken: $ty) -> Exit<'_> {
            let _ = taken;
            let (cta, ()) = cta.claim();
            cta.join().exit(())
        }
    )*};
}
kernels! {
    /// Lent by `&`, and the kernel would write it.
    asks_to_write: Lent;
    /// Twice the bytes that there are.
    asks_for_width: Narrow;
    /// Another box of as many bytes.
    asks_for_box: TensorMap<Box>;
    /// Lent by `&`, and the kernel would store to it.
    asks_for_way: TensorMap<Tile<f32, 64, 32>, Way>;
    /// Words of another protocol.
    asks_for_words: Word;
    /// The host would not let the grid start early, and the kernel believes that it did.
    asks_for_order: Early;
    /// Other bits.
    asks_for_number: Count;
}

/// Two of one type that change places.
#[cfg(not(target_arch = "nvptx64"))]
#[baton::kernel(threads = 32)]
pub fn asks_for_names(cta: Cta<'_, NoShared, 32>, rows: u32, cols: u32) -> Exit<'_> {
    let _ = (rows, cols);
    let (cta, ()) = cta.claim();
    cta.join().exit(())
}

/// Two of one type that change places.
#[cfg(target_arch = "nvptx64")]
#[baton::kernel(threads = 32)]
pub fn asks_for_names(cta: Cta<'_, NoShared, 32>, cols: u32, rows: u32) -> Exit<'_> {
    let _ = (rows, cols);
    let (cta, ()) = cta.claim();
    cta.join().exit(())
}

/// More threads.
#[cfg_attr(not(target_arch = "nvptx64"), baton::kernel(threads = 32))]
#[cfg_attr(target_arch = "nvptx64", baton::kernel(threads = 64))]
pub fn asks_for_threads(cta: Cta<'_, NoShared, THREADS>) -> Exit<'_> {
    let (cta, ()) = cta.claim();
    cta.join().exit(())
}

const THREADS: u32 = if cfg!(target_arch = "nvptx64") { 64 } else { 32 };

baton::shared! {
    /// More bytes.
    pub struct Asking in asking { ring: Exchange<u32, { if cfg!(target_arch = "nvptx64") { 64 } else { 32 } }> }
}

/// More shared memory.
#[baton::kernel(threads = 32)]
pub fn asks_for_shared(cta: Cta<'_, Asking, 32>) -> Exit<'_> {
    let (cta, asking::Parts { ring: _, .. }) = cta.claim();
    cta.join().exit(())
}
