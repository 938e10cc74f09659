//! GPUs, through the CUDA driver.
//!
//! The driver library is loaded at run time (`api`), and what its codes mean is said in `result`. Three rules
//! hold for every call here:
//!
//! - *The thread is left as it was.* A call needs the GPU's primary context to be current; `Gpu::enter` makes it
//!   so and puts back what was current before, which may be another library's.
//! - *Nobody's capture is spoiled.* What the driver calls potentially unsafe during captures is done in relaxed mode
//!   (`Gpu::relaxed`): it needs no stream's order, so no capture misses it. Nothing waits for a whole context, and
//!   nothing is on the legacy stream.
//! - *A lost device is known.* A code that says that nothing works any more is kept, and the driver is not asked again.

mod api;
mod context;
mod device;
mod event;
mod module;
mod queue;
mod result;
mod tensor_map;
mod words;

pub(crate) use context::{GpuDriver, count, facts};
