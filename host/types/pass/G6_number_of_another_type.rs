//! The float that the kernel takes.

use baton::launch::{Call, DeviceSliceMut};
use baton_host::{Buffer, Error, Module, Stream, write};

fn fill<'a>(_: DeviceSliceMut<'a, f32>, _: f32) -> Call<'a> {
    unimplemented!()
}

fn run(stream: &Stream, module: &Module, output: &mut Buffer<f32>) -> Result<(), Error> {
    stream.launch(module, 1, fill, (write(output), 2.0))?;
    Ok(())
}

fn main() {
    let _ = run;
}
