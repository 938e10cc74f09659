//! Names in the way of the macros: a program that means the same as its kernel, in which an item, a trait or a parameter has a
//! name that the macros use, or a type is named by a path that means something else one module further in. Whatever still
//! compiles computes what the kernel does.

use std::collections::BTreeSet;
use std::path::Path;

use baton_campaign::Random;
use proc_macro2::{Group, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote};
use syn::{Item, ItemFn, parse_quote, parse2};

use crate::seed::Seed;
use crate::walk::{renamed, words};
use crate::{Error, Result, read};

/// The identifiers in the sources of the macros.
pub fn vocabulary(library: &Path) -> Result<Vec<String>> {
    let mut found = BTreeSet::new();
    let macros = library.join("macros/src");
    let mut files = vec![library.join("src/entry.rs"), library.join("src/print.rs")];
    let entries = std::fs::read_dir(&macros).map_err(|source| Error::File {
        action: "read",
        path: macros.clone(),
        source,
    })?;
    files.extend(entries.filter_map(|entry| Some(entry.ok()?.path())));
    files.retain(|file| file.extension().is_some_and(|extension| extension == "rs"));
    for file in files {
        let text = read(&file)?;
        let tokens: TokenStream = text.parse().unwrap_or_default();
        found.extend(words(&tokens));
    }
    let is_word = |word: &String| syn::parse_str::<syn::Ident>(word).is_ok() && word != "_";
    Ok(found.into_iter().filter(is_word).collect())
}

/// What stands in the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shadow {
    /// A type of the signature or of shared memory is `super::Meant`, and the module has another `Meant`.
    Path,
    /// A trait that everything implements has the macros' names.
    Trait,
    /// A parameter has a name of the macros.
    Parameter,
    /// Items have names of the macros.
    Items,
}

const ALL: [Shadow; 4] = [Shadow::Path, Shadow::Trait, Shadow::Parameter, Shadow::Items];

/// Types that may be meant, each with one of another size or kind.
const MEANT: &[(&str, &str)] = &[("u32", "u64"), ("f32", "u8"), ("bf16", "f32"), ("u64", "u32")];

/// Puts something in the way; says what, or nothing where there is no place for it.
pub fn apply(
    choice: u64,
    file: &mut syn::File,
    seed: &Seed,
    vocabulary: &[String],
) -> Option<String> {
    (0..8).find_map(|attempt| once(&mut Random::of(choice, attempt), file, seed, vocabulary))
}

fn once(
    random: &mut Random,
    file: &mut syn::File,
    seed: &Seed,
    vocabulary: &[String],
) -> Option<String> {
    let pick = |random: &mut Random, fits: &dyn Fn(&str) -> bool| {
        let fitting: Vec<_> = vocabulary.iter().filter(|word| fits(word)).collect();
        fitting.get(random.below(fitting.len())).map(|word| (*word).clone())
    };
    let kind = ALL[random.below(ALL.len())];
    match kind {
        Shadow::Path => path(random, file, seed),
        Shadow::Trait => {
            let constants: BTreeSet<_> = (0..4)
                .filter_map(|_| {
                    pick(random, &|word| word.chars().all(|c| c.is_uppercase() || c == '_'))
                })
                .chain(["BYTES".to_owned()])
                .collect();
            let methods: BTreeSet<_> = (0..6)
                .filter_map(|_| {
                    pick(random, &|word| word.chars().all(|c| c.is_lowercase() || c == '_'))
                })
                .collect();
            let (constants, methods): (Vec<_>, Vec<_>) = (
                constants.iter().map(|name| format_ident!("{name}")).collect(),
                methods.iter().map(|name| format_ident!("{name}")).collect(),
            );
            let note = format!("a trait with {constants:?} and {methods:?}");
            file.items.push(parse_quote! {
                pub trait InTheWay {
                    #(const #constants: u32 = 1;)*
                    #(fn #methods(&self) -> u64 { 0 })*
                }
            });
            file.items.push(parse_quote!(
                impl<T: ?Sized> InTheWay for T {}
            ));
            Some(note)
        }
        Shadow::Parameter => {
            let parameters = seed.parameters();
            let old = parameters.get(1 + random.below(parameters.len() - 1))?.clone();
            let taken = words(&*seed.kernel_in(file));
            let free = |word: &str| {
                word.chars().all(|c| c.is_lowercase() || c == '_') && !taken.contains(word)
            };
            let new = match random.below(3) {
                0 => ["params", "root", "launch", "bytes"][random.below(4)].to_owned(),
                _ => pick(random, &free)?,
            };
            if taken.contains(&new) {
                return None;
            }
            let kernel = seed.kernel_in(file);
            let (inputs, block) = (&kernel.sig.inputs, &kernel.block);
            let inputs = renamed(inputs.to_token_stream(), &old, &new);
            let block = renamed(block.to_token_stream(), &old, &new);
            let parsed: ItemFn = parse2(quote!(fn parsed(#inputs) #block)).ok()?;
            kernel.sig.inputs = parsed.sig.inputs;
            kernel.block = parsed.block;
            Some(format!("the parameter {old} is {new}"))
        }
        Shadow::Items => {
            let taken = words(&*file);
            let free = |word: &str| {
                word.starts_with(|c: char| c.is_uppercase())
                    && word.len() > 1
                    && !taken.contains(word)
            };
            let lower = |word: &str| {
                word.chars().all(|c| c.is_lowercase() || c == '_') && !taken.contains(word)
            };
            let (one, other) = (pick(random, &free)?, pick(random, &lower)?);
            let (first, second) = (format_ident!("{one}"), format_ident!("{other}"));
            file.items.push(parse_quote!(pub struct #first;));
            file.items.push(parse_quote!(pub mod #second {}));
            Some(format!("a structure {one} and a module {other}"))
        }
    }
}

/// Names a type by a path that means another type in a module further in.
fn path(random: &mut Random, file: &mut syn::File, seed: &Seed) -> Option<String> {
    let (real, decoy) = MEANT[random.below(MEANT.len())];
    let inputs = seed.kernel_in(file).sig.inputs.to_token_stream();
    let in_signature = count(&inputs, real);
    let shared = file
        .items
        .iter()
        .position(|item| matches!(item, Item::Macro(call) if count(&call.mac.tokens, real) > 0));
    let tokens = |at: usize| match &file.items[at] {
        Item::Macro(call) => call.mac.tokens.clone(),
        _ => TokenStream::new(),
    };
    let in_shared = shared.map_or(0, |at| count(&tokens(at), real));
    let total = in_signature + in_shared;
    if total == 0 {
        return None;
    }
    let at = random.below(total);
    if at < in_signature {
        let inputs = meant(inputs, real, &mut { at });
        let parsed: ItemFn = parse2(quote!(fn parsed(#inputs) {})).ok()?;
        seed.kernel_in(file).sig.inputs = parsed.sig.inputs;
    } else {
        let item = shared?;
        let new = meant(tokens(item), real, &mut { at - in_signature });
        if let Item::Macro(call) = &mut file.items[item] {
            call.mac.tokens = new;
        }
    }
    let (real_type, decoy_type) = (format_ident!("{real}"), format_ident!("{decoy}"));
    let mut items = std::mem::take(&mut file.items);
    items.push(parse_quote!(pub type Meant = #decoy_type;));
    // What a seed says about itself stays at the top.
    file.items = vec![
        parse_quote!(
            use baton::prelude::*;
        ),
        parse_quote!(pub type Meant = #real_type;),
        parse_quote!(pub mod inner { #(#items)* }),
    ];
    Some(format!("{real} is super::Meant, and Meant is {decoy} further in"))
}

fn count(tokens: &TokenStream, word: &str) -> usize {
    let each = |token: TokenTree| match token {
        TokenTree::Ident(ident) => usize::from(ident == word),
        TokenTree::Group(group) => count(&group.stream(), word),
        _ => 0,
    };
    tokens.clone().into_iter().map(each).sum()
}

/// Code with `super::Meant` in the place of the occurrence `left` of a type.
fn meant(tokens: TokenStream, word: &str, left: &mut usize) -> TokenStream {
    let mut out = TokenStream::new();
    for token in tokens {
        match token {
            TokenTree::Ident(ident) if ident == word => {
                match *left {
                    0 => out.extend(quote!(super::Meant)),
                    _ => out.extend([TokenTree::Ident(ident)]),
                }
                *left = left.wrapping_sub(1);
            }
            TokenTree::Group(group) => {
                let inner = meant(group.stream(), word, left);
                out.extend([TokenTree::Group(Group::new(group.delimiter(), inner))]);
            }
            other => out.extend([other]),
        }
    }
    out
}
