//! A library with holes, one of each kind that the gates look for, beside what is sound and looks like one.
#![no_std]

pub mod ptx {
    pub mod addr {
        /// An address.
        #[derive(Clone, Copy)]
        pub struct Addr(u32);
        impl Addr {
            pub fn from_raw(raw: u32) -> Self {
                Self(raw)
            }
        }
    }
    pub mod word {
        pub trait Word: sealed::Sealed {
            /// Not a finding: a number is no promise.
            fn from_word(word: u32) -> Self;
        }
        mod sealed {
            pub trait Sealed {}
        }
        #[derive(Clone, Copy, Default)]
        pub struct Half(u16);
        impl sealed::Sealed for Half {}
        impl Word for Half {
            fn from_word(word: u32) -> Self {
                Self(word as u16)
            }
        }
    }
}

pub mod token {
    use core::marker::PhantomData;

    /// Sound: what a set does is not `pub`.
    #[allow(private_bounds)]
    pub trait Set: Acts {}
    pub(crate) trait Acts {
        fn lead(&self) -> Warp;
    }
    /// A token, as it should be.
    pub struct Warp(PhantomData<*const ()>);
    impl Acts for Warp {
        fn lead(&self) -> Warp {
            Warp(PhantomData)
        }
    }
    impl Set for Warp {}
    /// A token that whoever has one has twice.
    #[derive(Clone)]
    pub struct Twice(PhantomData<*const ()>);
    impl Acts for Twice {
        fn lead(&self) -> Warp {
            Warp(PhantomData)
        }
    }
    impl Set for Twice {}
    /// A token that anyone makes.
    pub struct Open<'k>(pub PhantomData<&'k ()>);
    /// A token that other threads may capture.
    pub struct Wandering(());
}

pub mod path {
    //! Facts about states.
    pub enum Written {}
    pub enum Fenced {}
    mod sealed {
        pub trait Sealed {}
        pub trait Of<Tag> {}
        pub trait Makes {
            /// Can be called through a bound on [`Named`](super::Named).
            fn make(seed: u32) -> Self;
        }
    }
    impl sealed::Sealed for Written {}
    impl sealed::Sealed for Fenced {}

    /// Open: nothing seals it.
    pub trait Fact {}
    impl Fact for Written {}
    /// Open: a stranger implements what it is built on too.
    pub trait BuiltOnAFact: Fact + Copy {
        type Next: Fact;
        const NUMBER: u8;
    }
    /// Open for the library's states: the seal knows the state, and not the tag.
    pub trait HandsOnTo<Tag>: sealed::Sealed {}
    impl HandsOnTo<Fenced> for Written {}
    /// Sound: the seal knows the tag as well.
    pub trait LoadsInto<Tag>: sealed::Of<Tag> {}
    impl sealed::Of<Fenced> for Written {}
    impl LoadsInto<Fenced> for Written {}
    /// Sound: an own tag has to be what no stranger can make it.
    pub trait ReleasedFor<Scope: sealed::Sealed>: sealed::Sealed {}
    impl ReleasedFor<Fenced> for Written {}
    /// Open: the argument is the library's, the type is not.
    pub trait Ordered<Scope: Closed> {}
    /// Sound.
    pub trait Closed: sealed::Sealed {}
    impl Closed for Written {}
    /// Not tried: an impl would have to write `unsafe`.
    pub trait AsksForUnsafe {
        /// # Safety
        /// None.
        unsafe fn ask(&self);
    }
    /// Not tried.
    ///
    /// # Safety
    /// None.
    pub unsafe trait Promise {}
    /// Said of a stranger's type by the library itself.
    pub trait OfAll {}
    impl<T: ?Sized> OfAll for T {}
    /// The same, and open for what has no size.
    pub trait OfSized {}
    impl<T> OfSized for T {}

    /// Can be named, and what it is built on cannot.
    pub trait Named: sealed::Makes {}
    impl sealed::Makes for crate::token::Warp {
        fn make(_: u32) -> Self {
            loop {}
        }
    }
    impl Named for crate::token::Warp {}
}

#[doc(hidden)]
pub mod support {
    pub use crate::inner::*;
}

mod inner {
    use crate::ptx::addr::Addr;
    use crate::token::{Set, Warp};

    /// Open: hidden, and a path leads to it.
    pub trait Hidden {}

    /// A region.
    pub struct Region(u32);
    impl Region {
        /// Sound.
        pub fn go_on(self) -> Region {
            self
        }
        /// Sound.
        ///
        /// # Safety
        /// None.
        pub unsafe fn at(base: Addr) -> Region {
            let _ = base;
            Region(0)
        }
        pub fn again(&self) -> Region {
            Region(self.0)
        }
        pub fn of_threads<S: Set>(set: &mut S) -> Option<Region> {
            let _ = set;
            None
        }
        pub fn lend(number: u32, borrow: impl FnOnce(&mut Region)) {
            borrow(&mut Region(number))
        }
        fn private() -> Region {
            Region(0)
        }
        #[doc(hidden)]
        pub fn renew(&mut self) {
            *self = Region::private();
        }
    }

    /// For each tuple.
    pub trait Followers: crate::seal::Sealed {
        #[doc(hidden)]
        fn of(base: Addr) -> Self;
    }
    impl crate::seal::Sealed for (Region, Warp) {}
    impl Followers for (Region, Warp) {
        fn of(_: Addr) -> Self {
            loop {}
        }
    }
    /// What a caller takes apart.
    pub enum Answer {
        Yes(Region),
        No,
    }
    pub fn ask(raw: *const u32) -> Result<Answer, ()> {
        let _ = raw;
        Err(())
    }
}

mod seal {
    pub trait Sealed {}
}
