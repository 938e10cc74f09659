//! Safe functions that make a protocol's value of an address: there are to be none. They are looked for in the library's sources,
//! so that one that comes in unseen is used by the next campaign.

use std::path::{Path, PathBuf};

use quote::ToTokens;
use syn::{FnArg, Item, Signature, TraitItem, Visibility};

use crate::insert::Static;
use crate::moves::MOVES;
use crate::{Error, Result, read};

/// An address in the kernel's own shared memory, which safe code can have.
const ADDRESS: &str = "baton::ptx::shared::dynamic_shared().offset($number)";

/// The functions in the sources of a library, as moves.
pub fn find(library: &Path) -> Result<Vec<Static>> {
    let source = library.join("src");
    let mut found = Vec::new();
    for file in files(&source)? {
        let module = file.strip_prefix(&source).unwrap_or(&file).with_extension("");
        let names: Vec<_> = module
            .components()
            .map(|part| part.as_os_str().to_string_lossy().into_owned())
            .filter(|name| name != "mod" && name != "lib")
            .collect();
        // The instruction layer is `unsafe` as a whole, and hands out no protocol's values.
        if names.first().is_some_and(|name| name == "ptx") {
            continue;
        }
        let parsed = syn::parse_file(&read(&file)?)
            .map_err(|error| Error::Content { path: file.clone(), problem: error.to_string() })?;
        for item in &parsed.items {
            let Item::Trait(item) = item else { continue };
            if !matches!(item.vis, Visibility::Public(_)) {
                continue;
            }
            for function in &item.items {
                if let TraitItem::Fn(function) = function
                    && forges(&function.sig)
                {
                    let (module, name) = (names.join("::"), &item.ident);
                    let call = &function.sig.ident;
                    found.extend(moves(&format!("baton::{module}::{name}::{call}({ADDRESS})")));
                }
            }
        }
    }
    Ok(found)
}

/// Whether a function is safe and makes its value of an address alone.
fn forges(signature: &Signature) -> bool {
    let address = |input: &FnArg| match input {
        FnArg::Typed(input) => input.ty.to_token_stream().to_string().starts_with("Addr <"),
        FnArg::Receiver(_) => false,
    };
    let given = signature.output.to_token_stream().to_string();
    signature.unsafety.is_none()
        && signature.inputs.len() == 1
        && signature.inputs.iter().all(address)
        && given == "-> Self"
}

/// The call with each type that a value of some kind may have, alone and in a tuple.
fn moves(call: &str) -> Vec<Static> {
    let typed = MOVES.types.iter().flat_map(|&(kind, text)| {
        let call = call.to_owned();
        [("$name", text.to_owned()), ("($name,)", format!("({text},)"))].map(|(pattern, text)| {
            let pattern = pattern.replace("$name", "mut $name");
            Static { kind, pattern: format!("{pattern}: {text}"), call: call.clone() }
        })
    });
    typed.collect()
}

fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let error = |source| Error::File { action: "read", path: folder.to_owned(), source };
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(error)? {
        let path = entry.map_err(error)?.path();
        if path.is_dir() {
            found.extend(files(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_made_of_an_address_by_safe_functions() {
        assert_eq!(find(&crate::root().join("kernel-lib")).unwrap(), []);
    }

    #[test]
    fn a_function_that_would_is_seen() {
        let seen = |text: &str| forges(&syn::parse_str::<Signature>(text).unwrap());
        assert!(seen("fn of(base: Addr<SharedCta>) -> Self"));
        assert!(!seen("unsafe fn of(base: Addr<SharedCta>) -> Self"));
        assert!(!seen("fn offset(self, bytes: u32) -> Self"));
    }
}
