//! Broken PTX never brings the emulator down: programs of the corpus with random changes are loaded
//! and run, and whatever is wrong with them is an error. A long campaign tries many more; the fuzz
//! targets in `fuzz/` do the same without end.

use baton_campaign::{Campaign, Random};
use baton_emulator::{Launch, Machine, Options, Program};
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::{Duration, Instant};

/// Thread-instructions of a run, and the time that one may take.
const STEPS: u64 = 200_000;
const PATIENCE: Duration = Duration::from_secs(20);

fn corpus() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let hazards = fs::read_dir(folder.join("hazards")).expect("the corpus is there");
    let mut paths: Vec<_> = hazards.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    paths.push(folder.join("cuda/kernels.ptx"));
    paths.iter().map(|path| fs::read_to_string(path).expect("readable")).collect()
}

/// The words of a line, numbers and names apart.
fn words(line: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        let joins = |c: char| c.is_alphanumeric() || matches!(c, '_' | '%' | '.' | ':' | '$');
        let length = if joins(first) {
            rest.find(|c| !joins(c)).unwrap_or(rest.len())
        } else {
            first.len_utf8()
        };
        words.push(&rest[..length]);
        rest = &rest[length..];
    }
    words
}

/// Changes one to four places: a number, an operand, a qualifier, a line.
fn mutate(text: &str, other: &str, random: &mut Random) -> String {
    const NUMBERS: [&str; 12] = [
        "0",
        "1",
        "-1",
        "3",
        "16",
        "31",
        "32",
        "33",
        "255",
        "0x7FFFFFFF",
        "0xFFFFFFFF",
        "4294967296",
    ];
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let others: Vec<&str> = other.lines().collect();
    for _ in 0..1 + random.below(4) {
        let at = random.below(lines.len());
        let parts = words(&lines[at]);
        let i = random.below(parts.len());
        let replaced = |with: &str| {
            let mut parts = parts.clone();
            if let Some(part) = parts.get_mut(i) {
                *part = with;
            }
            parts.concat()
        };
        let new = match random.below(8) {
            0 => String::new(),
            1 => others[random.below(others.len())].to_owned(),
            2 => format!("{} {}", lines[at], lines[random.below(lines.len())]),
            3 => {
                let from = words(&lines[random.below(lines.len())]).concat();
                let parts = words(&from);
                replaced(parts.get(random.below(parts.len())).copied().unwrap_or(""))
            }
            4 => {
                // A qualifier less, or one of another line.
                let mut names: Vec<&str> =
                    parts.get(i).map_or(Vec::new(), |p| p.split('.').collect());
                if names.len() > 1 {
                    names.remove(1 + random.below(names.len() - 1));
                }
                replaced(&names.join("."))
            }
            _ => replaced(NUMBERS[random.below(NUMBERS.len())]),
        };
        lines[at] = new;
    }
    lines.join("\n")
}

/// Loads and runs; the message of what is wrong, if anything is.
fn execute(text: &str, seed: u64) -> Option<String> {
    let program = match Program::load(text, "mutant", None) {
        Ok(program) => program,
        Err(error) => return Some(error.to_string()),
    };
    let mut said = None;
    for kernel in program.kernels().take(3) {
        let options =
            Options { seed, step_limit: Some(STEPS), global_bytes: 1 << 26, ..Options::default() };
        let mut machine = Machine::new(options);
        let function = program.module().function(kernel);
        let params = function.map_or(0, |f| f.params.len());
        let mut launch = Launch {
            kernel: kernel.into(),
            grid: [2, 1, 1],
            block: [if seed.is_multiple_of(2) { 128 } else { 64 }, 1, 1],
            cluster: if seed.is_multiple_of(3) { [2, 1, 1] } else { [0; 3] },
            dynamic_shared: 4096,
            params: Vec::new(),
            dependent: false,
            cooperative: false,
        };
        for i in 0..params {
            let bytes = function.map_or(8, |f| f.params[i].bytes);
            let address = machine.alloc(4096, 256).expect("memory");
            machine.write(address, &[0; 4096]).expect("memory");
            let mut value = address.to_le_bytes().to_vec();
            value.resize(bytes.min(4096) as usize, 0);
            launch.params.push(value);
        }
        said = said.or(machine.launch(&program, &launch).err().map(|e| e.to_string()));
    }
    said
}

#[test]
fn changed_programs_end_with_an_answer() {
    let corpus = corpus();
    let campaign = Campaign::new("changed programs on the emulator", 1_500, 200_000);
    let rounds: Vec<u64> = (0..campaign.cases()).collect();
    let refused = campaign.each(&rounds, |&round| {
        let mut random = campaign.random(round);
        let text = &corpus[random.below(corpus.len())];
        let other = &corpus[random.below(corpus.len())];
        let mutant = mutate(text, other, &mut random);
        let start = Instant::now();
        let result = catch_unwind(AssertUnwindSafe(|| execute(&mutant, round)));
        let keep = |why: &str| -> ! {
            let path = std::env::temp_dir().join("baton-mutant.ptx");
            let _ = fs::write(&path, &mutant);
            panic!("round {round}: {why}; the program is in {}", path.display());
        };
        if start.elapsed() > PATIENCE {
            keep("too slow");
        }
        result.unwrap_or_else(|_| keep("a panic")).is_some()
    });
    let ran = refused.iter().filter(|refused| !**refused).count();
    let refused = refused.len() - ran;
    println!("{refused} with an error, {ran} to their end");
    assert!(refused > rounds.len() / 4 && ran > rounds.len() / 20, "{refused} {ran}");
}
