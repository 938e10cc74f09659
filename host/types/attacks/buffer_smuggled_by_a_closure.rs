//! The call has a buffer that the launch does not know of.

use baton::launch::{Call, DeviceSlice, DeviceSliceMut};
use baton_host::{Buffer, Error, Module, Stream, write};

fn scale<'a>(_: DeviceSlice<'a, f32>, _: DeviceSliceMut<'a, f32>, _: f32) -> Call<'a> {
    unimplemented!()
}

fn run(stream: &Stream, module: &Module, input: &Buffer<f32>, output: &mut Buffer<f32>) -> Result<(), Error> {
    let smuggled = move |output, factor| scale(input.as_arg(), output, factor);
    stream.launch(module, 1, smuggled, (write(output), 2.0))?;
    Ok(())
}

fn main() {}
