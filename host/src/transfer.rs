//! The host's own copies to and from a device's memory.
//!
//! They are work of the device's own order like any other, under the buffer's reservation from the first byte to the
//! last, and go through [`staging`](crate::staging). Writing returns when the bytes are staged; reading waits for the
//! copy's fence.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use crate::capturing;
use crate::device::Device;
use crate::driver::{Event, Queue};
use crate::error::Error;
use crate::fence::StreamFence;
use crate::lane::Giver;
use crate::memory::{Allocation, Resource};
use crate::reservation::{Access, Failure, Fence, Status};
use crate::staging::{Block, CHUNK};

/// How many blocks a copy of several pieces takes turns with.
const TURNS: usize = 2;

/// The pieces of a copy of so many bytes.
fn pieces(bytes: usize) -> impl Iterator<Item = Range<usize>> {
    (0..bytes).step_by(CHUNK).map(move |from| from..(from + CHUNK).min(bytes))
}

/// A block whose part has an event of its own, and which part.
type Turn = (Block, Arc<dyn Event>, Range<usize>);

/// The blocks that one copy has used or is using.
pub(crate) struct Staged<'d> {
    device: &'d Device,
    turns: RefCell<VecDeque<Turn>>,
    used: RefCell<Vec<Block>>,
}

impl<'d> Staged<'d> {
    pub fn new(device: &'d Device) -> Self {
        Self { device, turns: RefCell::default(), used: RefCell::default() }
    }

    /// Waits until the first of the turns has ended, and takes its block.
    fn turn(&self) -> Result<Option<(Block, Range<usize>)>, Error> {
        let Some((block, event, piece)) = self.turns.borrow_mut().pop_front() else {
            return Ok(None);
        };
        let failure = match event.wait(None) {
            Ok(Status::Failed(failure)) | Err(failure) => failure,
            Ok(_) => return Ok(Some((block, piece))),
        };
        self.used.borrow_mut().push(block);
        Err(copy_failed(failure))
    }

    fn block(&self, bytes: usize) -> Result<Block, Error> {
        if self.turns.borrow().len() >= TURNS
            && let Some((block, _)) = self.turn()?
        {
            return Ok(block);
        }
        self.device.staging().take(self.device.driver(), bytes)
    }

    /// Puts `bytes` to `address`, as a part of a piece of work.
    pub fn put(&self, giver: &Giver<'_>, address: u64, bytes: &[u8]) -> Result<(), Error> {
        for piece in pieces(bytes.len()) {
            let mut block = self.block(piece.len())?;
            block.put(&bytes[piece.clone()]);
            let (host, to, len) = (block.host(), address + piece.start as u64, piece.len());
            let given = giver.give(|queue| queue.upload(host, to, len));
            // The end of the last is the work's own.
            let event = match given {
                Ok(()) if piece.end < bytes.len() => giver.give(Queue::record),
                given => {
                    self.used.borrow_mut().push(block);
                    given?;
                    continue;
                }
            };
            match event {
                Ok(event) => self.turns.borrow_mut().push_back((block, event, piece)),
                Err(error) => {
                    self.used.borrow_mut().push(block);
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    /// Gets bytes from `address`, as a part of a piece of work; those that fit one block are there when that has ended,
    /// and then [`Staged::rest`] has them.
    fn get(&self, giver: &Giver<'_>, address: u64, out: &mut [u8]) -> Result<(), Error> {
        let whole = out.len();
        for piece in pieces(whole) {
            if self.turns.borrow().len() >= TURNS {
                self.get_turn(out)?;
            }
            let block = self.device.staging().take(self.device.driver(), piece.len())?;
            let (host, from, len) = (block.host(), address + piece.start as u64, piece.len());
            let event = giver.give(|queue| {
                queue.download(from, host, len)?;
                if whole > CHUNK { queue.record().map(Some) } else { Ok(None) }
            });
            match event {
                Ok(Some(event)) => self.turns.borrow_mut().push_back((block, event, piece)),
                event => {
                    self.used.borrow_mut().push(block);
                    event?;
                }
            }
        }
        while !self.turns.borrow().is_empty() {
            self.get_turn(out)?;
        }
        Ok(())
    }

    fn get_turn(&self, out: &mut [u8]) -> Result<(), Error> {
        if let Some((block, piece)) = self.turn()? {
            block.get(&mut out[piece]);
            self.used.borrow_mut().push(block);
        }
        Ok(())
    }

    /// The bytes that fit one block, of a copy that has ended.
    fn rest(&self, out: &mut [u8]) {
        if out.len() <= CHUNK
            && let Some(block) = self.used.borrow().first()
        {
            block.get(out);
        }
    }

    /// Gives the blocks back, for when the work has ended. Without its fence it is that of whatever was given last, in
    /// the same order.
    pub fn end(self, fence: Option<StreamFence>) {
        let fence = fence.or_else(|| self.device.own().last());
        let turns = self.turns.into_inner().into_iter().map(|(block, ..)| block);
        for block in turns.chain(self.used.into_inner()) {
            if let Some(fence) = &fence {
                self.device.staging().give_back(block, fence);
            }
        }
    }
}

fn copy_failed(failure: Failure) -> Error {
    Error::WorkFailed { what: "a copy of the host's".into(), failure }
}

/// Writes `bytes` from `offset` on. Everything is overwritten if `access` says so.
pub(crate) fn write(
    allocation: &Allocation,
    offset: usize,
    bytes: &[u8],
    access: Access,
) -> Result<(), Error> {
    capturing::forbid("copying to the device")?;
    let device = allocation.device();
    let (staged, address) = (Staged::new(device), allocation.address() + offset as u64);
    let touched = [(allocation.reservation(), access)];
    let given = device.own().submit(&touched, "write", |giver| staged.put(giver, address, bytes));
    let (given, fence) = match given {
        Ok(((), fence)) => (Ok(()), Some(fence)),
        Err(error) => (Err(error), None),
    };
    staged.end(fence);
    given
}

/// Reads bytes from `offset` on.
pub(crate) fn read(allocation: &Allocation, offset: usize, out: &mut [u8]) -> Result<(), Error> {
    capturing::forbid("copying from the device")?;
    let device = allocation.device();
    let (staged, address) = (Staged::new(device), allocation.address() + offset as u64);
    let touched = [(allocation.reservation(), Access::Read)];
    let given = device.own().submit(&touched, "read", |giver| staged.get(giver, address, out));
    let (fence, ended) = match given {
        Err(error) => (None, Err(error)),
        Ok(((), fence)) => {
            let ended = match fence.wait(None) {
                Ok(Status::Failed(failure)) | Err(failure) => Err(fence.failed(failure)),
                Ok(_) => Ok(()),
            };
            (Some(fence), ended)
        }
    };
    if ended.is_ok() {
        staged.rest(out);
    }
    staged.end(fence);
    ended
}

/// Sets `len` bytes from `offset` on.
pub(crate) fn fill(
    allocation: &Allocation,
    offset: usize,
    len: usize,
    byte: u8,
    access: Access,
) -> Result<(), Error> {
    capturing::forbid("filling a buffer")?;
    let address = allocation.address() + offset as u64;
    let touched = [(allocation.reservation(), access)];
    let given = allocation.device().own().submit(&touched, "fill", |giver| match len {
        0 => Ok(()),
        _ => giver.give(|queue| queue.fill(address, len, byte)),
    });
    given.map(drop)
}
