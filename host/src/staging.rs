//! Page-locked memory through which the host's own copies go.
//!
//! A driver may read or write ordinary host memory at any time until a copy has ended, and who lends a slice for a
//! call gets it back when the call returns: so the driver gets memory of ours, which stays where it is until the fence
//! of the copy has signalled, whatever becomes of waiting for it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::driver::{Driver, HostAddress};
use crate::error::Error;
use crate::fence::StreamFence;
use crate::reservation::{Fence, Status};

/// The most bytes of one block; longer copies are made of several.
pub(crate) const CHUNK: usize = 4 << 20;

/// The least, so that small copies share their blocks.
const LEAST: usize = 16 << 10;

/// How many blocks are kept for the next copy.
const IDLE: usize = 4;

/// How many copies may be going on before another one waits for the first of them.
const BUSY: usize = 16;

/// Host memory for one copy.
pub(crate) struct Block {
    driver: Arc<dyn Driver>,
    host: HostAddress,
    bytes: usize,
}

impl Block {
    pub fn host(&self) -> HostAddress {
        self.host
    }

    /// Puts bytes at its beginning; no more than it was taken for.
    pub fn put(&mut self, bytes: &[u8]) {
        let count = bytes.len().min(self.bytes);
        // SAFETY: the block has as many bytes, and no copy is going on: it was just taken.
        unsafe { self.host.0.copy_from_nonoverlapping(bytes.as_ptr(), count) }
    }

    /// Takes bytes from its beginning, of a copy that has ended.
    pub fn get(&self, bytes: &mut [u8]) {
        let count = bytes.len().min(self.bytes);
        // SAFETY: as above; the copy has written them.
        unsafe { self.host.0.copy_to_nonoverlapping(bytes.as_mut_ptr(), count) }
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        self.driver.free_host(self.host, self.bytes);
    }
}

/// The blocks of a device.
#[derive(Default)]
pub(crate) struct Staging(Mutex<Blocks>);

#[derive(Default)]
struct Blocks {
    idle: Vec<Block>,
    busy: VecDeque<(Block, StreamFence)>,
}

impl Staging {
    /// A block for so many bytes, [`CHUNK`] at most.
    pub fn take(&self, driver: &Arc<dyn Driver>, bytes: usize) -> Result<Block, Error> {
        let mut blocks = self.blocks();
        blocks.look();
        if blocks.busy.len() >= BUSY {
            blocks.wait();
        }
        let fits = |(_, block): &(usize, &Block)| block.bytes >= bytes;
        let best = blocks.idle.iter().enumerate().filter(fits).min_by_key(|(_, block)| block.bytes);
        if let Some((index, _)) = best {
            return Ok(blocks.idle.swap_remove(index));
        }
        drop(blocks);
        let bytes = bytes.next_power_of_two().max(LEAST);
        let host = driver.alloc_host(bytes)?;
        Ok(Block { driver: Arc::clone(driver), host, bytes })
    }

    /// Takes a block back that a copy uses until the fence has signalled.
    pub fn give_back(&self, block: Block, fence: &StreamFence) {
        let mut blocks = self.blocks();
        match fence.status() {
            Status::Pending => blocks.busy.push_back((block, fence.clone())),
            _ => blocks.keep(block),
        }
    }

    /// Waits for all copies. What may still be in use, because a device does not answer, is not given back.
    pub fn finish(&self) {
        let mut blocks = self.blocks();
        blocks.idle.clear();
        for (block, fence) in blocks.busy.drain(..) {
            if fence.wait(None).is_err() {
                std::mem::forget(block);
            }
        }
    }

    fn blocks(&self) -> MutexGuard<'_, Blocks> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Blocks {
    fn keep(&mut self, block: Block) {
        if self.idle.len() < IDLE {
            self.idle.push(block);
        }
    }

    /// Looks whether the first copies have ended; no more than two, because each take adds one at most.
    fn look(&mut self) {
        for _ in 0..2 {
            match self.busy.front() {
                Some((_, fence)) if fence.poll().is_ok_and(|status| status.is_signaled()) => {
                    if let Some((block, _)) = self.busy.pop_front() {
                        self.keep(block);
                    }
                }
                _ => return,
            }
        }
    }

    fn wait(&mut self) {
        if let Some((block, fence)) = self.busy.pop_front() {
            match fence.wait(None) {
                Ok(_) => self.keep(block),
                // The device does not say: it stays where it is.
                Err(_) => self.busy.push_back((block, fence)),
            }
        }
    }
}
