//! Small kernels, written as the body of an entry that takes pointers.

#![allow(dead_code, reason = "each test file uses its part")]

use baton_emulator::{Error, Launch, Machine, Options, Program, Report};

/// The text of a module with one entry `k(p0, p1, …)`; `%p0`, `%p1` … hold the pointers.
pub fn module(globals: &str, pointers: usize, body: &str) -> String {
    module_for("sm_100a", globals, pointers, body)
}

/// The same, for another target.
pub fn module_for(target: &str, globals: &str, pointers: usize, body: &str) -> String {
    let params: Vec<String> = (0..pointers).map(|i| format!(".param .u64 a{i}")).collect();
    let loads: String = (0..pointers).map(|i| format!("ld.param.u64 %a{i}, [a{i}];\n")).collect();
    format!(
        ".version 8.8\n.target {target}\n.address_size 64\n{globals}\n.visible .entry \
         k({})\n{{\n.reg .pred %p<16>; .reg .b16 %h<32>; .reg .b32 %r<64>; .reg .b64 %d<64>; \
         .reg .b64 %a<8>; .reg .b128 %q<4>;\n{loads}{body}\n}}\n",
        params.join(", ")
    )
}

/// A device with the buffers of a launch.
pub struct Run {
    pub machine: Machine,
    pub addresses: Vec<u64>,
    pub result: Result<Report, Error>,
}

#[derive(Clone)]
pub struct Shape {
    pub grid: u32,
    pub block: u32,
    pub cluster: u32,
    pub shared: u32,
    pub seed: u64,
    pub strict: bool,
}

impl Default for Shape {
    fn default() -> Shape {
        Shape { grid: 1, block: 32, cluster: 0, shared: 0, seed: 1, strict: false }
    }
}

/// Runs `text` with one buffer for each of `buffers`.
pub fn run(text: &str, shape: &Shape, buffers: &[&[u8]]) -> Run {
    let program = match Program::load(text, "test.ptx", None) {
        Ok(program) => program,
        Err(error) => panic!("{error}"),
    };
    let mut machine =
        Machine::new(Options { seed: shape.seed, strict: shape.strict, ..Options::default() });
    let mut addresses = Vec::new();
    for buffer in buffers {
        let address = machine.alloc(buffer.len() as u64, 256).unwrap();
        machine.write(address, buffer).unwrap();
        addresses.push(address);
    }
    let launch = Launch {
        kernel: "k".into(),
        grid: [shape.grid, 1, 1],
        block: [shape.block, 1, 1],
        cluster: if shape.cluster == 0 { [0; 3] } else { [shape.cluster, 1, 1] },
        dynamic_shared: shape.shared,
        params: addresses.iter().map(|a| a.to_le_bytes().to_vec()).collect(),
        dependent: false,
        cooperative: false,
    };
    let result = machine.launch(&program, &launch);
    Run { machine, addresses, result }
}

impl Run {
    /// The buffer as 32-bit words, of a run that must have succeeded.
    #[track_caller]
    pub fn words(&self, buffer: usize, count: usize) -> Vec<u32> {
        if let Err(error) = &self.result {
            panic!("{error}");
        }
        let mut bytes = vec![0; 4 * count];
        self.machine.read(self.addresses[buffer], &mut bytes).unwrap();
        bytes.chunks_exact(4).map(|w| u32::from_le_bytes([w[0], w[1], w[2], w[3]])).collect()
    }

    /// The message of a run that must have failed.
    #[track_caller]
    pub fn error(&self) -> String {
        match &self.result {
            Err(error) => error.to_string(),
            Ok(_) => panic!("the run succeeded"),
        }
    }
}
