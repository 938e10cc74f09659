//! The exit of a kernel, made with the literal of its struct.

use baton::prelude::*;
use core::marker::PhantomData;

fn forge<'k>() -> Exit<'k> {
    Exit(PhantomData, PhantomData)
}

fn main() {}
