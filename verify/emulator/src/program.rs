//! A module that is ready to run: its functions decoded, and the way from instructions back to source lines.

use crate::decode::{self, Names, Var};
use crate::detect::{Found, Hazard};
use crate::error::{Error, Site};
use crate::ir::{Func, Op};
use crate::memory::{LOCAL_LIMIT, MAX_SHARED};
use crate::remote::RemoteOp;
use crate::warp::SITE_BITS;
use baton_ptx as ptx;
use baton_ptx::lines::{Frame, LineTable};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};

/// A decoded module.
#[derive(Debug)]
pub struct Program {
    pub(crate) id: u64,
    pub(crate) module: ptx::Module,
    lines: Option<LineTable>,
    pub(crate) functions: Vec<Func>,
    /// For each function its position in the module.
    pub(crate) sources: Vec<usize>,
    pub(crate) vars: Vec<Var>,
    pub(crate) unresolved: Vec<Box<str>>,
}

/// Refuses variables that no device has room for, before anything counts with their sizes.
fn in_limits<'a>(
    module: &ptx::Module,
    variables: impl Iterator<Item = &'a ptx::Variable>,
) -> Result<(), ptx::ParseError> {
    for variable in variables {
        let limit = match variable.space {
            // What PTX allows a thread (ISA 5.1.5).
            ptx::Space::Local | ptx::Space::Reg | ptx::Space::Param => LOCAL_LIMIT,
            ptx::Space::Shared => u64::from(MAX_SHARED),
            ptx::Space::Const => 64 << 10,
            _ => 16 << 30,
        };
        if let Some(bytes) = variable.bytes.filter(|&bytes| bytes > limit) {
            return Err(ptx::ParseError {
                name: module.name.clone(),
                line: variable.line,
                column: module.column(variable.line, &variable.name),
                found: format!("`{}` of {bytes} bytes", variable.name),
                expected: format!("at most {limit} bytes in a variable of its space"),
            });
        }
    }
    Ok(())
}

/// Keeps what is known of undefined registers where one may be met: in functions that have some, and in those that may
/// be handed some.
fn watch_if_needed(functions: &mut [Func]) {
    let has = |f: &Func| f.undefined.as_ref().is_some_and(|of| !of.suspects.is_empty());
    let some = functions.iter().any(has);
    for f in functions {
        let calls = f.indirect || !f.callees.is_empty();
        let called = f.undefined.as_ref().is_some_and(|of| of.is_called);
        if !has(f) && !(some && (calls || called)) {
            f.undefined = None;
        }
    }
}

impl Program {
    /// Reads and decodes a module. `name` is what errors call it; `lines` leads to Rust source.
    pub fn load(ptx: &str, name: &str, lines: Option<LineTable>) -> Result<Program, Error> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let module = ptx::Module::parse(ptx, name)?;
        if module.address_size != 64 {
            let problem = "addresses of 32 bits are not executed; use `.address_size 64`".into();
            return Err(Error::Load { module: name.into(), problem });
        }
        for function in &module.functions {
            let locals = function.body.iter().flat_map(|body| &body.variables);
            in_limits(&module, locals.chain(&module.variables))?;
        }
        let mut names = Names {
            functions: HashMap::new(),
            variables: HashMap::new(),
            unresolved: Vec::new(),
            vars: module.variables.iter().map(decode::var).collect(),
        };
        for (i, v) in module.variables.iter().enumerate() {
            names.variables.insert(v.name.clone(), i as u32);
        }
        let mut sources = Vec::new();
        for (i, f) in module.functions.iter().enumerate() {
            if f.body.is_some() {
                names.functions.insert(f.name.clone(), sources.len() as u32);
                sources.push(i);
            }
        }
        let mut functions = Vec::new();
        let mut forms = ptx::forms::Checker::new(&module);
        for &i in &sources {
            let f = &module.functions[i];
            if let Some(body) = &f.body {
                functions.push(decode::function(&module, f, body, &mut names, &mut forms));
            }
        }
        watch_if_needed(&mut functions);
        let (vars, unresolved) = (names.vars, names.unresolved);
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        Ok(Program { id, module, lines, functions, sources, vars, unresolved })
    }

    /// The names of the kernels, in the order of the module.
    pub fn kernels(&self) -> impl Iterator<Item = &str> {
        let entries = |i: &&usize| self.module.functions[**i].kind == ptx::FunctionKind::Entry;
        self.sources.iter().filter(entries).map(|&i| &*self.module.functions[i].name)
    }

    /// Bytes of the shared variables that a kernel can reach, without its dynamic part.
    pub fn static_shared(&self, kernel: &str) -> Option<u64> {
        let entry = self.sources.iter().position(|&i| {
            let function = &self.module.functions[i];
            function.kind == ptx::FunctionKind::Entry && *function.name == *kernel
        })?;
        let functions = self.reachable(entry as u32);
        let shared = functions.iter().flat_map(|&f| &self.functions[f as usize].shared);
        let mut variables: Vec<u32> = shared.copied().collect();
        variables.sort_unstable();
        variables.dedup();
        Some(variables.iter().filter_map(|&v| self.vars[v as usize].bytes).sum())
    }

    /// The instructions that the emulator does not know, with their PTX lines. They fail only when
    /// they are executed.
    pub fn unknown(&self) -> impl Iterator<Item = (u32, &str)> {
        self.functions.iter().flat_map(|f| &f.code).filter_map(|inst| match &inst.op {
            Op::Unknown(text) => Some((inst.line, &**text)),
            _ => None,
        })
    }

    /// The parsed module.
    pub fn module(&self) -> &ptx::Module {
        &self.module
    }

    pub(crate) fn source(&self, func: u32) -> &ptx::Function {
        &self.module.functions[self.sources[func as usize]]
    }

    /// An instruction, for messages.
    pub(crate) fn site(&self, func: u32, pc: u32) -> Site {
        let function = self.source(func);
        let line = self.functions[func as usize].code[pc as usize].line;
        let body = function.body.as_ref();
        let instruction = body.and_then(|b| b.instructions.get(pc as usize));
        let text = instruction.map_or("}".into(), |i| self.module.text(i));
        let mut frames = match &self.lines {
            Some(lines) => lines.get(line).to_vec(),
            None => Vec::new(),
        };
        let location = || body?.locations.get(instruction?.location? as usize);
        if frames.is_empty()
            && let Some(at) = location()
            && at.line != 0
            && let Some(file) = self.module.files.iter().find(|f| f.index == at.file)
        {
            let file = file.path.as_str().into();
            frames.push(Frame { file, line: at.line, column: at.column, function: None });
        }
        Site { function: function.name.to_string(), line, text, frames }
    }

    /// A hazard with its instructions.
    pub(crate) fn hazard(&self, found: Found) -> Hazard {
        let site = |site: u32| self.site(site >> SITE_BITS, site & ((1 << SITE_BITS) - 1));
        Hazard {
            rule: found.rule,
            severity: found.severity,
            message: found.message,
            site: site(found.site),
            threads: found.threads,
            other: found.other.map(site),
            almost: found.almost.map(site),
            fix: found.fix,
        }
    }

    /// Whether a kernel asks for clusters that have not started.
    pub(crate) fn takes_clusters(&self, entry: u32) -> bool {
        let asks =
            |op: &Op| matches!(op, Op::Remote(op) if matches!(**op, RemoteOp::TryCancel { .. }));
        self.reachable(entry)
            .into_iter()
            .any(|f| self.functions[f as usize].code.iter().any(|inst| asks(&inst.op)))
    }

    /// Functions that may run when `entry` is launched.
    pub(crate) fn reachable(&self, entry: u32) -> Vec<u32> {
        let mut found = vec![entry];
        let mut at = 0;
        while let Some(&f) = found.get(at) {
            let func = &self.functions[f as usize];
            let all = 0..self.functions.len() as u32;
            let next: Vec<u32> = if func.indirect { all.collect() } else { func.callees.clone() };
            for f in next {
                if !found.contains(&f) {
                    found.push(f);
                }
            }
            at += 1;
        }
        found
    }
}
