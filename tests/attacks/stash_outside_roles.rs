//! A role's token kept in a cell of the kernel.

use baton::prelude::*;
use baton::token::Role;
use std::cell::RefCell;

fn stash<'k>(cta: Cta<'k, NoShared, 32>) {
    let (cta, ()) = cta.claim();
    let cell: RefCell<Option<Warp<'k, Role<0>>>> = RefCell::new(None);
    let _ = cta.roles((warp(|w| {
        cell.replace(Some(w));
    }),));
}

fn main() {}
