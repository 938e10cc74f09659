//! The launch does not know that the kernel reads `input`, and so does not wait for those that write it.

use baton::launch::{Call, DeviceSlice, DeviceSliceMut};
use baton_host::{Buffer, Error, Module, Stream, write};

fn scale<'a>(_: DeviceSlice<'a, f32>, _: DeviceSliceMut<'a, f32>, _: f32) -> Call<'a> {
    unimplemented!()
}

fn run(stream: &Stream, module: &Module, input: &Buffer<f32>, output: &mut Buffer<f32>) -> Result<(), Error> {
    stream.launch(module, 1, scale, (input.as_arg(), write(output), 2.0))?;
    Ok(())
}

fn main() {}
