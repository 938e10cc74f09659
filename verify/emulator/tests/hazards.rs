//! One small program for each mistake that PTX can express, in `hazards/`.
//!
//! Its header names the rule, the mistake and the launch. The mistake has to be reported with that
//! rule, at the line that ends in `// <- here`, in words that hold what stands behind `// says: `, within fifty schedules. The corrected twin, made by
//! the replacements of the header, has to run without any report under all of them.

use baton_emulator::tensor_map::{DataType, TensorMapDesc, encode};
use baton_emulator::{Launch, Machine, Options, Program};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

const SEEDS: u64 = 50;

struct Case {
    name: String,
    rule: String,
    line: u32,
    /// What the message contains.
    says: String,
    text: String,
    fixed: String,
    launch: Launch,
    /// How often it is launched on the same memory.
    launches: u32,
    buffers: usize,
    /// The last buffer is passed by its multimem address.
    multimem: bool,
    /// The last buffer begins with a tensor map of the first: 256 bytes, of which a tile is 64.
    map: bool,
}

fn read(path: &Path) -> Case {
    let text = fs::read_to_string(path).expect("the corpus is readable");
    let header = |key: &str| {
        let prefix = format!("// {key}: ");
        text.lines()
            .filter_map(move |line| line.strip_prefix(&*prefix).map(str::to_owned))
            .collect::<Vec<_>>()
    };
    let optional = |key: &str| -> Option<u32> {
        let shape = header("launch").concat();
        let found = shape.split(' ').find_map(|part| part.strip_prefix(key)?.strip_prefix('='));
        found.and_then(|n| n.parse().ok())
    };
    let number = |key: &str| optional(key).unwrap_or_else(|| panic!("{}: {key}", path.display()));
    let here = text.lines().position(|line| line.ends_with("// <- here"));
    let body = text.find(".version").expect("a module");
    let mut fixed = text[body..].to_owned();
    for fix in header("fix") {
        let (from, to) = fix.split_once("=>").expect("fix: FROM => TO");
        assert!(fixed.contains(from.trim()), "{}: {from}", path.display());
        fixed = fixed.replace(from.trim(), to.trim());
    }
    let cluster = number("cluster");
    Case {
        name: path.file_name().unwrap_or_default().to_string_lossy().into(),
        rule: header("rule").concat(),
        line: here.expect("a line that ends in `// <- here`") as u32 + 1,
        says: header("says").concat(),
        fixed,
        launch: Launch {
            kernel: "k".into(),
            grid: [number("grid"), 1, 1],
            block: [number("block"), 1, 1],
            cluster: if cluster == 0 { [0; 3] } else { [cluster, 1, 1] },
            dynamic_shared: 0,
            params: Vec::new(),
            dependent: optional("dependent") == Some(1),
            cooperative: false,
        },
        launches: optional("launches").unwrap_or(1),
        multimem: optional("multimem") == Some(1),
        map: optional("map") == Some(1),
        buffers: number("buffers") as usize,
        text,
    }
}

/// What is said of the program under a seed: rules with lines, and the whole messages.
fn reports(case: &Case, text: &str, seed: u64) -> Vec<(String, u32, String)> {
    let program = Program::load(text, &case.name, None).unwrap_or_else(|e| panic!("{e}"));
    let options = Options {
        seed,
        unchecked: false,
        strict: true,
        step_limit: Some(1 << 20),
        ..Options::default()
    };
    let mut machine = Machine::new(options);
    let mut launch = case.launch.clone();
    for i in 0..case.buffers {
        let mut address = machine.alloc(1024, 256).expect("memory");
        machine.write(address, &[0; 1024]).expect("memory");
        if case.map && i + 1 == case.buffers {
            let first = u64::from_le_bytes(launch.params[0][..].try_into().expect("an address"));
            let map = TensorMapDesc::new(DataType::U8, first, &[256], &[], &[64])
                .and_then(|map| encode(&map))
                .expect("a tensor map");
            machine.write(address, &map).expect("memory");
        }
        if case.multimem && i + 1 == case.buffers {
            address = machine.multimem(address);
        }
        launch.params.push(address.to_le_bytes().to_vec());
    }
    let mut result = machine.launch(&program, &launch);
    for _ in 1..case.launches {
        // What is wrong in an earlier launch is reported as it is.
        match &result {
            Ok(report) if report.hazards.is_empty() => result = machine.launch(&program, &launch),
            _ => break,
        }
    }
    match result {
        Ok(report) => {
            report.hazards.iter().map(|h| (h.rule.to_owned(), h.site.line, h.to_string())).collect()
        }
        Err(error) => {
            let message = error.to_string();
            let after = |key: &str| message.split(key).nth(1).unwrap_or("").to_owned();
            let word = |text: String| -> String {
                text.chars().take_while(char::is_ascii_alphanumeric).collect()
            };
            let line = word(after("PTX line ")).parse().unwrap_or(0);
            vec![(word(after("rule ")), line, message)]
        }
    }
}

#[test]
fn every_mistake_is_named_and_its_correction_is_silent() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hazards");
    let mut paths: Vec<_> = fs::read_dir(folder)
        .expect("the corpus is there")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    paths.sort();
    assert!(paths.len() >= 75, "{} programs", paths.len());
    let mut wrong = Vec::new();
    for path in paths {
        let case = read(&path);
        let mut said = Vec::new();
        let mut found = 0;
        for seed in 0..SEEDS {
            let reports = reports(&case, &case.text, seed);
            let named = |r: &(String, u32, String)| {
                r.0 == case.rule && r.1 == case.line && r.2.contains(&case.says)
            };
            found += u64::from(reports.iter().any(named));
            said.extend(reports);
        }
        println!("{}: {found} of {SEEDS} schedules", case.name);
        if found == 0 {
            let first = said.first().map_or("nothing", |r| &r.2);
            wrong.push(format!("{}: not reported at line {}; {first}", case.name, case.line));
        }
        for seed in 0..SEEDS {
            if let Some((_, _, message)) = reports(&case, &case.fixed, seed).first() {
                wrong.push(format!("{}, corrected, seed {seed}: {message}", case.name));
                break;
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// Each rule of the page has a program, and each program's rule is on the page.
#[test]
fn every_rule_of_the_page_has_a_program() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(root.join("../../docs/emulator.md")).expect("the page");
    let table = page.split("| rule | what is missing |").nth(1).expect("the table of rules");
    let is_row = |line: &&str| line.starts_with('|') || line.starts_with("Rules ");
    let ends_run = |line: &&str| line.starts_with("Rules ");
    let mut listed = BTreeSet::new();
    for line in table.lines().filter(is_row) {
        let ids = if ends_run(&line) { line } else { line.split('|').nth(1).unwrap_or("") };
        let words = ids.split(|c: char| !c.is_ascii_alphanumeric());
        let is_rule = |word: &&str| {
            let number = word.strip_prefix(|letter| ('A'..='F').contains(&letter));
            *word == "uninitialised" || number.is_some_and(|n| n.parse::<u32>().is_ok())
        };
        listed.extend(words.filter(is_rule).map(str::to_owned));
    }
    let files = fs::read_dir(root.join("tests/hazards")).expect("the corpus is there");
    let rules: BTreeSet<String> =
        files.map(|entry| read(&entry.expect("an entry").path()).rule).collect();
    assert!(listed.len() > 40, "{listed:?}");
    assert_eq!(listed, rules, "the page, the programs");
}
