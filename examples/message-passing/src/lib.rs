//! What the host does for the kernel: buffers, the launch, and what every element has to be.

use baton_host::{Buffer, Device, Error, Image, Module, SyncBuffer};
use example_common::{Outcome, Verdict};
use message_passing_kernel::{THREADS, message};

/// The kernel, compiled by the build script.
pub static KERNELS: Image = baton_host::image!("message_passing_kernel");

/// Exchanges two messages of `elements` words.
pub fn run(device: &Device, module: &Module, elements: usize, seed: u32) -> Result<Outcome, Error> {
    let [mut ping, mut pong, mut output] = [
        Buffer::<u32>::poisoned(device, elements)?,
        Buffer::<u32>::poisoned(device, elements)?,
        Buffer::<u32>::poisoned(device, elements)?,
    ];
    // A flag is zero until the message is there.
    let [mut ping_flag, mut pong_flag] = [SyncBuffer::new(device)?, SyncBuffer::new(device)?];

    let call = message_passing_kernel::exchange(
        (ping_flag.reset()?, ping.as_arg_mut()),
        (pong_flag.reset()?, pong.as_arg_mut()),
        output.as_arg_mut(),
        seed,
    );
    let launch = device.launch(module, 2, call)?;

    // The threads of CTA 0 and CTA 1 own the elements in turns of `THREADS`; each copies what the other sent.
    let sender = |index: u64| 1 - (index / u64::from(THREADS)) as u32 % 2;
    let expected: Vec<u32> =
        (0..elements as u64).map(|index| message(seed, sender(index), index)).collect();
    Ok(Outcome { launch, verdict: Verdict::exact(&expected, &output.to_vec()?) })
}
