//! What the host does for the kernel: buffers, the launch, and what every element has to be.

use baton_host::{Buffer, Device, Error, Image, Module};
use example_common::{Numbers, Outcome, Verdict};
use ring_kernel::{CHUNK, position};

/// The kernel, compiled by the build script.
pub static KERNELS: Image = baton_host::image!("ring_kernel");

/// Reverses the chunks of `elements` numbers, which `blocks` CTAs share.
pub fn run(
    device: &Device,
    module: &Module,
    elements: usize,
    blocks: u32,
    seed: u64,
) -> Result<Outcome, Error> {
    let mut numbers = Numbers::new(seed);
    let values: Vec<u32> = (0..elements).map(|_| numbers.bits() as u32).collect();
    let chunks = elements.div_ceil(CHUNK * blocks as usize) as u32;

    let input = Buffer::from_slice(device, &values)?;
    let mut output = Buffer::poisoned(device, elements)?;
    let call = ring_kernel::reverse(input.as_arg(), output.as_arg_mut(), chunks);
    let launch = device.launch(module, blocks, call)?;

    let mut expected = vec![0; elements];
    for (block, chunk) in (0..blocks).flat_map(|b| (0..u64::from(chunks)).map(move |c| (b, c))) {
        let at = |item| position(block, blocks, chunk, item) as usize;
        for item in 0..CHUNK as u32 {
            if let Some(place) = expected.get_mut(at(item)) {
                // What lies beyond the end takes part as zeros.
                *place = values.get(at(CHUNK as u32 - 1 - item)).copied().unwrap_or(0);
            }
        }
    }
    Ok(Outcome { launch, verdict: Verdict::exact(&expected, &output.to_vec()?) })
}
