//! How a program ends: what its schedules on the emulator come to.

use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use baton_cli::commands::check::search::{Case, Finding};
use baton_cli::commands::check::setup::{Files, Setup};
use baton_cli::commands::check::spec::Spec;
use baton_emulator::{Error, Fault, Machine, Options, Program as Module, Severity};

use crate::limits;
use crate::program::Keeps;
use crate::seed::Launch;

/// Thread-instructions after which a run is endless.
pub const STEPS: u64 = 3_000_000;

/// How a program ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// The compiler does not take it: what it says first.
    NotCompiled(String),
    /// The builder refuses it, with these findings.
    Refused(Vec<String>),
    /// No schedule finds anything, and all leave the same values.
    Silent,
    /// All wait, as the report explains.
    Deadlock(String),
    /// The kernel stops itself: a trap, an assertion, an index out of bounds.
    Trap(String),
    /// What docs/limits.md says under this heading.
    Known(&'static str),
    /// None of these: a hole in the types, or a false accusation.
    Wrong(Wrong),
}

/// An end that is not allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// The rule, or a word.
    pub rule: String,
    /// The schedule.
    pub schedule: u64,
    /// What was found.
    pub report: String,
}

impl End {
    /// A word for it.
    pub fn word(&self) -> &'static str {
        match self {
            Self::NotCompiled(_) => "not compiled",
            Self::Refused(_) => "refused by the builder",
            Self::Silent => "silent",
            Self::Deadlock(_) => "deadlock",
            Self::Trap(_) => "trap",
            Self::Known(_) => "known limit",
            Self::Wrong(_) => "WRONG",
        }
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())?;
        match self {
            Self::Silent => Ok(()),
            Self::NotCompiled(why) | Self::Deadlock(why) | Self::Trap(why) => write!(f, ": {why}"),
            Self::Refused(findings) => write!(f, ": {}", findings.join("\n")),
            Self::Known(heading) => write!(f, ": docs/limits.md, \"{heading}\""),
            Self::Wrong(wrong) => {
                write!(f, ": {} under schedule {}\n{}", wrong.rule, wrong.schedule, wrong.report)
            }
        }
    }
}

/// The memory that a finding is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    /// Global memory.
    Global,
    /// Shared memory.
    Shared,
    /// Tensor memory.
    Tensor,
    /// Registers that an instruction fills by and by.
    Registers,
    /// None, or not to be seen.
    None,
}

impl Memory {
    /// Of a finding, by its instruction.
    fn of(finding: &Finding) -> Self {
        let Some(site) = finding.site() else { return Self::None };
        let text = &site.text;
        // A bulk store names both spaces, the one it writes first.
        let first = |space: &str| text.find(space).unwrap_or(usize::MAX);
        if text.contains("wgmma") || finding.rule() == "E2" {
            Self::Registers
        } else if text.contains("tcgen05") {
            Self::Tensor
        } else if first(".global") < first(".shared") {
            Self::Global
        } else if text.contains(".shared") || text.contains("mbarrier") {
            Self::Shared
        } else {
            Self::None
        }
    }
}

/// A kernel of a loaded batch, and what it is compared with.
pub struct Subject<'a> {
    /// The batch.
    pub module: &'a Arc<Module>,
    /// The kernel's name.
    pub kernel: String,
    /// Bytes of dynamic shared memory.
    pub shared: u32,
    /// How the kernel that it was made of is launched.
    pub launch: &'a Launch,
    /// Its text.
    pub text: &'a str,
    /// What its buffers are to hold, where its edits change no meaning.
    pub expected: Option<&'a [Vec<u8>]>,
    /// What its edits keep.
    pub keeps: Keeps,
}

/// The end of a program whose edits keep so much: one that keeps everything is silent, or the compiler does not take it.
pub fn kept(keeps: Keeps, end: End) -> End {
    match end {
        End::Refused(_) | End::Deadlock(_) | End::Trap(_) | End::Known(_)
            if keeps == Keeps::Everything =>
        {
            let report =
                format!("its edits change nothing, and it does not end as its kernel: {end}");
            End::Wrong(Wrong { rule: "meaning".into(), schedule: 0, report })
        }
        other => other,
    }
}

/// What the first schedule left in the buffers whose contents no schedule decides.
pub type Values = Vec<Vec<u8>>;

impl Subject<'_> {
    /// Runs this many schedules; gives the end and the values of the first.
    pub fn run(&self, schedules: u64) -> (End, Values) {
        // Whatever the machine is given, it is to say what is wrong with it. The next program gets a machine of its own.
        let run = AssertUnwindSafe(|| self.run_all(schedules));
        let (end, values) = std::panic::catch_unwind(run).unwrap_or_else(|panic| {
            let said = panic.downcast_ref::<String>().map(String::as_str);
            let said = said.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or_default();
            (self.wrong("panic", 0, format!("the emulator panics: {said}")), Values::new())
        });
        (kept(self.keeps, end), values)
    }

    fn run_all(&self, schedules: u64) -> (End, Values) {
        let case = match self.case() {
            Ok(case) => case,
            Err(problem) => return (self.wrong("launch", 0, problem), Values::new()),
        };
        let mut values: Option<Values> = self.expected.map(<[_]>::to_vec);
        let mut first = Values::new();
        let mut end = End::Silent;
        for schedule in 0..schedules {
            let options = Options {
                seed: schedule,
                strict: true,
                step_limit: Some(STEPS),
                ..Options::default()
            };
            let mut machine = Machine::new(options);
            let (run, addresses) = match case.run_on(&mut machine) {
                Ok(done) => done,
                Err(error) => {
                    return (self.wrong("emulator", schedule, error.to_string()), first);
                }
            };
            for finding in &run.findings {
                match self.end(finding, schedule) {
                    wrong @ End::Wrong(_) => return (wrong, first),
                    other if end == End::Silent => end = other,
                    _ => {}
                }
            }
            if !run.findings.is_empty() {
                // The others would say the same again, an endless one for as long.
                if matches!(end, End::Known(_)) {
                    break;
                }
                continue;
            }
            let now = match self.values(&case, &machine, &addresses) {
                Ok(now) => now,
                Err(error) => {
                    return (self.wrong("emulator", schedule, error.to_string()), first);
                }
            };
            if schedule == 0 {
                first.clone_from(&now);
            }
            if self.launch.varies && self.expected.is_none() {
                continue;
            }
            let before = values.get_or_insert_with(|| now.clone());
            if *before != now {
                let names = &self.launch.values;
                let differ = names.iter().zip(before.iter().zip(&now)).find(|(_, (a, b))| a != b);
                let name = differ.map_or("?", |(name, _)| name);
                let report = match self.expected {
                    Some(_) => format!("buffer `{name}` is not what the unedited kernel computes"),
                    None => {
                        format!("buffer `{name}` depends on the schedule, and nothing is found")
                    }
                };
                return (self.wrong("values", schedule, report), first);
            }
        }
        (end, first)
    }

    fn case(&self) -> Result<Case, String> {
        let spec = Spec::parse(&self.launch.text).map_err(|error| error.problem)?;
        let setup = Setup::new(&spec, &Files::default(), self.module.module(), &self.kernel)
            .map_err(|error| format!("the launch description of its kernel: {}", error.problem))?;
        Ok(Case { program: Arc::clone(self.module), setup: setup.with_shared(self.shared) })
    }

    fn values(&self, case: &Case, machine: &Machine, at: &[u64]) -> Result<Values, Error> {
        let of = |name: &String| {
            let buffers = case.setup.buffers.iter().zip(at);
            let mut bytes = Vec::new();
            if let Some((buffer, &address)) = buffers.into_iter().find(|(b, _)| b.name == *name) {
                bytes.resize(buffer.bytes as usize, 0);
                machine.read(address, &mut bytes)?;
            }
            Ok(bytes)
        };
        self.launch.values.iter().map(of).collect()
    }

    /// What a finding makes of the program.
    fn end(&self, finding: &Finding, schedule: u64) -> End {
        let rule = finding.rule();
        match finding {
            Finding::Deadlock(deadlock) if !deadlock.waiters.is_empty() => {
                return End::Deadlock(deadlock.to_string());
            }
            Finding::Fault(failure) => {
                if let Fault::Trap | Fault::Assert { .. } = failure.fault {
                    return End::Trap(failure.to_string());
                }
            }
            Finding::Hazard(hazard) if hazard.severity == Severity::Warning => return End::Silent,
            _ => {}
        }
        let report = match finding {
            Finding::Hazard(hazard) => hazard.to_string(),
            Finding::Fault(failure) => failure.to_string(),
            Finding::Deadlock(deadlock) => deadlock.to_string(),
            Finding::Endless { steps } => format!("{steps} thread-instructions without an end"),
            Finding::Wrong(wrong) => format!("buffer `{}`", wrong.buffer),
        };
        if let Some(limit) = limits::find(&rule, Memory::of(finding), self.text, &report) {
            return End::Known(limit.heading);
        }
        self.wrong(&rule, schedule, report)
    }

    fn wrong(&self, rule: &str, schedule: u64, report: String) -> End {
        End::Wrong(Wrong { rule: rule.to_owned(), schedule, report })
    }
}
