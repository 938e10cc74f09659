//! Gate 1: what a stranger's crate can implement.
//!
//! A fact that a user's crate can state for an own type, or for a state of the library with an own tag, is no fact. For each
//! trait that can be named and is not `unsafe`, impls are generated: for an own type, a reference to it and a trait object, with own types
//! for the trait's parameters; and, where a parameter is an own type, for the types of the library for which that trait or one that it is
//! built on is implemented. Whatever else such an impl needs (supertraits, bounds on parameters, associated types) is given by the
//! stranger too, as far as it can be named. rustc says which of them it takes.
//!
//! For the same types it is asked whether the library itself has the impl already, `unsafe` traits included: then nobody needs to write it.
//!
//! What it cannot see: an impl whose parameters need a value that this does not try (constants are 1, lifetimes `'static`), one for
//! a stranger's type that has fields, parameters or other derives than the trait asks for, and a trait of the device's build alone.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;

use rustdoc_types::{GenericParamDefKind, Generics, Id, ItemEnum, Trait, Type};
use serde_json::Value;

use crate::choice::{Choice, LOCAL, bind, bounds_of, supertraits, type_parameters};
use crate::spell::Environment;
use crate::surface::{Library, Surface, cargo, root, trait_of};

/// One impl to try.
#[derive(Debug)]
pub struct Case {
    /// The head of the impl: `baton::path::SlotState for Local`.
    pub head: String,
    /// The trait; none if this only shows that a type can be spelled so.
    pub id: Option<Id>,
    /// A module on one line.
    code: String,
    /// Whether nothing in the declarations speaks against it.
    expected: bool,
}

/// What rustc said to the impls.
pub struct Outcome {
    /// The heads of those that it took, each with the trait.
    pub open: BTreeMap<String, Id>,
    /// How many were tried.
    pub tried: usize,
    /// Of how many traits.
    pub traits: usize,
    /// Rounds of the compiler.
    pub rounds: usize,
}

/// The impls for all traits.
pub fn cases(surface: &Surface) -> Vec<Case> {
    let choice = Choice::new(surface);
    let mut cases = Vec::new();
    let mut types = BTreeSet::new();
    for (name, id, trait_) in surface.traits() {
        if trait_.is_auto {
            continue;
        }
        let before = cases.len();
        let own = choice.own_parameters(&trait_.generics);
        let mut sets: BTreeSet<Vec<String>> = BTreeSet::from([vec![], own.clone()]);
        sets.extend(own.iter().map(|name| vec![name.clone()]));
        for own in sets {
            let environment = choice.environment(&trait_.generics, &own, DEPTH);
            let Some(environment) = environment else { continue };
            let mut selves: Vec<_> = OWN.map(str::to_owned).into();
            if !own.is_empty() {
                selves.extend(library_selves(&choice, trait_));
            }
            for self_ in selves {
                let mut environment = environment.clone();
                environment.values.insert("Self".to_owned(), self_);
                types.extend(environment.values.values().cloned());
                cases.push(holds(&name, id, trait_, &environment));
                if surface.asks_for_unsafe(trait_) {
                    continue;
                }
                cases.extend(case(&choice, &name, id, trait_, &environment));
            }
        }
        assert!(cases.len() > before, "{name}: no impl could be spelled");
    }
    let mut seen = BTreeSet::new();
    cases.retain(|case| seen.insert((case.head.clone(), case.code.clone())));
    // An impl for what is no type would be refused, whatever the trait.
    cases.extend(types.into_iter().filter(|type_| type_.contains("::")).map(|type_| Case {
        code: format!("{DECLARATIONS} pub fn spelled(_: &'static {type_}) {{}}"),
        head: type_,
        id: None,
        expected: true,
    }));
    cases
}

/// What Rust takes for a stranger's own type, so that the stranger may give it another crate's trait.
const OWN: [&str; 3] = [LOCAL, "&'static Local", "dyn Own"];

/// What stands before the impls in the module of each.
const DECLARATIONS: &str = "pub struct Local; pub trait Own {}";

/// How deep types are nested that stand for parameters.
const DEPTH: u32 = 5;

/// Types of the library for which an impl could pass: those that meet what the trait is built on, or that have the trait, and one that
/// has nothing to do with it.
fn library_selves(choice: &Choice, trait_: &Trait) -> BTreeSet<String> {
    let mut selves = BTreeSet::from(["u32".to_owned()]);
    selves.extend(choice.surface.some_type());
    let mut traits = vec![trait_];
    while let Some(trait_) = traits.pop() {
        selves.extend(choice.implementors(trait_, DEPTH));
        traits.extend(supertraits(trait_).iter().filter_map(|path| choice.surface.trait_(path.id)));
    }
    selves.remove(LOCAL);
    selves
}

/// Asks whether the library itself has implemented a trait for a stranger's type.
fn holds(name: &str, id: Id, trait_: &Trait, environment: &Environment) -> Case {
    let (self_, arguments) =
        (&environment.values["Self"], arguments(&trait_.generics, environment));
    let code = format!(
        "{DECLARATIONS} fn holds<T: ?Sized + {name}{arguments}>() {{}} pub fn ask() {{ holds::<{self_}>() }}"
    );
    let head = format!("already {name}{arguments} for {}", without_arguments(self_));
    Case { head, id: Some(id), code, expected: false }
}

/// A type without what stands for its parameters: which that is says less of an impl that is there than the type itself.
fn without_arguments(type_: &str) -> String {
    let mut depth = 0_u32;
    let mut text = String::new();
    for character in type_.chars() {
        match character {
            '<' => depth += 1,
            '>' => depth -= 1,
            _ if depth == 0 => text.push(character),
            _ => {}
        }
    }
    text
}

/// An impl, and all that it needs; two if a supertrait may or may not be there already.
fn case(
    choice: &Choice,
    name: &str,
    id: Id,
    trait_: &Trait,
    environment: &Environment,
) -> Vec<Case> {
    let mut tries = Vec::new();
    for with_supertraits in [true, false] {
        let mut needs = Needs { choice, with_supertraits, ..Needs::new(choice) };
        needs.add(name, trait_, environment);
        let derives: Vec<_> = needs.derives.iter().copied().collect();
        let mut code = String::new();
        if !derives.is_empty() {
            write!(code, "#[derive({})] ", derives.join(", ")).expect("a string");
        }
        code += DECLARATIONS;
        for (head, items) in &needs.impls {
            write!(code, " impl {head} {{{items}}}").expect("a string");
        }
        let self_ = &environment.values["Self"];
        let head = needs.first.clone().expect("the impl itself");
        let expected = self_ == LOCAL && choice.open(id);
        tries.push(Case { head, id: Some(id), code, expected });
    }
    tries.dedup_by(|a, b| a.code == b.code);
    tries
}

/// The impls that one impl needs.
struct Needs<'c, 's> {
    choice: &'c Choice<'s>,
    /// Whether supertraits are implemented for types of the library too.
    with_supertraits: bool,
    first: Option<String>,
    impls: BTreeMap<String, String>,
    derives: BTreeSet<&'static str>,
}

impl<'c, 's> Needs<'c, 's> {
    fn new(choice: &'c Choice<'s>) -> Self {
        let (impls, derives) = (BTreeMap::new(), BTreeSet::new());
        Self { choice, with_supertraits: true, first: None, impls, derives }
    }

    fn add(&mut self, name: &str, trait_: &Trait, environment: &Environment) {
        let self_ = environment.values["Self"].clone();
        let head = format!("{name}{} for {self_}", arguments(&trait_.generics, environment));
        if self.impls.contains_key(&head) {
            return;
        }
        self.first.get_or_insert_with(|| head.clone());
        self.impls.insert(head.clone(), String::new());
        let own_self = OWN.contains(&self_.as_str());
        for bound in supertraits(trait_) {
            self.need(bound, &self_, environment, own_self);
        }
        for parameter in type_parameters(&trait_.generics) {
            if environment.values[&parameter] == LOCAL {
                for bound in bounds_of(&trait_.generics, &parameter) {
                    self.need(bound, LOCAL, environment, true);
                }
            }
        }
        let items = self.items(trait_, environment);
        self.impls.insert(head, items);
    }

    /// Implements a bound for a type, if a stranger may try.
    fn need(&mut self, bound: &rustdoc_types::Path, self_: &str, at: &Environment, own: bool) {
        let surface = self.choice.surface;
        let Some(trait_) = surface.trait_(bound.id) else {
            if own {
                self.derives.extend(self.choice.derive(bound.id));
            }
            return;
        };
        let Some(name) = surface.name(bound.id) else { return };
        let Some(mut environment) = bind(self.choice, trait_, bound, at) else { return };
        let own_argument = environment.values.values().any(|value| value.contains(LOCAL));
        if surface.asks_for_unsafe(trait_) || !(own || self.with_supertraits && own_argument) {
            return;
        }
        environment.values.insert("Self".to_owned(), self_.to_owned());
        self.add(&name, trait_, &environment);
    }

    /// What of a trait's items is easily written. An impl that lacks only items is one that passes.
    fn items(&mut self, trait_: &Trait, environment: &Environment) -> String {
        let mut items = String::new();
        for item in trait_.items.iter().filter_map(|id| self.choice.surface.item(*id)) {
            let Some(name) = &item.name else { continue };
            match &item.inner {
                ItemEnum::AssocConst { type_: Type::Primitive(type_), value: None } => {
                    let value = match type_.as_str() {
                        "bool" => "true",
                        "str" => continue,
                        _ => "1",
                    };
                    write!(items, " const {name}: {type_} = {value};").expect("a string");
                }
                ItemEnum::AssocType { generics, bounds, type_: None }
                    if generics.params.is_empty() =>
                {
                    let bounds: Vec<_> = bounds.iter().filter_map(trait_of).collect();
                    if bounds.iter().all(|path| self.choice.open(path.id)) {
                        for bound in bounds {
                            self.need(bound, LOCAL, environment, true);
                        }
                        write!(items, " type {name} = {LOCAL};").expect("a string");
                    } else if let Some(type_) = self.choice.fitting(&bounds, DEPTH) {
                        write!(items, " type {name} = {type_};").expect("a string");
                    }
                }
                _ => {}
            }
        }
        items
    }
}

/// A trait's arguments as an impl spells them.
fn arguments(generics: &Generics, environment: &Environment) -> String {
    let spelled = generics.params.iter().map(|param| match param.kind {
        GenericParamDefKind::Lifetime { .. } => "'static",
        _ => environment.values[&param.name].as_str(),
    });
    let spelled: Vec<_> = spelled.collect();
    if spelled.is_empty() { String::new() } else { format!("<{}>", spelled.join(", ")) }
}

/// Lets rustc judge the impls.
///
/// An error in one impl can hide that of another, so those that are refused leave, and the rest is compiled again, until
/// nothing leaves.
///
/// # Panics
/// If rustc refuses an impl for a reason that is not the library's: the gate would be blind.
pub fn judge(library: &Library, cases: &[Case]) -> Outcome {
    let name = library.name;
    let folder = root().join("target/baton-gates").join(format!("foreign-{name}"));
    fs::create_dir_all(folder.join("src")).expect("a folder");
    let manifest = format!(
        "[package]\nname = \"foreign-{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[workspace]\n\n\
         [dependencies]\n{name} = {{ package = {:?}, path = {:?} }}\n",
        library.package, library.folder
    );
    fs::write(folder.join("Cargo.toml"), manifest).expect("a manifest");
    fs::copy(root().join("Cargo.lock"), folder.join("Cargo.lock")).expect("the lock file");

    let mut alive: Vec<usize> = (0..cases.len()).collect();
    let mut blind = Vec::new();
    for round in 1.. {
        let mut source = String::from("#![no_std]\n#![allow(warnings)]\n");
        for case in &alive {
            writeln!(source, "mod t{case} {{ {} }}", cases[*case].code).expect("a string");
        }
        fs::write(folder.join("src/lib.rs"), source).expect("a source file");
        let mut refused: BTreeMap<usize, Vec<Complaint>> = BTreeMap::new();
        for complaint in compile(&folder) {
            // Two lines stand above the first module.
            let case = complaint.line.checked_sub(3).and_then(|line| alive.get(line));
            let case = case.unwrap_or_else(|| panic!("an error of no impl: {}", complaint.text));
            if complaint.code != "E0046" {
                refused.entry(*case).or_default().push(complaint);
            }
        }
        for (case, complaints) in &refused {
            blind.extend(complaints.iter().filter_map(|said| {
                let case = &cases[*case];
                let known = REFUSALS.contains(&said.code.as_str())
                    && !(case.expected && said.code == "E0277");
                (!known).then(|| format!("{}: {}\n    {}", case.head, said.text, case.code))
            }));
        }
        if refused.is_empty() {
            assert!(blind.is_empty(), "cannot tell whether it is open:\n{}", blind.join("\n"));
            let open = alive.iter().filter_map(|case| {
                let case = &cases[*case];
                Some((case.head.clone(), case.id?))
            });
            let ids: Vec<u32> = cases.iter().filter_map(|case| Some(case.id?.0)).collect();
            let tried = ids.len();
            let traits = ids.into_iter().collect::<BTreeSet<u32>>().len();
            return Outcome { open: open.collect(), tried, traits, rounds: round };
        }
        alive.retain(|case| !refused.contains_key(case));
    }
    unreachable!("each round leaves fewer")
}

/// What refuses an impl: a bound, a supertrait that is not there, an impl that is there already, or another crate's trait
/// for another crate's type.
const REFUSALS: [&str; 5] = ["E0277", "E0119", "E0117", "E0210", "E0751"];

/// An error.
struct Complaint {
    line: usize,
    code: String,
    text: String,
}

fn compile(folder: &std::path::Path) -> Vec<Complaint> {
    let output = cargo()
        .args(["check", "--offline", "--message-format", "json", "--target-dir"])
        .arg(root().join("target/baton-gates/check"))
        .current_dir(folder)
        .output()
        .expect("cargo starts");
    let mut complaints = Vec::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let Ok(message) = serde_json::from_str::<Value>(line) else { continue };
        let said = &message["message"];
        if message["reason"] != "compiler-message" || said["level"] != "error" {
            continue;
        }
        let code = said["code"]["code"].as_str().unwrap_or_default().to_owned();
        let spans = said["spans"].as_array().expect("spans");
        for span in spans.iter().filter(|span| span["is_primary"] == true) {
            // An error of the library itself is none of an impl's: it has no line here.
            let here = span["file_name"] == "src/lib.rs";
            let line = span["line_start"].as_u64().filter(|_| here).unwrap_or_default();
            let text = said["message"].as_str().unwrap_or_default().to_owned();
            let line = usize::try_from(line).expect("a line");
            complaints.push(Complaint { line, code: code.clone(), text });
        }
    }
    let silent = !output.status.success() && complaints.is_empty();
    assert!(!silent, "{}", String::from_utf8_lossy(&output.stderr));
    complaints
}
