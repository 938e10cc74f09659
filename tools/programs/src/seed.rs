//! The kernels that programs are made of: `seeds/seeds.toml`, with launch descriptions of `baton check` beside it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use baton_builder::Arch;
use baton_cli::commands::check::spec::Spec;
use quote::ToTokens;
use serde::Deserialize;
use syn::visit_mut::{self, VisitMut};
use syn::{Attribute, FnArg, Item, ItemFn, Pat};

use crate::moves::{Kind, MOVES};
use crate::{Error, Result, read};

/// The list, as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    seed: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: String,
    files: Vec<PathBuf>,
    kernel: Option<String>,
    arch: Option<String>,
    instance: Option<String>,
    shared: Option<String>,
    launch: Option<String>,
    kinds: BTreeMap<String, String>,
    #[serde(default)]
    rings: Vec<(String, String)>,
    from: Option<String>,
    to: Option<String>,
    value: Option<String>,
    #[serde(default)]
    values: Vec<String>,
    #[serde(default)]
    varies: bool,
}

/// How a kernel is launched.
#[derive(Clone, Debug)]
pub struct Launch {
    /// The text of a description.
    pub text: String,
    /// Buffers whose contents no schedule decides.
    pub values: Vec<String>,
    /// Whether that holds of the kernel as it is alone: which CTA does what is the schedule's choice, and where an edit makes
    /// its roles disagree, the values follow that.
    pub varies: bool,
}

/// A kernel that programs are made of.
#[derive(Clone, Debug)]
pub struct Seed {
    /// What it is called here.
    pub name: String,
    /// Its file, without what the kernel does not need.
    pub file: syn::File,
    /// The kernel's name in it.
    pub kernel: String,
    /// What it is compiled for.
    pub arch: Arch,
    /// What its variables are at first.
    pub kinds: BTreeMap<String, Kind>,
    /// Which end hands to which.
    pub rings: Vec<(String, String)>,
    /// What a bulk copy loads.
    pub from: String,
    /// Where one stores.
    pub to: String,
    /// An element.
    pub value: String,
    /// How it is launched.
    pub launch: Launch,
    /// Whether it claims something, which is `unsafe`.
    pub claims: bool,
    instance: Option<String>,
}

impl Seed {
    /// The kernel in a file that was made of the seed's.
    ///
    /// # Panics
    /// If it is not there; [`load`] has seen that it is, and no edit takes it away.
    pub fn kernel_in<'a>(&self, file: &'a mut syn::File) -> &'a mut ItemFn {
        fn find<'a>(items: &'a mut [Item], name: &str) -> Option<&'a mut ItemFn> {
            items.iter_mut().find_map(|item| match item {
                Item::Fn(function) if function.sig.ident == name => Some(function),
                Item::Mod(module) => find(&mut module.content.as_mut()?.1, name),
                _ => None,
            })
        }
        find(&mut file.items, &self.kernel).expect("the seed's file has its kernel")
    }

    /// The names of the kernel's parameters, the token's first.
    pub fn parameters(&self) -> Vec<String> {
        let kernel = self.kernel_in(&mut self.file.clone()).clone();
        let name = |input: &FnArg| match input {
            FnArg::Typed(typed) => match &*typed.pat {
                Pat::Ident(pattern) => Some(pattern.ident.to_string()),
                _ => None,
            },
            FnArg::Receiver(_) => None,
        };
        kernel.sig.inputs.iter().filter_map(name).collect()
    }

    /// Gives the kernel the name under which its module is launched.
    pub fn rename(&self, file: &mut syn::File, name: &str) {
        let kernel = self.kernel_in(file);
        kernel.sig.ident = quote::format_ident!("{name}");
        let Some(instance) = &self.instance else { return };
        for attribute in kernel.attrs.iter_mut().filter(|attribute| is_kernel(attribute)) {
            let text = attribute.to_token_stream().to_string();
            let Some((head, _)) = text.split_once("instances") else { continue };
            let new = format!("{head} instances({name} = {instance}))] fn f() {{}}");
            if let Ok(parsed) = syn::parse_str::<ItemFn>(&new) {
                *attribute = parsed.attrs[0].clone();
                kernel.sig.ident = quote::format_ident!("{name}_of");
                break;
            }
        }
    }
}

fn is_kernel(attribute: &Attribute) -> bool {
    attribute.path().segments.last().is_some_and(|segment| segment.ident == "kernel")
}

/// Takes documentation away: it says nothing about edits.
struct WithoutDocs;

impl VisitMut for WithoutDocs {
    fn visit_attributes_mut(&mut self, attributes: &mut Vec<Attribute>) {
        attributes.retain(|attribute| !attribute.path().is_ident("doc"));
    }

    fn visit_item_mut(&mut self, item: &mut Item) {
        visit_mut::visit_item_mut(self, item);
    }
}

/// All seeds of the repository at `root`, in the order of the list.
pub fn load(root: &Path) -> Result<Vec<Seed>> {
    let folder = root.join("tools/programs/seeds");
    let path = folder.join("seeds.toml");
    let list: List = toml::from_str(&read(&path)?)
        .map_err(|error| Error::Content { path: path.clone(), problem: error.to_string() })?;
    list.seed.into_iter().map(|entry| one(root, &path, entry)).collect()
}

fn one(root: &Path, list: &Path, entry: Entry) -> Result<Seed> {
    let name = entry.name;
    let wrong = |path: &Path, problem: String| Error::Content { path: path.to_owned(), problem };
    let kernel = entry.kernel.unwrap_or_else(|| name.clone());
    let mut items = Vec::new();
    for (number, file) in entry.files.iter().enumerate() {
        let path = root.join(file);
        let mut parsed =
            syn::parse_file(&read(&path)?).map_err(|error| wrong(&path, error.to_string()))?;
        WithoutDocs.visit_file_mut(&mut parsed);
        let last = number + 1 == entry.files.len();
        items.extend(parsed.items.into_iter().filter(|item| {
            needed(item, last.then_some(&*kernel), entry.shared.as_deref(), entry.files.len() > 1)
        }));
    }
    // Of several files, what both import.
    let mut seen: Vec<String> = Vec::new();
    items.retain(|item| {
        let Item::Use(import) = item else { return true };
        let text = import.to_token_stream().to_string();
        let new = !seen.contains(&text);
        seen.push(text);
        new
    });
    let file = syn::File { shebang: None, attrs: Vec::new(), items };
    let is_it = |item: &Item| matches!(item, Item::Fn(function) if function.sig.ident == kernel);
    if !file.items.iter().any(is_it) {
        return Err(wrong(list, format!("seed `{name}`: there is no kernel `{kernel}`")));
    }
    let arch = match entry.arch.as_deref() {
        None | Some("sm_100a") => Arch::Sm100a,
        Some("sm_90a") => Arch::Sm90a,
        Some(_) => {
            return Err(wrong(list, format!("seed `{name}`: programs are for sm_90a or sm_100a")));
        }
    };
    let mut kinds = BTreeMap::new();
    for (variable, kind) in entry.kinds {
        let Some(kind) = MOVES.kind(&kind) else {
            return Err(wrong(list, format!("seed `{name}`: no move knows the kind `{kind}`")));
        };
        kinds.insert(variable, kind);
    }
    let launch = entry.launch.as_ref().unwrap_or(&name);
    let path = list.with_file_name("launch").join(launch).with_extension("toml");
    let launch = read(&path)?;
    Spec::parse(&launch).map_err(|error| wrong(&path, error.problem))?;
    let claims = file.to_token_stream().to_string().contains("unsafe");
    Ok(Seed {
        name,
        file,
        kernel,
        arch,
        kinds,
        rings: entry.rings,
        from: entry.from.unwrap_or_default(),
        to: entry.to.unwrap_or_default(),
        value: entry.value.unwrap_or_else(|| "7u32".into()),
        launch: Launch { text: launch, values: entry.values, varies: entry.varies },
        claims,
        instance: entry.instance,
    })
}

/// Whether an item may be needed by the kernel. Other kernels are not, nor structures of shared memory that are not its;
/// what modules without text hold, and `super`, is in another of the seed's files, or not needed.
fn needed(item: &Item, kernel: Option<&str>, shared: Option<&str>, several: bool) -> bool {
    match item {
        Item::Fn(function) if function.attrs.iter().any(is_kernel) => {
            kernel.is_some_and(|kernel| function.sig.ident == kernel)
        }
        Item::Mod(module) => module.content.is_some(),
        Item::Use(import) => {
            !(several && import.to_token_stream().to_string().starts_with("use super"))
        }
        Item::Macro(call) => {
            let named = call.mac.path.segments.last().map(|segment| segment.ident.to_string());
            let tokens = call.mac.tokens.to_string();
            let is = |name: &str| {
                tokens.contains(&format!("struct {name} "))
                    || tokens.contains(&format!("struct {name}<"))
            };
            // A generic structure of the first file is not the second's.
            named.as_deref() == Some("shared")
                && !(several && kernel.is_none())
                && shared.is_none_or(is)
        }
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_seeds_are_there() {
        let seeds = load(&crate::root()).unwrap();
        assert!(seeds.len() >= 30);
        for seed in &seeds {
            assert!(!seed.parameters().is_empty(), "{}", seed.name);
            for (giver, taker) in &seed.rings {
                for end in [giver, taker] {
                    assert!(seed.kinds.contains_key(end), "{}: `{end}`", seed.name);
                }
            }
        }
    }
}
