//! Memory that host and device share: managed memory, and pinned host memory.
//!
//! The emulator has its own bytes for each address; the host needs pages at the same address. Both are made equal before
//! and after each launch: the host's word counts in between.

use std::ptr;

/// Bytes of a page at least.
pub const PAGE: u64 = 4096;

/// Pages of the host at a chosen address.
#[derive(Debug)]
pub struct Pages {
    address: u64,
    bytes: usize,
}

impl Pages {
    /// Maps zeros at an address, unless something is there already.
    pub fn at(address: u64, bytes: u64) -> Option<Pages> {
        let bytes = usize::try_from(bytes.next_multiple_of(PAGE)).ok()?;
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE
            | libc::MAP_ANONYMOUS
            | libc::MAP_FIXED_NOREPLACE
            | libc::MAP_NORESERVE;
        let wanted = ptr::without_provenance_mut(usize::try_from(address).ok()?);
        // SAFETY: `MAP_FIXED_NOREPLACE` takes no place that is in use, so that nobody's memory changes.
        let got = unsafe { libc::mmap(wanted, bytes, protection, flags, -1, 0) };
        if got == libc::MAP_FAILED {
            return None;
        }
        let pages = Pages { address: got as u64, bytes };
        // A kernel that does not know the flag takes the address for a wish; dropping unmaps.
        (pages.address == address).then_some(pages)
    }

    /// Where they are.
    pub fn address(&self) -> u64 {
        self.address
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: `at` mapped them, and the program gave them back.
        unsafe {
            libc::munmap(ptr::with_exposed_provenance_mut(self.address as usize), self.bytes)
        };
    }
}

/// Copies host memory.
///
/// # Safety
/// `bytes` bytes at `from` can be read.
pub unsafe fn read(from: u64, bytes: usize) -> Vec<u8> {
    let mut all = vec![0; bytes];
    // SAFETY: the caller says that the source can be read; the vector has as many bytes, and nobody else knows it.
    unsafe {
        ptr::copy(ptr::with_exposed_provenance::<u8>(from as usize), all.as_mut_ptr(), bytes)
    };
    all
}

/// Copies to host memory.
///
/// # Safety
/// As many bytes at `to` can be written.
pub unsafe fn write(to: u64, bytes: &[u8]) {
    let to = ptr::with_exposed_provenance_mut::<u8>(to as usize);
    // SAFETY: the caller says that the destination can be written.
    unsafe { ptr::copy(bytes.as_ptr(), to, bytes.len()) };
}
