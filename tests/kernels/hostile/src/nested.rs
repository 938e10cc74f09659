//! The same words mean other types in the module around, in this one and in those inside.

use baton::prelude::*;

/// What the kernels below are given, as `super::P`: 16 bytes that they may write.
pub type P = GlobalPtr<u32>;
/// Elements of four bytes.
pub type Q = GlobalPtr<u32>;
/// A number of eight bytes.
pub type Number = u64;
/// Threads of the kernels inside.
pub const THREADS: u32 = 64;
/// Numbers that they exchange.
pub const NUMBERS: usize = 1024;

baton::shared! {
    /// Four thousand bytes.
    pub struct Smem in smem { big: Exchange<u32, NUMBERS> }
}

/// The same words, for something else.
pub mod inner {
    use baton::prelude::*;

    /// What the kernels below are *not* given.
    pub type P = ReadOnly<u32>;
    /// Elements of one byte.
    pub type Q = GlobalPtr<u8>;
    /// A number of one byte.
    pub type Number = u8;
    /// Another number of threads.
    pub const THREADS: u32 = 32;
    /// Other numbers.
    pub const NUMBERS: usize = 32;

    baton::shared! {
        /// A hundred bytes.
        pub struct Smem in smem { small: Exchange<u32, NUMBERS> }
    }
    baton::shared! {
        /// Fields of the module around, under this module's tags.
        pub struct Outer in outer { words: Stages<2, Linear<u32, { super::NUMBERS }>, ByThreads, ByThreads>, small: Exchange<u32, 32> }
    }

    /// Writes through what the host lends by `&mut`.
    #[baton::kernel(threads = 32)]
    pub fn nested_writes(cta: Cta<'_, NoShared, THREADS>, x: super::P) -> Exit<'_> {
        let (cta, ()) = cta.claim();
        for mut element in x.partition(&cta) {
            element.put(7);
        }
        cta.join().exit(())
    }

    /// Elements of the module around, not of this one.
    #[baton::kernel(threads = 64)]
    pub fn nested_width(
        cta: Cta<'_, NoShared, { super::THREADS }>,
        x: super::Q,
        more: super::Number,
    ) -> Exit<'_> {
        let (cta, ()) = cta.claim();
        for mut element in x.partition(&cta) {
            element.put((more >> 32) as u32);
        }
        cta.join().exit(())
    }

    /// Shared memory of the module around.
    #[baton::kernel(threads = 32)]
    pub fn nested_shared(cta: Cta<'_, super::Smem, 32>, out: GlobalPtr<u32>) -> Exit<'_> {
        let (mut cta, super::smem::Parts { big, .. }) = cta.claim();
        let region = big.open(&mut cta).fill(&mut cta, |i| i).arrive(&mut cta).wait(&mut cta);
        for mut element in out.partition(&cta) {
            element.put(region.get(1023));
        }
        region.close(&mut cta);
        cta.join().exit(())
    }

    /// Shared memory of this module.
    #[baton::kernel(threads = 32)]
    pub fn nested_own_shared(cta: Cta<'_, self::Smem, 32>, out: crate::nested::P) -> Exit<'_> {
        let (mut cta, smem::Parts { small }) = cta.claim();
        let region = small.open(&mut cta).fill(&mut cta, |i| 2 * i).arrive(&mut cta).wait(&mut cta);
        for mut element in out.partition(&cta) {
            element.put(region.get(31));
        }
        region.close(&mut cta);
        cta.join().exit(())
    }

    /// Fields of both modules.
    #[baton::kernel(threads = 32)]
    pub fn nested_both(cta: Cta<'_, Outer, 32>, out: super::P) -> Exit<'_> {
        let (mut cta, outer::Parts { small, .. }) = cta.claim();
        let region = small.open(&mut cta).fill(&mut cta, |i| 3 * i).arrive(&mut cta).wait(&mut cta);
        for mut element in out.partition(&cta) {
            element.put(region.get(31));
        }
        region.close(&mut cta);
        cta.join().exit(())
    }
}

/// Types that come with a glob, beside one that is declared and hides what the glob has.
pub mod globs {
    use super::inner::*;
    use baton::prelude::*;

    /// Hides `inner::P`.
    pub type P = GlobalPtr<u32>;

    /// Its parameter is the one declared here, its number the glob's.
    #[baton::kernel(threads = 32)]
    pub fn nested_glob(cta: Cta<'_, NoShared, 32>, out: P, number: Number) -> Exit<'_> {
        let (cta, ()) = cta.claim();
        for mut element in out.partition(&cta) {
            element.put(u32::from(number));
        }
        cta.join().exit(())
    }
}
