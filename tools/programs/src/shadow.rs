//! Names in the way of the macros: a program that means the same as its kernel, in which an item, a trait or a parameter has a
//! name that the macros use, or a type is named by a path that means something else one module further in. Whatever still
//! compiles computes what the kernel does.

use std::collections::BTreeSet;
use std::path::Path;

use baton_campaign::Random;
use proc_macro2::{Group, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote};
use syn::{
    AngleBracketedGenericArguments, FnArg, GenericArgument, Item, ItemFn, PathArguments, Type,
    parse_quote, parse_str, parse2,
};

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
    /// A type in the signature or in shared memory is `super::Meant`, and the module has another `Meant`.
    Path,
    /// The whole type of a parameter is.
    Type,
    /// The layout of the token is.
    Layout,
    /// A number in the token's type or in shared memory is `super::MEANT`.
    Count,
    /// A trait that everything implements has the macros' names.
    Trait,
    /// A parameter has a name of the macros.
    Parameter,
    /// Items have names of the macros.
    Items,
}

const ALL: [Shadow; 7] = [
    Shadow::Path,
    Shadow::Type,
    Shadow::Layout,
    Shadow::Count,
    Shadow::Trait,
    Shadow::Parameter,
    Shadow::Items,
];

/// Types that may be meant, each with one of another size or kind.
const MEANT: &[(&str, &str)] = &[("u32", "u64"), ("f32", "u8"), ("bf16", "f32"), ("u64", "u32")];
/// Types of parameters that are not meant.
const DECOYS: &[&str] =
    &["u8", "u64", "GlobalPtr<u8>", "ReadOnly<u64>", "baton::protocol::Queue<u8>"];

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
        Shadow::Type => type_(random, file, seed),
        Shadow::Layout => layout(file, seed),
        Shadow::Count => number(random, file, seed),
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
    further_in(
        file,
        parse_quote!(pub type Meant = #real_type;),
        parse_quote!(pub type Meant = #decoy_type;),
    );
    Some(format!("{real} is super::Meant, and Meant is {decoy} further in"))
}

/// Puts the whole file one module further in, with what is meant outside and a decoy of the same name beside the kernel.
fn further_in(file: &mut syn::File, meant: Item, decoy: Item) {
    let mut items = std::mem::take(&mut file.items);
    items.push(decoy);
    file.items = vec![
        parse_quote!(
            use baton::prelude::*;
        ),
        // What the type names beside the library's.
        parse_quote!(
            use inner::*;
        ),
        meant,
        parse_quote!(pub mod inner { #(#items)* }),
    ];
}

/// Names the whole type of a parameter so.
fn type_(random: &mut Random, file: &mut syn::File, seed: &Seed) -> Option<String> {
    let kernel = seed.kernel_in(file);
    // What a parameter of the kernel stands in cannot be said outside.
    if !kernel.sig.generics.params.is_empty() || kernel.sig.inputs.len() < 2 {
        return None;
    }
    let at = 1 + random.below(kernel.sig.inputs.len() - 1);
    let Some(FnArg::Typed(input)) = kernel.sig.inputs.iter_mut().nth(at) else { return None };
    let real = std::mem::replace(&mut *input.ty, parse_quote!(super::Meant));
    let decoy: Type = parse_str(DECOYS[random.below(DECOYS.len())]).ok()?;
    let note = format!(
        "{} is super::Meant, and Meant is {} further in",
        real.to_token_stream(),
        decoy.to_token_stream()
    );
    further_in(file, parse_quote!(pub type Meant = #real;), parse_quote!(pub type Meant = #decoy;));
    Some(note)
}

/// Names the layout of the token so: the decoy has another amount of shared memory.
fn layout(file: &mut syn::File, seed: &Seed) -> Option<String> {
    let arguments = token(seed.kernel_in(file))?;
    let Some(GenericArgument::Type(layout)) = arguments.args.iter_mut().nth(1) else { return None };
    let real = layout.to_token_stream().to_string();
    if real.contains('<') {
        return None;
    }
    *layout = parse_quote!(super::Meant);
    let real = format_ident!("{real}");
    let meant = match &*real.to_string() {
        "NoShared" => parse_quote!(
            pub type Meant = NoShared;
        ),
        _ => parse_quote!(pub type Meant = inner::#real;),
    };
    let decoy = parse_quote! {
        baton::shared! { pub struct Meant in not_meant { little: Exchange<u32, 32> } }
    };
    further_in(file, meant, decoy);
    Some(format!("{real} is super::Meant, and Meant has an exchange of 32 words further in"))
}

/// The arguments of the token's type.
fn token(kernel: &mut ItemFn) -> Option<&mut AngleBracketedGenericArguments> {
    let Some(FnArg::Typed(input)) = kernel.sig.inputs.first_mut() else { return None };
    let Type::Path(path) = &mut *input.ty else { return None };
    match &mut path.path.segments.last_mut()?.arguments {
        PathArguments::AngleBracketed(arguments) => Some(arguments),
        _ => None,
    }
}

/// Names a number so: that of the threads, or one in shared memory.
fn number(random: &mut Random, file: &mut syn::File, seed: &Seed) -> Option<String> {
    let in_shared = |item: &Item| match item {
        Item::Macro(call) => numbers(&call.mac.tokens),
        _ => 0,
    };
    let total: usize = file.items.iter().map(in_shared).sum();
    let mut left = random.below(total + 1);
    let real = if left == total {
        let arguments = token(seed.kernel_in(file))?;
        let threads = arguments.args.iter_mut().nth(2)?;
        let real = threads.to_token_stream();
        *threads = parse_quote!({ super::MEANT });
        real
    } else {
        let mut found = None;
        for item in &mut file.items {
            let Item::Macro(call) = item else { continue };
            let tokens = call.mac.tokens.clone();
            call.mac.tokens = meant_number(tokens, &mut left, &mut found);
        }
        found?
    };
    let note = format!("{real} is super::MEANT, and MEANT is another number further in");
    further_in(
        file,
        parse_quote!(pub const MEANT: u32 = #real;),
        parse_quote!(pub const MEANT: u32 = 1 + #real;),
    );
    Some(note)
}

fn numbers(tokens: &TokenStream) -> usize {
    let each = |token: TokenTree| match token {
        TokenTree::Literal(_) => 1,
        TokenTree::Group(group) => numbers(&group.stream()),
        _ => 0,
    };
    tokens.clone().into_iter().map(each).sum()
}

/// Code with `super::MEANT` in the place of the literal `left`, which is put into `found`.
fn meant_number(
    tokens: TokenStream,
    left: &mut usize,
    found: &mut Option<TokenStream>,
) -> TokenStream {
    let mut out = TokenStream::new();
    for token in tokens {
        match token {
            TokenTree::Literal(literal) => {
                if *left == 0 && found.is_none() {
                    *found = Some(TokenTree::Literal(literal).into());
                    out.extend(quote!({ super::MEANT }));
                } else {
                    *left = left.saturating_sub(1);
                    out.extend([TokenTree::Literal(literal)]);
                }
            }
            TokenTree::Group(group) => {
                let inner = meant_number(group.stream(), left, found);
                out.extend([TokenTree::Group(Group::new(group.delimiter(), inner))]);
            }
            other => out.extend([other]),
        }
    }
    out
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
