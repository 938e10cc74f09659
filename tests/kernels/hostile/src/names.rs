//! Every name that a macro may write means something else here: types, modules, macros, and a trait of which everything
//! has every constant and every function.
#![allow(non_camel_case_types, non_snake_case, dead_code, missing_docs, unused_macros)]
#![allow(clippy::len_without_is_empty, clippy::new_ret_no_self)]

use ::baton::prelude::*;

macro_rules! assert {
    ($($t:tt)*) => {
        ::core::compile_error!("not this one")
    };
}
macro_rules! concat {
    ($($t:tt)*) => {
        ::core::compile_error!("not this one")
    };
}
macro_rules! stringify {
    ($($t:tt)*) => {
        ::core::compile_error!("not this one")
    };
}
macro_rules! panic {
    ($($t:tt)*) => {
        ::core::compile_error!("not this one")
    };
}
macro_rules! file {
    ($($t:tt)*) => {
        ::core::compile_error!("not this one")
    };
}
macro_rules! line {
    ($($t:tt)*) => {
        ::core::compile_error!("not this one")
    };
}
macro_rules! module_path {
    ($($t:tt)*) => {
        ::core::compile_error!("not this one")
    };
}
macro_rules! asm {
    ($($t:tt)*) => {
        ::core::compile_error!("not this one")
    };
}

/// A word of the device.
type Word = ::core::primitive::u32;

pub struct u8;
pub struct u32;
pub struct u64;
pub struct usize;
pub struct bool;
pub struct str;
pub struct Option;
pub struct Result;
pub struct Some;
pub struct None;
pub struct Ok;
pub struct Err;
pub struct Self_;
pub struct Params;
pub struct Parts;
pub struct Call;
pub struct Shape;
pub struct Layout;
pub struct Field;
pub struct Base;
pub struct Line;
pub struct Piece;
pub struct PhantomData;
pub struct Fields;
pub struct Tag;
pub mod core {}
pub mod std {}
pub mod baton {}
pub mod macro_support {}
pub mod launch {}
pub mod layout {}

/// Everything has all of this.
pub trait Everything {
    const BYTES: Word = 1;
    const ALIGN: Word = 3;
    const COLUMNS: Word = 5;
    const PAIR: ::core::primitive::bool = true;
    const CLUSTER: Word = 7;
    const ARRIVES_ON_CLUSTER: ::core::primitive::bool = true;
    const ASKS: Word = 9;
    const REMOTE_BARRIERS: ::core::primitive::bool = false;
    const THREADS: Word = 11;
    const DEPENDENT: ::core::primitive::bool = true;
    const INDEX: Word = 13;
    const NEEDS: Word = 15;
    const PIECES: Word = 17;
    const CONVERSIONS: Word = 19;
    fn receive(&self) {}
    fn push(&self) {}
    fn root() {}
    fn init(&self) {}
    fn part(&self) {}
    fn parts(&self) {}
    fn new() {}
    fn display(&self) {}
    fn offset(&self) {}
    fn pack(&self) {}
    fn bits(&self) {}
    fn len(&self) {}
}
impl<T: ?Sized> Everything for T {}

::baton::shared! {
    /// Fields with the names of what the macro makes, of primitives, and of keywords.
    pub struct Smem in smem {
        /// A ring.
        r#in: Stages<2, Linear<Word, 32>, ByThreads, ByThreads>,
        r#type: Exchange<Word, 32>,
        core: Exchange<Word, 64>,
        u32: Exchange<Word, 32>,
        baton: Exchange<Word, 32>,
        base: Exchange<Word, 32>,
        tensor: Exchange<Word, 32>,
        parts: Exchange<Word, 32>,
    }
}

::baton::shared! {
    /// A second one, in the same module.
    pub(crate) struct Other in Word_ { core: Exchange<Word, 32> }
}

/// Uses all of them.
#[::baton::kernel(threads = 32)]
pub fn hidden_names(cta: Cta<'_, Smem, 32>, out: GlobalPtr<Word>, add: Word) -> Exit<'_> {
    let (mut cta, smem::Parts { r#type, core, parts, .. }) = cta.claim();
    let first = r#type.open(&mut cta).fill(&mut cta, |i| i).arrive(&mut cta).wait(&mut cta);
    let second = core.open(&mut cta).fill(&mut cta, |i| 100 * i).arrive(&mut cta).wait(&mut cta);
    let third = parts.open(&mut cta).fill(&mut cta, |i| 10_000 * i).arrive(&mut cta).wait(&mut cta);
    ::baton::assert!(add < 10);
    ::baton::assert!(add < 10, "a small number");
    if add == 9 {
        let value = add;
        let line = 2.5f32;
        ::baton::println!("{value} {:.1} {value:x} {line}", line);
        ::baton::print!("none\n");
    }
    for mut element in out.partition(&cta) {
        element.put(first.get(31) + second.get(63) + third.get(30) + add);
    }
    first.close(&mut cta);
    second.close(&mut cta);
    third.close(&mut cta);
    cta.join().exit(())
}

/// The layout with the module that is called like a type.
#[::baton::kernel(threads = 32)]
pub fn hidden_module(cta: Cta<'_, Other, 32>, out: GlobalPtr<Word>) -> Exit<'_> {
    let (mut cta, Word_::Parts { core }) = cta.claim();
    let region = core.open(&mut cta).fill(&mut cta, |i| 5 * i).arrive(&mut cta).wait(&mut cta);
    for mut element in out.partition(&cta) {
        element.put(region.get(20));
    }
    region.close(&mut cta);
    cta.join().exit(())
}

/// A kernel that is called like the macro's own function could be.
#[::baton::kernel(threads = 32)]
pub fn run(cta: Cta<'_, NoShared, 32>, out: GlobalPtr<Word>) -> Exit<'_> {
    let (cta, ()) = cta.claim();
    for mut element in out.partition(&cta) {
        element.put(91);
    }
    cta.join().exit(())
}

/// As above.
#[::baton::kernel(threads = 32)]
pub fn body(cta: Cta<'_, NoShared, 32>, out: GlobalPtr<Word>) -> Exit<'_> {
    let (cta, ()) = cta.claim();
    for mut element in out.partition(&cta) {
        element.put(92);
    }
    cta.join().exit(())
}
