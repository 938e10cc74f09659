//! A GPU as a device.

use std::ffi::{c_uint, c_void};
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use baton::launch::EncodedTensorMap;
use baton_emulator::tensor_map::TensorMapDesc;

use super::context::{Facts, GpuDriver};
use super::queue::GpuQueue;
use super::{module, tensor_map};
use crate::driver::{Code, Driver, GpuFacts, HostAddress, Queue, WaitPolicy, Want};
use crate::error::Error;
use crate::grid::Limits;
use crate::image::{Binary, Image};

impl Driver for GpuDriver {
    fn name(&self) -> &str {
        &self.0.facts.name
    }

    fn as_gpu(&self) -> Option<GpuFacts> {
        let Facts { index, compute_capability, .. } = self.0.facts;
        Some(GpuFacts { index, compute_capability })
    }

    fn alive(&self, doing: &str) -> Result<(), Error> {
        self.0.alive(doing)
    }

    fn limits(&self, _arch: &str) -> (Limits, String) {
        (self.0.facts.limits, self.0.facts.name.clone())
    }

    fn most_co_resident(&self) -> Option<u64> {
        None
    }

    fn load(&self, image: &Image) -> Result<(&'static Binary, Arc<dyn Code>), Error> {
        module::load(&self.0, image)
    }

    fn queue(&self, want: Want) -> Result<Box<dyn Queue>, Error> {
        Ok(Box::new(GpuQueue::new(&self.0, want)?))
    }

    unsafe fn foreign_queue(&self, raw: *mut c_void) -> Result<Box<dyn Queue>, Error> {
        Ok(Box::new(GpuQueue::foreign(&self.0, raw.cast())))
    }

    fn frees_in_order(&self) -> bool {
        self.0.facts.pools
    }

    fn free(&self, address: u64) {
        let Ok(_entered) = self.0.enter("freeing") else { return };
        // SAFETY: the address is `alloc`'s, its buffer is gone, and no work uses it.
        let _ = self.0.relaxed(|| unsafe { self.0.api.cuMemFree_v2(address) });
    }

    fn alloc_host(&self, bytes: usize) -> Result<HostAddress, Error> {
        let _entered = self.0.enter("allocating host memory")?;
        let mut host = ptr::null_mut();
        let doing = format!("page-locking {bytes} bytes of host memory");
        // SAFETY: the context is current; the pointer goes into one buffer, which frees it once.
        let locked =
            self.0.relaxed(|| unsafe { self.0.api.cuMemHostAlloc(&mut host, bytes.max(1), 0) });
        locked.map_err(self.0.failed(doing))?;
        Ok(HostAddress(host.cast()))
    }

    fn free_host(&self, host: HostAddress, _bytes: usize) {
        let Ok(_entered) = self.0.enter("freeing host memory") else { return };
        // SAFETY: the pointer is `alloc_host`'s, its owner is gone, and no work uses it.
        let _ = self.0.relaxed(|| unsafe { self.0.api.cuMemFreeHost(host.0.cast()) });
    }

    fn alloc_managed(&self, bytes: usize) -> Result<(u64, HostAddress), Error> {
        const GLOBAL: c_uint = 1;
        if !self.0.facts.managed {
            // The host would have to keep away from it while any kernel runs, which no buffer knows of.
            let device = self.0.facts.name.clone();
            return Err(Error::NoManagedMemory { device });
        }
        let _entered = self.0.enter("allocating managed memory")?;
        let mut address = 0;
        // SAFETY: the context is current; the address goes into one owner, which frees it once.
        let allocated = self.0.relaxed(|| unsafe {
            self.0.api.cuMemAllocManaged(&mut address, bytes.max(1), GLOBAL)
        });
        allocated.map_err(self.0.no_memory(bytes))?;
        // The host reaches it by the same address.
        Ok((address, HostAddress(ptr::with_exposed_provenance_mut(address as usize))))
    }

    fn free_managed(&self, address: u64, _host: HostAddress, _bytes: usize) {
        self.free(address);
    }

    fn encode(&self, map: &TensorMapDesc) -> Result<EncodedTensorMap, String> {
        tensor_map::encode(&self.0, map)
    }

    fn set_wait_policy(&self, policy: WaitPolicy) {
        self.0.policy.store(policy as u8, Ordering::Relaxed);
    }
}
