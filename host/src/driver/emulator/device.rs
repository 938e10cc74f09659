//! The emulator as a device.

use std::alloc::Layout;
use std::sync::Arc;

use baton::launch::EncodedTensorMap;
use baton_emulator::Program;
use baton_emulator::tensor_map::{self, TensorMapDesc};
use baton_ptx::lines::LineTable;

use super::code::EmulatedCode;
use super::queue::EmulatorQueue;
use super::shared::{Emulator, NAME};
use crate::driver::{ALIGNMENT, Code, Driver, GpuFacts, HostAddress, Queue, WaitPolicy, Want};
use crate::error::Error;
use crate::grid::Limits;
use crate::image::{Arch, Binary, Image};

impl Driver for Emulator {
    fn name(&self) -> &str {
        NAME
    }

    fn as_gpu(&self) -> Option<GpuFacts> {
        None
    }

    fn alive(&self, _doing: &str) -> Result<(), Error> {
        Ok(())
    }

    fn limits(&self, arch: &str) -> (Limits, String) {
        (limits(arch), arch.to_owned())
    }

    fn most_co_resident(&self) -> Option<u64> {
        Some(baton_emulator::RESIDENT as u64)
    }

    fn load(&self, image: &Image) -> Result<(&'static Binary, Arc<dyn Code>), Error> {
        let binary = match &self.arch {
            Some(arch) => image.binary(arch),
            None => image.binaries.first(),
        };
        let binary = binary.ok_or_else(|| Error::NoSuchTarget {
            image: image.name,
            arch: self.arch.clone().unwrap_or_else(|| "any target".into()),
            built: image.archs(),
        })?;
        let lines = match binary.lines {
            "" => None,
            lines => Some(LineTable::parse(lines).map_err(|error| Error::DamagedLines {
                image: image.name,
                arch: binary.arch,
                reason: error.to_string(),
            })?),
        };
        let name = format!("{}.{}.ptx", image.name, binary.arch);
        let program = Program::load(binary.ptx, &name, lines).map_err(Box::new)?;
        Ok((binary, Arc::new(EmulatedCode(Arc::new(program)))))
    }

    fn queue(&self, want: Want) -> Result<Box<dyn Queue>, Error> {
        Ok(Box::new(EmulatorQueue::new(Arc::clone(&self.shared), want)))
    }

    fn frees_in_order(&self) -> bool {
        true
    }

    fn free(&self, address: u64) {
        // Only an address that is no allocation fails, and this one is.
        let _ = self.shared.state().machine.free(address);
    }

    fn alloc_host(&self, bytes: usize) -> Result<HostAddress, Error> {
        let layout = host_layout(bytes).ok_or(Error::TooLarge { len: bytes, size: 1 })?;
        // SAFETY: the layout has at least one byte.
        let address = unsafe { std::alloc::alloc(layout) };
        if address.is_null() {
            return Err(Error::TooLarge { len: bytes, size: 1 });
        }
        Ok(HostAddress(address))
    }

    fn free_host(&self, host: HostAddress, bytes: usize) {
        if let Some(layout) = host_layout(bytes) {
            // SAFETY: it was allocated with this layout, and the caller says that nothing uses it.
            unsafe { std::alloc::dealloc(host.0, layout) }
        }
    }

    fn alloc_managed(&self, bytes: usize) -> Result<(u64, HostAddress), Error> {
        let address = self.shared.alloc(bytes)?;
        match self.alloc_host(bytes) {
            Ok(host) => Ok((address, host)),
            Err(error) => {
                self.free(address);
                Err(error)
            }
        }
    }

    fn free_managed(&self, address: u64, host: HostAddress, bytes: usize) {
        self.free(address);
        self.free_host(host, bytes);
    }

    fn host_sees(&self, address: u64, host: HostAddress, bytes: usize) {
        // SAFETY: it has that many bytes, and nobody else looks at them now.
        let host = unsafe { std::slice::from_raw_parts_mut(host.0, bytes) };
        // Only an address that is no allocation fails, and this one is.
        let _ = self.shared.state().machine.read(address, host);
    }

    fn device_sees(&self, address: u64, host: HostAddress, bytes: usize) {
        // SAFETY: it has that many bytes, and nobody writes them now.
        let host = unsafe { std::slice::from_raw_parts(host.0, bytes) };
        let _ = self.shared.state().machine.write(address, host);
    }

    fn encode(&self, map: &TensorMapDesc) -> Result<EncodedTensorMap, String> {
        let bytes = tensor_map::encode(map).map_err(|error| error.to_string())?;
        let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|byte| bytes[8 * at + byte]));
        Ok(EncodedTensorMap(std::array::from_fn(word)))
    }

    fn set_seed(&self, seed: u64) {
        let mut state = self.shared.state();
        state.machine.set_seed(seed);
        state.streams.set_seed(seed);
    }

    fn set_wait_policy(&self, _policy: WaitPolicy) {}
}

fn host_layout(bytes: usize) -> Option<Layout> {
    Layout::from_size_align(bytes.max(1), ALIGNMENT as usize).ok()
}

/// The limits of the GPUs that a target is for, by the compute capability tables of the CUDA
/// programming guide.
fn limits(arch: &str) -> Limits {
    const KIB: u32 = 1024;
    let capability = arch.parse::<Arch>().map_or((0, 0), |arch| arch.capability);
    let shared = match capability {
        (9..=11, _) => 227 * KIB,
        (8, 0 | 7) => 163 * KIB,
        (8.., _) => 99 * KIB,
        (7, 5) => 64 * KIB,
        (7, _) => 96 * KIB,
        _ => 48 * KIB,
    };
    // 8 CTAs everywhere; GPUs that have 16 ask for a non-portable launch.
    let cluster = if capability.0 >= 9 { 8 } else { 1 };
    Limits {
        threads: 1024,
        block: [1024, 1024, 64],
        grid: [i32::MAX as u32, 65535, 65535],
        shared,
        cluster,
    }
}

#[cfg(test)]
mod tests {
    use super::super::streams::Stepped;
    use super::*;
    use crate::options::EmulatorOptions;

    fn finish(emulator: &Emulator) {
        while emulator.shared.step() == Stepped::Did {}
    }

    /// One stream fills, another copies. What the copy has got at the end.
    fn copied(seed: u64, ordered: bool) -> [u8; 4] {
        let emulator = Emulator::new(EmulatorOptions::default().with_seed(seed));
        let [writer, reader] = [(); 2].map(|()| emulator.queue(Want::default()).unwrap());
        let (from, to) = (writer.alloc(4).unwrap(), writer.alloc(4).unwrap());
        writer.fill(from, 4, 1).unwrap();
        finish(&emulator);
        writer.fill(from, 4, 2).unwrap();
        let written = writer.record().unwrap();
        if ordered {
            reader.wait(&*written).unwrap();
        }
        reader.copy(from, to, 4).unwrap();
        finish(&emulator);
        let mut bytes = [0; 4];
        emulator.shared.state().machine.read(to, &mut bytes).unwrap();
        bytes
    }

    #[test]
    fn a_missing_wait_shows_in_the_values_under_some_seed() {
        let seeds = 0..64;
        assert!(seeds.clone().all(|seed| copied(seed, true) == [2; 4]));
        let values: Vec<_> = seeds.clone().map(|seed| copied(seed, false)).collect();
        assert!(values.contains(&[1; 4]) && values.contains(&[2; 4]), "{values:?}");
        // The same seed is the same run.
        let again: Vec<_> = seeds.map(|seed| copied(seed, false)).collect();
        assert_eq!(values, again);
    }

    #[test]
    fn a_stream_whose_queue_is_empty_leaves_nothing_behind() {
        let emulator = Emulator::new(EmulatorOptions::default());
        let [idle, busy] = [(); 2].map(|()| emulator.queue(Want::default()).unwrap());
        let address = busy.alloc(4).unwrap();
        busy.fill(address, 4, 1).unwrap();
        drop((idle, busy));
        assert_eq!(emulator.shared.state().streams.queues.len(), 1);
        finish(&emulator);
        assert!(emulator.shared.state().streams.queues.is_empty());
    }
}
