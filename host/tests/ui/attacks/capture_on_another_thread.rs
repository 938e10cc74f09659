//! A capture has to end on the thread where it began, so it does not leave it.

use baton_host::{Buffer, Error, Graph, Stream};

fn run(stream: &mut Stream, buffer: &mut Buffer<u32>) -> Result<Graph, Error> {
    stream.capture(|capture| {
        std::thread::scope(|scope| scope.spawn(|| capture.fill(buffer, 0)).join().unwrap())
    })
}

fn main() {}
