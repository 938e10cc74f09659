//! Device memory, and the map of addresses.
//!
//! Generic addresses: shared memory of the cluster, local memory, kernel parameters and functions
//! each have a window of 4 GiB, so that the lower half of an address is the address inside its
//! space; global memory (constants included) lies above. A shared address holds the cluster rank
//! of its CTA in bits 24 and up, and starts at 1 KiB.

use crate::error::{Error, Fault};

/// Windows, by the upper half of an address.
pub(crate) const SHARED_WINDOW: u64 = 1;
pub(crate) const LOCAL_WINDOW: u64 = 2;
pub(crate) const PARAM_WINDOW: u64 = 3;
pub(crate) const FUNCTION_WINDOW: u64 = 4;
/// Start of global memory.
pub(crate) const GLOBAL_BASE: u64 = 0x10_0000_0000;
/// Set in the multimem address of global memory.
pub(crate) const MULTIMEM: u64 = 1 << 46;
/// Offset of the first byte of a CTA's shared memory.
pub(crate) const SHARED_BASE: u32 = 1024;
/// Where the rank starts in a shared address.
pub(crate) const RANK_SHIFT: u32 = 24;
/// What fresh memory holds: NaN in every floating-point format.
pub(crate) const FRESH: u8 = 0xFF;

/// Shared memory of a CTA, in bytes.
pub(crate) const MAX_SHARED: u32 = 227 << 10;

/// Local memory of a thread (PTX ISA 5.1.5).
pub(crate) const LOCAL_LIMIT: u64 = 512 << 10;
/// Local memory of all threads that run at once.
pub(crate) const LOCAL_TOTAL: u64 = 4 << 30;

/// Free space between allocations, so that a run past the end of one hits nothing.
const GUARD: u64 = 256;

/// Bytes behind an allocation from which on an address has nothing to do with it.
const FAR: u64 = 1 << 30;

#[derive(Clone, Copy, Debug)]
struct Allocation {
    start: u64,
    bytes: u64,
    read_only: bool,
}

/// The global memory of a device.
#[derive(Debug)]
pub(crate) struct Memory {
    bytes: Vec<u8>,
    /// Sorted by start.
    allocations: Vec<Allocation>,
    limit: u64,
    /// The allocation of the last access.
    last: Allocation,
    /// A bit for each byte that was written, where that is asked for.
    written: Option<Vec<u64>>,
}

const NONE: Allocation = Allocation { start: 0, bytes: 0, read_only: false };

impl Memory {
    /// Empty memory; `tracks` whether bytes have been written.
    pub fn new(limit: u64, tracks: bool) -> Memory {
        let written = tracks.then(Vec::new);
        Memory { bytes: Vec::new(), allocations: Vec::new(), limit, last: NONE, written }
    }

    /// Bytes are written.
    #[inline]
    pub fn mark(&mut self, at: usize, bytes: usize) {
        self.set_written(at, bytes, true);
    }

    fn set_written(&mut self, at: usize, bytes: usize, value: bool) {
        let Some(written) = &mut self.written else { return };
        for (word, bits) in words(at, bytes) {
            if value {
                written[word] |= bits;
            } else {
                written[word] &= !bits;
            }
        }
    }

    /// Whether every byte has been written, as far as that is known.
    pub fn is_written(&self, at: usize, bytes: usize) -> bool {
        let Some(written) = &self.written else { return true };
        words(at, bytes).all(|(word, bits)| written[word] & bits == bits)
    }

    pub fn alloc(&mut self, bytes: u64, align: u64) -> Result<u64, String> {
        if !align.is_power_of_two() {
            return Err(format!("alignment {align} is not a power of two"));
        }
        let align = align.max(256);
        // First fit between the allocations.
        let mut start = GLOBAL_BASE;
        let mut at = self.allocations.len();
        for (i, a) in self.allocations.iter().enumerate() {
            if start
                .checked_add(bytes)
                .and_then(|e| e.checked_add(GUARD))
                .is_some_and(|e| e <= a.start)
            {
                at = i;
                break;
            }
            start = (a.start + a.bytes + GUARD).next_multiple_of(align);
        }
        start = start.next_multiple_of(align);
        let end = start.checked_add(bytes).map(|e| e - GLOBAL_BASE);
        let Some(end) = end.filter(|&e| e <= self.limit) else {
            return Err(format!(
                "{bytes} bytes do not fit into the {} of the emulated device; allocate less or \
                 raise `Options::global_bytes`",
                self.limit
            ));
        };
        if self.bytes.len() < end as usize {
            self.bytes.resize(end as usize, FRESH);
        }
        let first = (start - GLOBAL_BASE) as usize;
        self.bytes[first..end as usize].fill(FRESH);
        if let Some(written) = &mut self.written {
            written.resize(self.bytes.len().div_ceil(64), 0);
        }
        self.set_written(first, bytes as usize, false);
        self.allocations.insert(at, Allocation { start, bytes, read_only: false });
        Ok(start)
    }

    pub fn protect(&mut self, start: u64) {
        if let Ok(i) = self.allocations.binary_search_by_key(&start, |a| a.start) {
            self.allocations[i].read_only = true;
        }
        self.last = NONE;
    }

    pub fn free(&mut self, start: u64) -> Result<(), String> {
        match self.allocations.binary_search_by_key(&start, |a| a.start) {
            Ok(i) => {
                let a = self.allocations.remove(i);
                let first = (a.start - GLOBAL_BASE) as usize;
                self.bytes[first..first + a.bytes as usize].fill(FRESH);
                self.last = NONE;
                Ok(())
            }
            Err(_) => Err(format!("{start:#x} is not the start of an allocation")),
        }
    }

    /// Where `bytes` bytes at `address` lie.
    #[inline]
    pub fn locate(&mut self, address: u64, bytes: u64, write: bool) -> Result<usize, Fault> {
        let inside = |a: &Allocation| {
            address >= a.start && address.wrapping_sub(a.start).saturating_add(bytes) <= a.bytes
        };
        if !inside(&self.last) {
            self.find(address, bytes)?;
        }
        if write && self.last.read_only {
            return Err(Fault::ReadOnly { address });
        }
        Ok((address - GLOBAL_BASE) as usize)
    }

    /// Where the bytes lie, if they lie in one allocation that allows the access.
    #[inline(always)]
    pub fn covers(&mut self, address: u64, bytes: u64, write: bool) -> Option<usize> {
        let inside = address >= self.last.start
            && (address - self.last.start).saturating_add(bytes) <= self.last.bytes;
        if !inside && self.find(address, bytes).is_err() || write && self.last.read_only {
            return None;
        }
        Some((address - GLOBAL_BASE) as usize)
    }

    #[cold]
    fn find(&mut self, address: u64, bytes: u64) -> Result<(), Fault> {
        let at = self.allocations.partition_point(|a| a.start <= address);
        let before = at.checked_sub(1).map(|i| self.allocations[i]);
        if let Some(a) = before
            && (address - a.start).saturating_add(bytes) <= a.bytes
        {
            self.last = a;
            return Ok(());
        }
        let detail = match before {
            Some(a) if address.saturating_sub(a.start + a.bytes) > FAR => format!(
                "the address is far outside of every allocation; the nearest one below has {} \
                 bytes at {:#x}",
                a.bytes, a.start
            ),
            Some(a) => {
                let past = address.saturating_add(bytes).saturating_sub(a.start + a.bytes);
                format!(
                    "they end {past} bytes behind the allocation of {} bytes at {:#x}",
                    a.bytes, a.start
                )
            }
            None if address < GLOBAL_BASE => {
                "no global allocation is there (a null or integer pointer?)".into()
            }
            None => "no allocation is there".into(),
        };
        Err(Fault::OutOfBounds { space: "global", address, bytes, detail })
    }

    pub fn slice(&self, at: usize, bytes: usize) -> &[u8] {
        &self.bytes[at..at + bytes]
    }

    pub fn slice_mut(&mut self, at: usize, bytes: usize) -> &mut [u8] {
        &mut self.bytes[at..at + bytes]
    }

    /// An access of the host.
    pub fn host(&self, address: u64, bytes: u64) -> Result<usize, Error> {
        let at = self.allocations.partition_point(|a| a.start <= address);
        let inside = at
            .checked_sub(1)
            .map(|i| self.allocations[i])
            .is_some_and(|a| (address - a.start).saturating_add(bytes) <= a.bytes);
        if inside || bytes == 0 {
            return Ok(address.saturating_sub(GLOBAL_BASE) as usize);
        }
        Err(Error::Host(format!(
            "{bytes} bytes of device memory at {address:#x} are not inside one allocation"
        )))
    }
}

/// The words of the bitmap that hold these bytes, with the bits.
fn words(at: usize, bytes: usize) -> impl Iterator<Item = (usize, u64)> {
    let end = at + bytes;
    (at / 64..end.div_ceil(64)).map(move |word| {
        let low = at.saturating_sub(word * 64);
        let high = (end - word * 64).min(64);
        (word, u64::MAX << low & u64::MAX >> (64 - high))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_known() {
        let mut m = Memory::new(1 << 20, true);
        let a = m.alloc(200, 1).unwrap();
        let at = m.locate(a, 200, true).unwrap();
        assert!(!m.is_written(at, 1));
        m.mark(at + 3, 130);
        assert!(m.is_written(at + 3, 130) && !m.is_written(at + 2, 2));
        m.free(a).unwrap();
        m.alloc(200, 1).unwrap();
        assert!(!m.is_written(at + 3, 1));
    }

    #[test]
    fn allocations_have_bounds_and_are_reused() {
        let mut m = Memory::new(1 << 20, false);
        let a = m.alloc(100, 1).unwrap();
        let b = m.alloc(100, 4096).unwrap();
        assert_eq!(b % 4096, 0);
        assert!(m.locate(a + 96, 4, true).is_ok());
        assert!(matches!(m.locate(a + 97, 4, false), Err(Fault::OutOfBounds { .. })));
        assert!(m.locate(b, 100, false).is_ok());
        assert!(m.locate(0, 4, false).is_err());
        m.free(a).unwrap();
        assert!(m.locate(a, 1, false).is_err());
        assert!(m.free(a).is_err());
        assert_eq!(m.alloc(50, 1), Ok(a));
        m.protect(b);
        assert_eq!(m.locate(b, 1, true), Err(Fault::ReadOnly { address: b }));
        assert!(m.alloc(1 << 20, 1).is_err());
    }
}
