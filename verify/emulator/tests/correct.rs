//! Correct programs that synchronise in uncommon ways, in `correct/`: nothing may be said of them, under strict rules, in
//! any schedule.
//!
//! A file is a body as `common::module` takes it, `%a0` a buffer of zeros and `%a1` another one. Its header says why the
//! program is correct, how it is launched, and the first words that it leaves in the second buffer.

mod common;

use baton_emulator::{Launch, Machine, Options, Program};
use std::fs;
use std::path::Path;

const SEEDS: u64 = 60;
const BYTES: usize = 1024;

struct Case {
    name: String,
    text: String,
    launch: Launch,
    out: Vec<u32>,
}

fn read(path: &Path) -> Case {
    let text = fs::read_to_string(path).expect("the corpus is readable");
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let header = |key: &str| {
        let prefix = format!("// {key}: ");
        text.lines().find_map(|line| line.strip_prefix(&*prefix))
    };
    assert!(header("why").is_some(), "{name}: says why it is correct");
    let number = |key: &str| -> u32 {
        let parts = header("launch").unwrap_or_default().split(' ');
        let found = parts.filter_map(|part| part.strip_prefix(key)?.strip_prefix('=')).next();
        found.and_then(|n| n.parse().ok()).unwrap_or_else(|| panic!("{name}: {key}"))
    };
    let is_global = |line: &&str| line.starts_with(".shared");
    let globals: String = text.lines().filter(is_global).collect();
    let body: Vec<&str> = text.lines().filter(|line| !is_global(line)).collect();
    let out = header("out").unwrap_or_default().split_whitespace();
    let cluster = number("cluster");
    Case {
        launch: Launch {
            kernel: "k".into(),
            grid: [number("grid"), 1, 1],
            block: [number("block"), 1, 1],
            cluster: if cluster == 0 { [0; 3] } else { [cluster, 1, 1] },
            ..Launch::default()
        },
        out: out.map(|word| word.parse().expect("a word")).collect(),
        text: common::module(&globals, 2, &body.join("\n")),
        name,
    }
}

/// What is wrong with a run of the program.
fn complaint(case: &Case, program: &Program, seed: u64) -> Option<String> {
    let options = Options { seed, strict: true, step_limit: Some(1 << 22), ..Options::default() };
    let mut machine = Machine::new(options);
    let mut launch = case.launch.clone();
    for _ in 0..2 {
        let address = machine.alloc(BYTES as u64, 256).expect("memory");
        machine.write(address, &[0; BYTES]).expect("memory");
        launch.params.push(address.to_le_bytes().to_vec());
    }
    let report = match machine.launch(program, &launch) {
        Ok(report) => report,
        Err(error) => return Some(error.to_string()),
    };
    if let Some(hazard) = report.hazards.first() {
        return Some(hazard.to_string());
    }
    let mut bytes = vec![0; 4 * case.out.len()];
    let second = u64::from_le_bytes(launch.params[1][..].try_into().expect("a pointer"));
    machine.read(second, &mut bytes).expect("the buffer");
    let words: Vec<u32> =
        bytes.chunks_exact(4).map(|w| u32::from_le_bytes([w[0], w[1], w[2], w[3]])).collect();
    (words != case.out).then(|| format!("leaves {words:?}"))
}

#[test]
fn uncommon_but_correct_programs_are_silent() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/correct");
    let mut paths: Vec<_> = fs::read_dir(folder)
        .expect("the corpus is there")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    paths.sort();
    assert!(paths.len() >= 30, "{} programs", paths.len());
    let mut wrong = Vec::new();
    for path in paths {
        let case = read(&path);
        let program = match Program::load(&case.text, &case.name, None) {
            Ok(program) => program,
            Err(error) => {
                wrong.push(format!("{}: {error}", case.name));
                continue;
            }
        };
        let first = (0..SEEDS).find_map(|seed| Some((seed, complaint(&case, &program, seed)?)));
        if let Some((seed, complaint)) = first {
            wrong.push(format!("{}, seed {seed}: {complaint}", case.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}
