//! The kernel writes its output, and the launch is told that it reads it.

use baton::launch::{Call, DeviceSlice, DeviceSliceMut};
use baton_host::{Buffer, Error, Module, Stream, read};

fn scale<'a>(_: DeviceSlice<'a, f32>, _: DeviceSliceMut<'a, f32>, _: f32) -> Call<'a> {
    unimplemented!()
}

fn run(stream: &Stream, module: &Module, input: &Buffer<f32>, output: &Buffer<f32>) -> Result<(), Error> {
    stream.launch(module, 1, scale, (read(input), read(output), 2.0))?;
    Ok(())
}

fn main() {}
