//! A text is loaded and its first kernel run: it ends, with a report or an error.
#![no_main]

use baton_emulator::{Launch, Machine, Options, Program};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let Ok(program) = Program::load(text, "fuzz", None) else { return };
    let Some(kernel) = program.kernels().next() else { return };
    let Some(function) = program.module().function(kernel) else { return };
    let options =
        Options { step_limit: Some(100_000), global_bytes: 1 << 24, ..Options::default() };
    let mut machine = Machine::new(options);
    let mut params = Vec::new();
    for param in &function.params {
        let Ok(address) = machine.alloc(1024, 256) else { return };
        let mut value = address.to_le_bytes().to_vec();
        value.resize(param.bytes.min(4096) as usize, 0);
        params.push(value);
    }
    let launch = Launch {
        kernel: kernel.into(),
        grid: [2, 1, 1],
        block: [64, 1, 1],
        dynamic_shared: 1024,
        params,
        ..Launch::default()
    };
    let _ = machine.launch(&program, &launch);
});
