//! What the documentation of the instruction layer claims, as rustdoc has it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use baton_tests::root;
use serde_json::Value;

use crate::claims::{Claim, Claims};
use crate::emitted::Form;

/// The functions of `baton::ptx`.
pub struct Documentation {
    functions: BTreeMap<String, Function>,
    /// What a qualifier needs wherever it stands: from the module's own page.
    qualifiers: Claims,
}

/// A function and its documentation.
pub struct Function {
    /// From `baton::ptx` on.
    pub path: String,
    /// What it says up to the section of the ISA.
    pub summary: String,
    /// The sections of the ISA.
    pub sections: String,
    /// The ids of the rules that it names.
    pub rules: Vec<String>,
    /// The ISA version and targets that it claims.
    pub claims: Claims,
}

impl Documentation {
    /// Asks rustdoc.
    ///
    /// # Panics
    /// If rustdoc fails, or its answer is not what this was written for.
    pub fn read() -> Self {
        let target = root().join("target/baton-tests/docs");
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let output = Command::new(cargo)
            .args(["rustdoc", "--quiet", "--offline", "-p", "baton-gpu", "--lib", "--target-dir"])
            .arg(&target)
            .args(["--", "-Zunstable-options", "--output-format", "json"])
            // Only for the format of rustdoc's answer.
            .env("RUSTC_BOOTSTRAP", "1")
            .env_remove("CARGO_TARGET_DIR")
            .current_dir(root())
            .output()
            .expect("cargo starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Self::parse(&target.join("doc/baton.json"))
    }

    fn parse(path: &Path) -> Self {
        let text = fs::read_to_string(path).expect("rustdoc wrote it");
        let json: Value = serde_json::from_str(&text).expect("rustdoc writes JSON");
        let item = |id: &Value| &json["index"][id.to_string()];
        let children = |module: &Value| module["inner"]["module"]["items"].as_array().cloned();
        let child = |module: &Value, name: &str| {
            let items = children(module).expect("a module");
            let found = items
                .iter()
                .find(|id| item(id)["name"] == name && item(id)["inner"]["module"].is_object());
            item(found.unwrap_or_else(|| panic!("no module {name}"))).clone()
        };
        let ptx = child(item(&json["root"]), "ptx");
        let mut functions = BTreeMap::new();
        for id in children(&ptx).expect("a module") {
            let module = item(&id);
            for id in children(module).unwrap_or_default() {
                let function = item(&id);
                if function["inner"]["function"].is_object() && function["visibility"] == "public" {
                    let name = |item: &Value| item["name"].as_str().expect("a name").to_owned();
                    let path = format!("{}::{}", name(module), name(function));
                    let docs = function["docs"].as_str().unwrap_or_default();
                    functions.insert(path.clone(), Function::parse(path, docs));
                }
            }
        }
        assert!(functions.len() > 100, "rustdoc's format has changed");
        let page = ptx["docs"].as_str().expect("the module has a page");
        let (_, qualifiers) = page.split_once("# Qualifiers").expect("a section on qualifiers");
        let qualifiers = qualifiers.split("\n#").next().unwrap_or_default();
        Self { functions, qualifiers: Claims::parse(qualifiers) }
    }

    /// Those that stand for an instruction; the others are made of these.
    pub fn forms(&self) -> impl Iterator<Item = &Function> {
        self.functions.values().filter(|function| function.is_form())
    }

    /// The documentation of a form's function.
    pub fn function(&self, form: &Form) -> Option<&Function> {
        self.functions.get(&form.path)
    }

    /// What is claimed of a form.
    pub fn claim(&self, form: &Form) -> Claim {
        self.own_claim(form).and(&self.qualifiers.exceptions_of(&form.text))
    }

    /// What its function claims of it, whatever its qualifiers need everywhere.
    pub fn own_claim(&self, form: &Form) -> Claim {
        let function = self.function(form);
        function.map_or_else(Claim::default, |function| function.claims.of(&form.text))
    }
}

impl Function {
    fn parse(path: String, docs: &str) -> Self {
        let safety = docs.find("# Safety").unwrap_or(docs.len());
        let docs: String = docs[..safety].split_whitespace().collect::<Vec<_>>().join(" ");
        let (summary, rest) = docs.split_once("ISA: ").unwrap_or((&docs, ""));
        let (sections, breaks) = rest.split_once(" Can break ").unwrap_or((rest, ""));
        let words = breaks.split(|c: char| !c.is_ascii_alphanumeric());
        let is_rule = |word: &&str| {
            let digits = word.strip_prefix(['A', 'B', 'C', 'D', 'E', 'F']);
            digits.is_some_and(|digits| !digits.is_empty() && digits.parse::<u8>().is_ok())
        };
        let mut rules: Vec<_> = words.filter(is_rule).map(str::to_owned).collect();
        rules.sort_by_key(|rule| (rule[..1].to_owned(), rule[1..].parse::<u8>().ok()));
        rules.dedup();
        Self {
            path,
            claims: Claims::parse(summary),
            summary: summary.trim().to_owned(),
            sections: sections.trim_end_matches('.').to_owned(),
            rules,
        }
    }

    /// Whether it says which instruction it emits.
    fn is_form(&self) -> bool {
        !self.claims.is_empty()
    }

    /// What its documentation owes.
    pub fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        let shown = self.summary.split('`').skip(1).step_by(2).any(|code| code.ends_with(';'));
        if !shown {
            problems.push(format!("{}: no PTX form, `like this;`", self.path));
        }
        if self.sections.is_empty() && !self.path.starts_with("sreg::") {
            problems.push(format!("{}: no line `ISA: *section*.`", self.path));
        }
        problems
    }
}
