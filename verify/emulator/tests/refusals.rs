//! What `ptxas` refuses is refused here, and what it takes is taken: instructions of every form, and of every PTX file of
//! the tests, with random changes, are shown to both. Where they differ, `docs/emulator.md` says why.
//!
//! It runs where `ptxas` of CUDA 13.5 or later is installed (`cargo baton doctor --fix` gets it), and says where not.

use baton_builder::Environment;
use baton_builder::provision::{Doctor, cuda};
use baton_campaign::{Campaign, Random};
use baton_emulator::Program;
use baton_ptx::forms;
use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

/// The targets that are asked: an instruction counts as taken if one of them takes it.
const TARGETS: [&str; 4] = ["sm_100a", "sm_90a", "sm_103a", "sm_120a"];

/// How many are shown to `ptxas` at once.
const TOGETHER: usize = 50;

/// Where `ptxas` and the emulator differ on purpose, as the first cells of a table in `docs/emulator.md`.
mod listed {
    pub const TWICE: &str = "a modifier that stands twice";
    pub const OVERLOOKED: &str = "a modifier that means nothing there";
    pub const NO_ADDRESS: &str = "an operand that is no address where a bulk copy has one";
    pub const VARIABLE: &str = "the address of a variable as a value";
    pub const NARROW: &str = "an address in a register that is narrower than its window";
    pub const WIDE: &str = "operands beside a value of 128 bits that are no registers";
    pub const OPERANDS: &str = "operands too few or too many that `ptxas` does not miss";
    pub const LEFT_OUT: &str = "a modifier left out that the ISA wants";
    pub const ELEMENTS: &str = "elements of a store that are left out, `_`";
    pub const NOT_EXECUTED: &str = "what is not executed";
    pub const SIZES: &str = "a cache policy for more bytes than there are";
    pub const PEER: &str = "a wait at an mbarrier of `.shared::cluster`";
    pub const SCALAR: &str = "a scalar moved into a vector";
    pub const MAPS: &str = "an element type or swizzle of a tensor map that came later";
    pub const ELEMENT: &str = "an element of a vector that is of another kind";
    pub const WHOLE: &str = "a vector where one value belongs";
    pub const EXPANDED: &str =
        "what `ptxas` refuses only when it has made other instructions of it";
    pub const PLACE: &str = "`.param::func` in a kernel";
    pub const ORDER: &str = "`.and` and `.popc` apart";
    pub const PACKED: &str = "a register of another type for four numbers of 8 bits";
    pub const LITERAL: &str = "a literal that is no value of the operand's type";
    pub const ALL: [&str; 21] = [
        PACKED,
        LITERAL,
        ORDER,
        TWICE,
        OVERLOOKED,
        NO_ADDRESS,
        VARIABLE,
        NARROW,
        WIDE,
        OPERANDS,
        LEFT_OUT,
        ELEMENTS,
        NOT_EXECUTED,
        SIZES,
        PEER,
        SCALAR,
        MAPS,
        ELEMENT,
        WHOLE,
        EXPANDED,
        PLACE,
    ];
}

/// Words that `ptxas` overlooks in some instructions that have nothing to do with them.
const OVERLOOKED: &[&str] = &[
    "elemtype",
    "fill_mode",
    "swizzle_mode",
    "swizzle_atomicity",
    "interleave_layout",
    "global_dim",
    "global_stride",
    "global_address",
    "box_dim",
    "rank",
    "element_stride",
    "acc::f32",
    "acc::f16",
    "finite",
    "infinite",
    "number",
    "notanumber",
    "normal",
    "subnormal",
    "b8x16",
    "noftz",
    "sync_restrict::shared::cluster",
    "sync_restrict::shared::cta",
    "sync_restrict::shared::cluster::read",
    "tf32",
    "async",
    "pred",
    "b6x16_p32",
    "b4x16_p64",
];

/// The same, of one instruction only.
const OVERLOOKED_BY: &[(&str, &str)] = &[
    ("tcgen05", "row"),
    ("cp", "gpu"),
    ("rcp", "ftz"),
    ("cvt", "rn"),
    ("cvt", "rz"),
    ("cvt", "rm"),
    ("cvt", "rp"),
];

const REGISTERS: &str = "\
.reg .pred %p<9>; .reg .b16 %h<9>; .reg .f16 %x<9>; .reg .u16 %uh<9>; .reg .b32 %r<260>; .reg .u32 %ur<9>;
.reg .s32 %sr<9>; .reg .f32 %f<260>; .reg .b64 %d<20>; .reg .u64 %ud<9>; .reg .s64 %sd<9>; .reg .f64 %e<20>;
.reg .b128 %q<9>; .reg .b8 %c<20>; .reg .v2 .b32 %vr<4>; .reg .v4 .b32 %wr<4>; .reg .v2 .f32 %vf<4>;
.local .align 16 .b8 loc[256];
";

/// What a changed operand may become.
const OPERANDS: &[&str] = &[
    "%p1",
    "!%p2",
    "%h1",
    "%x1",
    "%uh1",
    "%r1",
    "%ur1",
    "%sr1",
    "%f1",
    "%d1",
    "%ud1",
    "%sd1",
    "%e1",
    "%q1",
    "%c1",
    "%vr1",
    "%wr1",
    "%vf1",
    "%vr1.x",
    "%wr1.w",
    "_",
    "1",
    "0",
    "-1",
    "7",
    "16",
    "300",
    "5000000000",
    "0x3F800000",
    "0f3F800000",
    "0d3FF0000000000000",
    "1.5",
    "shr",
    "glb",
    "cst",
    "par",
    "loc",
    "glb+4",
    "%tid.x",
    "%clock64",
    "WARP_SZ",
    "{%r1, %r2}",
    "{%r1}",
    "{%r1, %r2, %r3, %r4}",
    "{%f1, %f2}",
    "{%h1, %h2}",
    "{%d1, %d2}",
    "{%r1, _}",
    "[%r8]",
    "[%d8]",
    "[shr]",
    "[glb]",
    "[cst]",
    "[loc]",
    "[par]",
    "[%d8+4]",
    "[%d8+-4]",
    "[64]",
    "[%f1]",
    "[%h1]",
    "%r1|%p1",
    "%p1|%p2",
    "_|%p1",
];

fn module(target: &str, instructions: &[&str]) -> String {
    module_of("9.5", target, instructions)
}

fn module_of(version: &str, target: &str, instructions: &[&str]) -> String {
    let head = format!(
        ".version {version}\n.target {target}\n.address_size 64\n.global .align 128 .b8 glb[1024];\n.const .align 16 .b8 \
         cst[256];\n.shared .align 128 .b8 shr[1024];\n.visible .entry k(.param .b64 par)\n{{\n{REGISTERS}"
    );
    // What has such registers needs a version that knows them.
    let head = match instructions.iter().any(|i| i.contains("%q")) {
        true => head,
        false => head.replace(".reg .b128 %q<9>;", ""),
    };
    let bodies = instructions.iter().map(|i| format!("{{ {i}; }}\n"));
    head + &bodies.collect::<String>() + "ret;\n}\n"
}

/// What the emulator says against an instruction, for whatever target.
fn refusal(instruction: &str) -> Option<String> {
    let mut why = None;
    for target in TARGETS {
        let said = refusal_of(&module(target, &[instruction]))?;
        // What it says of the target says least.
        if why.is_none() || !said.contains("the module is for") {
            why = Some(said);
        }
    }
    why
}

fn refusal_of(text: &str) -> Option<String> {
    match Program::load(text, "mutant", None) {
        Ok(program) => program.unknown().next().map(|(_, why)| why.to_owned()),
        Err(error) => Some(error.to_string()),
    }
}

struct Assembler {
    path: PathBuf,
    folder: PathBuf,
}

impl Assembler {
    fn find() -> Option<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let doctor = Doctor::new(root.join("target"));
        let found = cuda::find(&Environment::of_process(), doctor.store(), "ptxas");
        let tool = found.into_iter().find(|tool| tool.release >= (13, 5))?;
        let folder = root.join("target/baton-tests/refusals");
        fs::create_dir_all(&folder).expect("a folder for the PTX");
        Some(Self { path: tool.path, folder })
    }

    /// What it prints; none if it does not end, or breaks down.
    fn run(&self, target: &str, text: &str) -> Option<(bool, String)> {
        let file = self.folder.join(format!("{target}.{:?}.ptx", thread::current().id()));
        fs::write(&file, text).expect("the PTX can be written");
        let mut child = Command::new(&self.path)
            .args(["--gpu-name", target, "--opt-level", "0", "--output-file", "/dev/null"])
            .arg(&file)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("ptxas starts");
        let start = Instant::now();
        // Some mutants make it take all memory that there is.
        let status = loop {
            match child.try_wait().expect("ptxas can be waited for") {
                Some(status) => break Some(status),
                None if start.elapsed() > Duration::from_secs(10) => break None,
                None => thread::sleep(Duration::from_millis(5)),
            }
        };
        if status.is_none() {
            let _ = child.kill();
            let _ = child.wait();
        }
        let mut said = String::new();
        let outputs: [Option<&mut dyn Read>; 2] = [
            child.stdout.as_mut().map(|o| o as &mut dyn Read),
            child.stderr.as_mut().map(|o| o as &mut dyn Read),
        ];
        for output in outputs.into_iter().flatten() {
            let _ = output.read_to_string(&mut said);
        }
        let status = status?;
        status.code().map(|code| (code == 0, said))
    }

    /// Of each instruction, whether it is taken for a target; none where ptxas itself fails.
    fn verdicts(&self, target: &str, instructions: &[&str]) -> Vec<Option<bool>> {
        self.verdicts_of("9.5", target, instructions)
    }

    fn verdicts_of(&self, version: &str, target: &str, instructions: &[&str]) -> Vec<Option<bool>> {
        let mut verdicts = vec![None; instructions.len()];
        let mut left: Vec<usize> = (0..instructions.len()).collect();
        let first = module(target, &[]).lines().count() - 1;
        while !left.is_empty() {
            let texts: Vec<&str> = left.iter().map(|&i| instructions[i]).collect();
            let Some((fine, said)) = self.run(target, &module_of(version, target, &texts)) else {
                if left.len() == 1 {
                    break;
                }
                return self.halves((version, target), instructions, &left, verdicts);
            };
            if fine {
                left.iter().for_each(|&i| verdicts[i] = Some(true));
                break;
            }
            // An error names its line, and what stands in other lines is read as well.
            let mut refused = Vec::new();
            for line in said.lines() {
                let Some((place, rest)) = line.split_once("; ") else { continue };
                let number = place.rsplit_once("line ").and_then(|(_, n)| n.parse::<usize>().ok());
                let complaint = rest.starts_with("error") || rest.starts_with("fatal");
                let Some(number) = number.filter(|_| complaint) else { continue };
                if let Some(&i) = number.checked_sub(first).and_then(|at| left.get(at)) {
                    let broken =
                        ["Internal", "Intrinsic", "<builtin>"].iter().any(|w| line.contains(w));
                    verdicts[i] = (!broken).then_some(false);
                    refused.push(i);
                }
            }
            if refused.is_empty() {
                if left.len() == 1 {
                    let broken = said.contains("Internal") || said.contains("<builtin>");
                    verdicts[left[0]] = (!broken).then_some(false);
                    break;
                }
                return self.halves((version, target), instructions, &left, verdicts);
            }
            left.retain(|i| !refused.contains(i));
        }
        verdicts
    }

    fn halves(
        &self,
        (version, target): (&str, &str),
        instructions: &[&str],
        left: &[usize],
        mut verdicts: Vec<Option<bool>>,
    ) -> Vec<Option<bool>> {
        for half in left.chunks(left.len().div_ceil(2)) {
            let texts: Vec<&str> = half.iter().map(|&i| instructions[i]).collect();
            for (&i, verdict) in half.iter().zip(self.verdicts_of(version, target, &texts)) {
                verdicts[i] = verdict;
            }
        }
        verdicts
    }

    /// Of each instruction, whether a target takes it.
    fn taken(&self, instructions: &[&str]) -> Vec<Option<bool>> {
        let mut taken = vec![Some(false); instructions.len()];
        for target in TARGETS {
            let open: Vec<usize> = (0..taken.len()).filter(|&i| taken[i] != Some(true)).collect();
            let texts: Vec<&str> = open.iter().map(|&i| instructions[i]).collect();
            for (&i, verdict) in open.iter().zip(self.verdicts(target, &texts)) {
                taken[i] = match (taken[i], verdict) {
                    (_, Some(true)) => Some(true),
                    (Some(false), Some(false)) => Some(false),
                    _ => None,
                };
            }
        }
        taken
    }
}

/// The answers of earlier runs, by instruction.
struct Answers {
    file: PathBuf,
    known: Mutex<HashMap<String, Option<bool>>>,
}

impl Answers {
    fn read(file: PathBuf) -> Self {
        let text = fs::read_to_string(&file).unwrap_or_default();
        let line = |line: &str| {
            let (verdict, instruction) = line.split_once('\t')?;
            let verdict = match verdict {
                "taken" => Some(true),
                "refused" => Some(false),
                _ => None,
            };
            Some((instruction.to_owned(), verdict))
        };
        Self { file, known: Mutex::new(text.lines().filter_map(line).collect()) }
    }

    fn write(&self) {
        let known = self.known.lock().expect("no worker panics with it");
        let word = |verdict: &Option<bool>| match verdict {
            Some(true) => "taken",
            Some(false) => "refused",
            None => "broken",
        };
        let lines: BTreeMap<_, _> = known.iter().collect();
        let text: String = lines.iter().map(|(i, v)| format!("{}\t{i}\n", word(v))).collect();
        fs::write(&self.file, text).expect("the answers can be written");
    }

    fn of(&self, assembler: &Assembler, instructions: &[&str]) -> Vec<Option<bool>> {
        let known =
            |i: &&str| self.known.lock().expect("no worker panics with it").get(*i).copied();
        let open: Vec<&str> = instructions.iter().copied().filter(|i| known(i).is_none()).collect();
        let answers = assembler.taken(&open);
        let mut all = self.known.lock().expect("no worker panics with it");
        all.extend(open.iter().map(|i| (*i).to_owned()).zip(answers));
        instructions.iter().map(|i| all[*i]).collect()
    }
}

/// The instructions of the PTX files of the tests, with the registers of [`REGISTERS`] in place of their own.
fn of_files() -> Vec<String> {
    fn files(folder: &Path, all: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).expect("a folder of tests").flatten() {
            let path = entry.path();
            if path.is_dir() {
                files(&path, all);
            } else if path.extension().is_some_and(|e| e == "ptx") {
                all.push(path);
            }
        }
    }
    let mut paths = Vec::new();
    files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests"), &mut paths);
    paths.sort();
    let mut found = BTreeMap::new();
    for path in paths {
        let text = fs::read_to_string(&path).expect("readable");
        let Ok(module) = baton_ptx::Module::parse(&text, "file") else { continue };
        for body in module.functions.iter().filter_map(|f| f.body.as_ref()) {
            for instruction in &body.instructions {
                if let Some(text) = renamed(body, instruction) {
                    found
                        .entry(text.split(' ').next().unwrap_or_default().to_owned())
                        .or_insert(text);
                }
            }
        }
    }
    found.into_values().collect()
}

/// The text of an instruction with registers by type; none if it names a variable, a label or the like.
fn renamed(body: &baton_ptx::Body, instruction: &baton_ptx::Instruction) -> Option<String> {
    use baton_ptx::{Base, Operand, TypeKind};
    fn operand(body: &baton_ptx::Body, o: &Operand, next: &mut usize) -> Option<String> {
        let mut register = |id: &baton_ptx::RegId| {
            let ty = body.registers[id.0 as usize].ty;
            *next += 1;
            let n = 1 + *next % 7;
            Some(match (ty.kind, ty.bits) {
                (TypeKind::Predicate, _) => format!("%p{n}"),
                (TypeKind::Float, 32) => format!("%f{n}"),
                (TypeKind::Float, 64) => format!("%e{n}"),
                (_, 16) => format!("%h{n}"),
                (_, 32) => format!("%r{n}"),
                (_, 64) => format!("%d{n}"),
                (_, 128) => format!("%q{n}"),
                _ => return None,
            })
        };
        Some(match o {
            Operand::Register(id) if body.registers[id.0 as usize].lanes == 1 => register(id)?,
            Operand::Not(id) => format!("!{}", register(id)?),
            Operand::Special(name) => name.to_string(),
            Operand::Int(n) => n.to_string(),
            Operand::F32(bits) => format!("0f{bits:08X}"),
            Operand::F64(bits) => format!("0d{bits:016X}"),
            Operand::Sink => "_".into(),
            Operand::Pair(a, b) => {
                format!("{}|{}", operand(body, a, next)?, operand(body, b, next)?)
            }
            Operand::Vector(parts) => {
                let parts: Option<Vec<_>> = parts.iter().map(|p| operand(body, p, next)).collect();
                format!("{{{}}}", parts?.join(", "))
            }
            Operand::Address(a) if a.offset == 0 => {
                let Base::Register(id) = &a.base else { return None };
                let base = register(id)?;
                let items: Option<Vec<_>> =
                    a.items.iter().map(|p| operand(body, p, next)).collect();
                let items: String = items?.iter().map(|item| format!(", {item}")).collect();
                format!("[{base}{items}]")
            }
            _ => return None,
        })
    }
    let mut next = 0;
    let operands: Option<Vec<_>> =
        instruction.operands.iter().map(|o| operand(body, o, &mut next)).collect();
    Some(format!("{} {}", instruction.mnemonic, operands?.join(", ")).trim().to_owned())
}

/// The operands, which commas part that stand in no bracket.
fn split(text: &str) -> Vec<String> {
    let (mut depth, mut parts) = (0, vec![String::new()]);
    for c in text.chars() {
        match c {
            '[' | '{' => depth += 1,
            ']' | '}' => depth -= 1,
            _ => {}
        }
        match (c, parts.last_mut()) {
            (',', _) if depth == 0 => parts.push(String::new()),
            (c, Some(last)) => last.push(c),
            _ => {}
        }
    }
    parts.iter().map(|part| part.trim().to_owned()).filter(|part| !part.is_empty()).collect()
}

/// One or two changes: a modifier or an operand is dropped, doubled, swapped or replaced.
fn mutate(text: &str, words: &[&str], random: &mut Random) -> String {
    let (mnemonic, operands) = text.split_once(' ').unwrap_or((text, ""));
    let mut mods: Vec<String> = mnemonic.split('.').map(str::to_owned).collect();
    let mut operands = split(operands);
    for _ in 0..[1, 1, 1, 2][random.below(4)] {
        let (m, o) = (1 + random.below(mods.len().max(2) - 1), random.below(operands.len()));
        match random.below(11) {
            0 if mods.len() > 1 => drop(mods.remove(m)),
            1 if mods.len() > 1 => mods.insert(m, mods[m].clone()),
            2 if mods.len() > 1 => {
                let other = 1 + random.below(mods.len() - 1);
                mods.swap(m, other);
            }
            3 | 4 if mods.len() > 1 => mods[m] = words[random.below(words.len())].to_owned(),
            5 => mods.insert(m.min(mods.len()), words[random.below(words.len())].to_owned()),
            6 if !operands.is_empty() => drop(operands.remove(o)),
            7 if !operands.is_empty() => {
                operands.insert(o, OPERANDS[random.below(OPERANDS.len())].to_owned());
            }
            8 if !operands.is_empty() => {
                let other = random.below(operands.len());
                operands.swap(o, other);
            }
            _ if !operands.is_empty() => match operands[o].strip_prefix('{') {
                Some(list) if random.below(2) == 0 => {
                    let mut parts = split(list.trim_end_matches('}'));
                    let part = random.below(parts.len());
                    match random.below(3) {
                        0 if !parts.is_empty() => drop(parts.remove(part)),
                        1 => parts.insert(part, OPERANDS[random.below(22)].to_owned()),
                        _ if !parts.is_empty() => {
                            parts[part] = OPERANDS[random.below(36)].to_owned()
                        }
                        _ => {}
                    }
                    operands[o] = format!("{{{}}}", parts.join(", "));
                }
                _ => operands[o] = OPERANDS[random.below(OPERANDS.len())].to_owned(),
            },
            _ => {}
        }
    }
    format!("{} {}", mods.join("."), operands.join(", ")).trim().to_owned()
}

/// Why the two may differ about an instruction; none if they may not.
fn listed_difference(instruction: &str, why: Option<&str>) -> Option<&'static str> {
    let mnemonic = instruction.split(' ').next().unwrap_or_default();
    let mods: Vec<&str> = mnemonic.split('.').skip(1).collect();
    let Some(why) = why else {
        let waits = mods.iter().any(|m| matches!(*m, "test_wait" | "try_wait"));
        return match () {
            () if waits && mods.contains(&"shared::cluster") => Some(listed::PEER),
            () if mnemonic.starts_with("createpolicy.range") => Some(listed::SIZES),
            () if mnemonic.starts_with("tensormap.replace")
                && mods.iter().any(|m| matches!(*m, "elemtype" | "swizzle_mode")) =>
            {
                Some(listed::MAPS)
            }
            () if mods.contains(&"param::func") => Some(listed::PLACE),
            () if mnemonic.starts_with("mma") && mods.contains(&"popc") => Some(listed::ORDER),
            () if is_expanded(mnemonic, instruction) => Some(listed::EXPANDED),
            () => None,
        };
    };
    let says = |text: &str| why.contains(text);
    let opcode = mnemonic.split('.').next().unwrap_or_default();
    let overlooks = |word: &str| {
        says(&format!("`.{word}` is no modifier")) || says(&format!("`.{word}` does not go with"))
    };
    let overlooked = OVERLOOKED.iter().any(|word| overlooks(word))
        || OVERLOOKED_BY.iter().any(|(of, word)| *of == opcode && overlooks(word));
    let in_vector = instruction.contains('{');
    Some(match () {
        () if is_not_executed(instruction, why) => listed::NOT_EXECUTED,
        () if mods.iter().any(|m| matches!(*m, "oob" | "scaled::n2::ue8m0")) => {
            listed::NOT_EXECUTED
        }
        // Halves out of other types.
        () if opcode == "set" && says("is missing") => listed::NOT_EXECUTED,
        () if (1..mods.len()).any(|i| mods[..i].contains(&mods[i])) => listed::TWICE,
        () if overlooked => listed::OVERLOOKED,
        // A state space that says nothing, and shapes of `wmma` with another type.
        () if (mnemonic.starts_with("fence.proxy") || mods.contains(&"mbarrier_init"))
            && (says("does not go with") || says("`.cluster` is missing")) =>
        {
            listed::OVERLOOKED
        }
        // Types of another form.
        () if mods.iter().any(|m| matches!(*m, "b8x16" | "b6x16_p32" | "b4x16_p64"))
            && says("is missing") =>
        {
            listed::OVERLOOKED
        }
        () if opcode == "wmma" && says("is missing") => listed::OVERLOOKED,
        () if opcode == "mov" && says("1 registers where") => listed::SCALAR,
        () if says("an address in brackets") && mnemonic.contains("bulk") => listed::NO_ADDRESS,
        () if ["glb", "shr", "cst", "par", "loc"].iter().any(|v| instruction.contains(v)) => {
            listed::VARIABLE
        }
        () if ["8", "16", "32"]
            .iter()
            .any(|n| says(&format!("has {n} bits where 64 bits belong")))
            && instruction.contains('[') =>
        {
            listed::NARROW
        }
        () if opcode == "multimem" && (says("has another type") || says("is a predicate")) => {
            listed::PACKED
        }
        () if mods.contains(&"pack") && says("literal where") => listed::LITERAL,
        () if opcode == "movmatrix" && says("a register belongs") => listed::LITERAL,
        () if mods.contains(&"wait_group") && says("out of range") => listed::LITERAL,
        () if opcode == "atom" && says("a register belongs") => listed::WIDE,
        () if opcode == "clusterlaunchcontrol" && mods.contains(&"query_cancel") => listed::WIDE,
        () if opcode == "red" && mods.contains(&"async") && says("does not go") => listed::OPERANDS,
        () if matches!(opcode, "red" | "st" | "atom" | "tcgen05")
            && (says("operands belong") || says("registers where")) =>
        {
            listed::OPERANDS
        }
        () if matches!(opcode, "testp" | "cvt" | "wgmma" | "getctarank") && says("is missing") => {
            listed::LEFT_OUT
        }
        () if opcode == "st" && says("`_` does not stand here") => listed::ELEMENTS,
        () if says("is a vector") || says("a value of `.u16` belongs") && in_vector => {
            listed::WHOLE
        }
        () if in_vector
            && [
                "literal where",
                "an integer where",
                "a value of",
                "has another type",
                "a register belongs",
            ]
            .iter()
            .any(|what| says(what)) =>
        {
            listed::ELEMENT
        }
        () => return None,
    })
}

/// What is taken here and fails in `ptxas` in the instructions that it makes of one (its complaint names them): a literal of
/// another type, an element of a vector register.
fn is_expanded(mnemonic: &str, instruction: &str) -> bool {
    let literal = instruction.contains("0f") || instruction.contains("0d");
    let of_doubles = mnemonic.ends_with("f32.f64") && mnemonic.contains("ftz");
    let of_literals =
        ["tensormap.replace", "cvt.rna"].iter().any(|start| mnemonic.starts_with(start));
    let of_elements = ["tcgen05.mma", "vabsdiff"].iter().any(|start| mnemonic.starts_with(start));
    let has_element = ["%vr", "%wr", "%vf"].iter().any(|vector| instruction.contains(vector));
    let is_wide = mnemonic.starts_with("cvt.") && of_doubles && instruction.contains(" %d");
    (of_literals && literal) || (of_elements && has_element) || is_wide
}

#[test]
fn the_differences_are_in_the_documentation() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/emulator.md");
    let text = fs::read_to_string(path).expect("the page is there");
    for kind in listed::ALL {
        assert!(text.contains(&format!("| {kind} |")), "docs/emulator.md has no row `{kind}`");
    }
}

/// Instructions that are known and not executed, each with a word of its mnemonic or of the reason. `docs/emulator.md` has
/// them as a table.
const NOT_EXECUTED: &[(&str, &str)] = &[
    ("add", "different precision"),
    ("sub", "different precision"),
    ("fma", "different precision"),
    ("fma", "`.oob`"),
    ("add", "`.sat` goes with `.s32`"),
    ("add", "8x4"),
    ("sub", "8x4"),
    ("min", "8x4"),
    ("max", "8x4"),
    ("neg", "8x4"),
    ("min", ".abs"),
    ("max", ".abs"),
    ("mad24", ""),
    ("vabsdiff2", ".s32"),
    ("vabsdiff4", ".s32"),
    ("cvt", "stochastic rounding"),
    ("cvt", ".s2f6x2"),
    ("mma", ".m8n8k4"),
    ("ldmatrix", "elements of 8 bits"),
    ("stmatrix", ".m16n8"),
    ("st", "without an mbarrier"),
    ("red", "without an mbarrier"),
    ("fence", "fabric"),
    ("mapa", "32 bits"),
    ("getctarank", "32 bits"),
    ("ld", "32-bit addresses of constant memory"),
    ("cp", "a predicate ignores"),
    ("cp", "out of bounds"),
    ("cp", "im2col::w"),
    ("mbarrier", "second layout"),
    ("tcgen05", "exclusive"),
    ("tensormap", ".global_stride"),
];

fn is_not_executed(instruction: &str, why: &str) -> bool {
    let opcode = instruction.split(['.', ' ']).next().unwrap_or_default();
    why.contains("not executed")
        && NOT_EXECUTED.iter().any(|(of, word)| *of == opcode && why.contains(word))
}

#[test]
fn every_form_is_executed_but_for_the_listed_ones() {
    let mut random = Random::of(1, 0);
    let mut wrong = Vec::new();
    for form in 0..forms::count() {
        for _ in 0..6 {
            let text =
                forms::example(form, &mut |n| random.below(n)).expect("a form of that number");
            let opcode = text.split(['.', ' ']).next().unwrap_or_default();
            if matches!(opcode, "call" | "bra" | "brx") {
                continue;
            }
            // Those of calls need variables.
            let of_calls = text.starts_with("st.") && text.contains(".param");
            if let Some(why) = refusal(&text)
                && !is_not_executed(&text, &why)
                && !of_calls
            {
                wrong.push(why);
            }
        }
    }
    assert!(wrong.is_empty(), "{} forms:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn what_ptxas_refuses_is_refused() {
    let Some(assembler) = Assembler::find() else {
        println!("ptxas is not installed: nothing was compared");
        return;
    };
    let campaign = Campaign::new("changed instructions, here and in ptxas", 600, 12_000);
    let words = forms::vocabulary();
    let files = of_files();
    let cases: Vec<u64> = (0..campaign.cases()).collect();
    let answers = Answers::read(assembler.folder.join("answers.txt"));
    let batches: Vec<&[u64]> = cases.chunks(TOGETHER).collect();
    let results = campaign.each(&batches, |batch| {
        let mut mutants = Vec::new();
        for &case in *batch {
            let mut random = campaign.random(case);
            let seed = match random.below(3) {
                0 => files[random.below(files.len())].clone(),
                _ => {
                    let form = random.below(forms::count());
                    let mut pick = |n| random.below(n);
                    forms::example(form, &mut pick).expect("a form of that number")
                }
            };
            let opcode = seed.split(['.', ' ']).next().unwrap_or_default();
            // Calls and branches name functions and labels.
            if matches!(opcode, "call" | "bra" | "brx") {
                continue;
            }
            let own = forms::vocabulary_of(opcode);
            let words = if random.below(3) == 0 || own.is_empty() { &words } else { &own };
            // One in ten stays as it is.
            let changed = random.below(10) > 0;
            mutants.push(if changed { mutate(&seed, words, &mut random) } else { seed });
        }
        let texts: Vec<&str> = mutants.iter().map(String::as_str).collect();
        let mut found = Vec::new();
        let (mut taken, mut broken) = (0, 0);
        for (text, verdict) in texts.iter().zip(answers.of(&assembler, &texts)) {
            let why = refusal(text);
            taken += usize::from(verdict == Some(true));
            broken += usize::from(verdict.is_none());
            if verdict.is_none() || verdict == Some(why.is_none()) {
                continue;
            }
            // What stands beside it may have changed its mind.
            let alone = assembler.taken(&[text])[0];
            if alone.is_none() || alone == Some(why.is_none()) {
                continue;
            }
            let kind = listed_difference(text, why.as_deref());
            found.push((text.to_string(), why, kind));
        }
        (texts.len(), taken, broken, found)
    });
    answers.write();
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    let mut wrong = Vec::new();
    let (mut all, mut taken, mut broken) = (0, 0, 0);
    for (a, t, b, found) in results {
        (all, taken, broken) = (all + a, taken + t, broken + b);
        for (text, why, kind) in found {
            match (kind, why) {
                (Some(kind), _) => *kinds.entry(kind).or_default() += 1,
                (None, Some(why)) => wrong.push(format!("taken by ptxas: `{text}`: {why}")),
                (None, None) => wrong.push(format!("refused by ptxas: `{text}`")),
            }
        }
    }
    println!(
        "{all} instructions, ptxas takes {taken} and breaks down at {broken}; differences listed: {kinds:?}"
    );
    assert!(taken > all / 20 && taken < all, "{taken} of {all}");
    assert!(wrong.is_empty(), "{} differences:\n{}", wrong.len(), wrong.join("\n"));
}

/// Targets that are asked with every version of the language that knows them, from the first on.
const LEVELS: [(&str, &str); 12] = [
    ("sm_75", "6.3"),
    ("sm_80", "7.0"),
    ("sm_89", "7.8"),
    ("sm_90", "7.8"),
    ("sm_90a", "8.0"),
    ("sm_100", "8.6"),
    ("sm_100a", "8.6"),
    ("sm_100f", "8.8"),
    ("sm_103a", "8.8"),
    ("sm_110a", "9.0"),
    ("sm_120a", "8.7"),
    ("sm_121f", "8.8"),
];

const VERSIONS: [&str; 27] = [
    "6.3", "6.4", "6.5", "7.0", "7.1", "7.2", "7.3", "7.4", "7.5", "7.6", "7.7", "7.8", "8.0",
    "8.1", "8.2", "8.3", "8.4", "8.5", "8.6", "8.7", "8.8", "9.0", "9.1", "9.2", "9.3", "9.4",
    "9.5",
];

/// An instruction that is newer than the module's version, or needs another target, is refused, and no other.
#[test]
fn what_is_newer_than_its_module_is_refused() {
    let Some(assembler) = Assembler::find() else {
        println!("ptxas is not installed: nothing was compared");
        return;
    };
    let campaign =
        Campaign::new("instructions for each version and target, here and in ptxas", 2_000, 40_000);
    let files = of_files();
    let cases: Vec<u64> = (0..campaign.cases()).collect();
    let batches: Vec<&[u64]> = cases.chunks(TOGETHER).collect();
    let results = campaign.each(&batches, |batch| {
        // All of a batch are for one version and one target.
        let mut random = campaign.random(batch[0]);
        let (target, first) = LEVELS[random.below(LEVELS.len())];
        let known = VERSIONS.iter().position(|version| *version == first).expect("a version");
        let version = VERSIONS[known + random.below(VERSIONS.len() - known)];
        let texts: Vec<String> = batch
            .iter()
            .map(|&case| {
                let mut random = campaign.random(case);
                if random.below(5) == 0 {
                    return files[random.below(files.len())].clone();
                }
                let form = random.below(forms::count());
                forms::example(form, &mut |n| random.below(n)).expect("a form of that number")
            })
            .filter(|text| !matches!(text.split(['.', ' ']).next(), Some("call" | "bra" | "brx")))
            // Parameters of functions are not those of a kernel.
            .filter(|text| !text.contains("param::func"))
            .filter(|text| refusal(text).is_none())
            .collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let verdicts = assembler.verdicts_of(version, target, &texts);
        let (mut taken, mut wrong, mut kinds) = (0, Vec::new(), Vec::new());
        for (text, verdict) in texts.iter().zip(verdicts) {
            let why = refusal_of(&module_of(version, target, &[text]));
            taken += usize::from(verdict == Some(true));
            if verdict.is_none() || verdict == Some(why.is_none()) {
                continue;
            }
            // What stands beside it may have changed its mind.
            let alone = assembler.verdicts_of(version, target, &[text])[0];
            if alone.is_none() || alone == Some(why.is_none()) {
                continue;
            }
            match listed_difference(text, why.as_deref()) {
                Some(kind) => kinds.push(kind),
                None => wrong.push(format!("PTX {version}, {target}: `{text}`: here {why:?}")),
            }
        }
        (texts.len(), taken, wrong, kinds)
    });
    let (mut all, mut taken, mut wrong, mut kinds) = (0, 0, Vec::new(), Vec::new());
    for (a, t, w, k) in results {
        (all, taken) = (all + a, taken + t);
        wrong.extend(w);
        kinds.extend(k);
    }
    println!("{all} instructions, ptxas takes {taken}; differences listed: {kinds:?}");
    assert!(taken > all / 4 && taken < all * 9 / 10, "{taken} of {all}");
    assert!(wrong.is_empty(), "{} differences:\n{}", wrong.len(), wrong.join("\n"));
}
