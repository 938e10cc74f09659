//! Page-locked memory is looked at while a stream is told to write it.

use baton_host::{Buffer, Error, Pinned, Stream};

fn run(stream: &Stream, from: &Buffer<u32>, host: &mut Pinned<u32>) -> Result<u32, Error> {
    let values = host.as_slice()?;
    stream.download(from, host)?;
    Ok(values[0])
}

fn main() {}
