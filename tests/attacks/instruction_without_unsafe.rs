//! An instruction of layer 0 called from safe code.

use baton::ptx::addr::{Addr, SharedCta};

fn write() {
    baton::ptx::st::st_weak(Addr::<SharedCta>::from_raw(0), 1u32);
}

fn main() {}
