//! The access says what to wait for.

use baton::launch::{Call, DeviceSlice, DeviceSliceMut};
use baton_host::{Buffer, Error, Module, Stream, read, write};

fn scale<'a>(_: DeviceSlice<'a, f32>, _: DeviceSliceMut<'a, f32>, _: f32) -> Call<'a> {
    unimplemented!()
}

fn run(stream: &Stream, module: &Module, input: &Buffer<f32>, output: &mut Buffer<f32>) -> Result<(), Error> {
    stream.launch(module, 1, scale, (read(input), write(output), 2.0))?;
    Ok(())
}

fn main() {
    let _ = run;
}
