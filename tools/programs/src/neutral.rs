//! Edits that cannot change what a kernel computes: variables have other names, statements that have nothing in common change
//! places, what stood in one expression stands in two statements, or in a loop of one round, and threads meet once more. Such
//! a program leaves the values of its kernel, under every schedule.

use std::collections::BTreeSet;

use baton_campaign::Random;
use quote::{ToTokens, format_ident, quote};
use syn::visit::{self, Visit};
use syn::{Block, Expr, FieldPat, ItemFn, Member, PatIdent, Stmt, parse_quote, parse2};

use crate::seed::Seed;
use crate::walk::{self, Context, Look, names, renamed, words};

/// What is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    /// A variable has another name.
    Rename,
    /// Two statements beside each other, which have nothing in common, change places.
    Swap,
    /// A statement is a block, or the round of a loop.
    Wrap,
    /// The value that a method is called on gets a name first.
    Split,
    /// The threads of a token meet.
    Barrier,
}

const ALL: [Change; 5] =
    [Change::Rename, Change::Swap, Change::Wrap, Change::Split, Change::Barrier];

/// Times that a change without a place is drawn again.
const TRIES: u64 = 10;

/// Changes a kernel in one to four places; says how, and whether not even its waits can come to another end. Statements in
/// another order may make two sets wait for each other, and threads that meet have to come there together.
pub fn apply(choice: u64, kernel: &mut ItemFn, seed: &Seed) -> (Vec<String>, bool) {
    let mut random = Random::of(choice, 0);
    let (mut notes, mut exact) = (Vec::new(), true);
    for number in 0..1 + random.below(4) {
        for _ in 0..TRIES {
            let change = ALL[random.below(ALL.len())];
            if let Some(note) = once(change, number, &mut random, kernel, seed) {
                exact &= !matches!(change, Change::Swap | Change::Barrier);
                notes.push(format!("{change:?} {note}"));
                break;
            }
        }
    }
    (notes, exact)
}

fn once(
    change: Change,
    number: usize,
    random: &mut Random,
    kernel: &mut ItemFn,
    seed: &Seed,
) -> Option<String> {
    if change == Change::Rename {
        return rename(number, random, kernel);
    }
    let look = |target| Place { change, number, target, wrap: 0, seen: 0, note: None };
    let mut count = look(None);
    walk::walk(&mut kernel.clone(), seed, &mut count);
    let mut place = look(Some(random.below(count.seen)));
    place.wrap = random.below(3);
    let mut changed = kernel.clone();
    walk::walk(&mut changed, seed, &mut place);
    let note = place.note?;
    *kernel = changed;
    Some(note)
}

/// The variables that a kernel binds, and the names of its fields and methods.
#[derive(Default)]
struct Names {
    bound: BTreeSet<String>,
    other: BTreeSet<String>,
}

impl<'ast> Visit<'ast> for Names {
    fn visit_pat_ident(&mut self, pattern: &'ast PatIdent) {
        self.bound.insert(pattern.ident.to_string());
        visit::visit_pat_ident(self, pattern);
    }

    fn visit_field_pat(&mut self, field: &'ast FieldPat) {
        self.other.insert(field.member.to_token_stream().to_string());
        visit::visit_field_pat(self, field);
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        self.other.insert(call.method.to_string());
        visit::visit_expr_method_call(self, call);
    }

    fn visit_member(&mut self, member: &'ast Member) {
        self.other.insert(member.to_token_stream().to_string());
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.segments.len() > 1 {
            self.other.extend(words(path));
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        self.other.extend(words(&call.tokens));
    }
}

fn rename(number: usize, random: &mut Random, kernel: &mut ItemFn) -> Option<String> {
    let mut found = Names::default();
    found.visit_item_fn(kernel);
    let free: Vec<_> = found.bound.difference(&found.other).collect();
    let old = (*free.get(random.below(free.len()))?).clone();
    let new = format!("other_{number}");
    if words(kernel).contains(&new) {
        return None;
    }
    let (inputs, block) = (&kernel.sig.inputs, &kernel.block);
    let inputs = renamed(inputs.to_token_stream(), &old, &new);
    let block = renamed(block.to_token_stream(), &old, &new);
    let parsed: ItemFn = parse2(quote!(fn parsed(#inputs) #block)).ok()?;
    kernel.sig.inputs = parsed.sig.inputs;
    kernel.block = parsed.block;
    Some(format!("{old} is {new}"))
}

/// Looks for the place of a change, and makes it there.
struct Place {
    change: Change,
    number: usize,
    /// `None` counts.
    target: Option<usize>,
    /// How a statement is wrapped.
    wrap: usize,
    seen: usize,
    note: Option<String>,
}

impl Look for Place {
    fn statement(&mut self, block: &mut Block, at: usize, context: &Context) -> bool {
        let changed = match self.change {
            Change::Swap => swapped(block, at, context),
            Change::Wrap => wrapped(block, at, self.wrap),
            Change::Split => split(block, at, self.number),
            Change::Barrier => met(block, at, context),
            Change::Rename => None,
        };
        let Some(changed) = changed else { return false };
        self.seen += 1;
        if self.target != Some(self.seen - 1) {
            return false;
        }
        self.note = Some(block.stmts[at].to_token_stream().to_string());
        block.stmts = changed;
        true
    }
}

/// Whether a statement stays in its place, by what it says.
fn stays(statement: &Stmt) -> bool {
    let fixed =
        ["unsafe", "break", "continue", "return", "roles", "exit", "claim", "join", "forget"];
    let all = words(statement);
    matches!(statement, Stmt::Item(_)) || fixed.iter().any(|word| all.contains(*word))
}

/// Whether a statement is the value of its block.
fn is_value(block: &Block, at: usize) -> bool {
    at + 1 == block.stmts.len() && matches!(block.stmts[at], Stmt::Expr(_, None))
}

fn swapped(block: &Block, at: usize, context: &Context) -> Option<Vec<Stmt>> {
    let (one, other) = (block.stmts.get(at)?, block.stmts.get(at + 1)?);
    if stays(one) || stays(other) || is_value(block, at + 1) {
        return None;
    }
    let (first, second) = (words(one), words(other));
    let bound = |statement: &Stmt| match statement {
        Stmt::Local(local) => names(&local.pat),
        _ => Vec::new(),
    };
    let known = context.scope.iter().map(|entry| entry.0.clone());
    let mut variables: BTreeSet<String> = known.filter(|name| *name != context.token).collect();
    variables.extend(bound(one));
    variables.extend(bound(other));
    if variables.iter().any(|name| first.contains(name) && second.contains(name)) {
        return None;
    }
    let mut statements = block.stmts.clone();
    statements.swap(at, at + 1);
    Some(statements)
}

fn wrapped(block: &Block, at: usize, how: usize) -> Option<Vec<Stmt>> {
    let statement = &block.stmts[at];
    if stays(statement) || is_value(block, at) || matches!(statement, Stmt::Local(_)) {
        return None;
    }
    let mut statements = block.stmts.clone();
    statements[at] = match how {
        0 => parse_quote!({ #statement }),
        1 => parse_quote!(if true { #statement }),
        _ => parse_quote!(loop { #statement; break; }),
    };
    Some(statements)
}

/// Takes the value that the last method of a statement is called on out into a statement of its own.
fn split(block: &Block, at: usize, number: usize) -> Option<Vec<Stmt>> {
    let statement = &block.stmts[at];
    if stays(statement) {
        return None;
    }
    let name = format_ident!("before_{number}");
    let mut statements = block.stmts.clone();
    let call = match &mut statements[at] {
        Stmt::Local(local) => match &mut *local.init.as_mut()?.expr {
            Expr::MethodCall(call) => call,
            _ => return None,
        },
        Stmt::Expr(Expr::MethodCall(call), _) => call,
        _ => return None,
    };
    if !matches!(*call.receiver, Expr::MethodCall(_)) {
        return None;
    }
    let value = std::mem::replace(&mut *call.receiver, parse_quote!(#name));
    statements.insert(at, parse_quote!(let mut #name = #value;));
    Some(statements)
}

/// Has the threads of the token meet before a statement of their role.
fn met(block: &Block, at: usize, context: &Context) -> Option<Vec<Stmt>> {
    let token = format_ident!("{}", context.token);
    let whole = context.in_role && context.token != "t";
    if !whole || block.stmts[at..].iter().any(|statement| matches!(statement, Stmt::Item(_))) {
        return None;
    }
    let mut statements = block.stmts.clone();
    statements.insert(at, parse_quote!(#token.barrier();));
    Some(statements)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(change: Change, body: &str) -> Vec<String> {
        let seeds = crate::seed::load(&crate::root()).unwrap();
        let seed = seeds.iter().find(|seed| seed.name == "reverse").unwrap();
        let kernel: ItemFn = syn::parse_str(&format!("fn k(cta: Cta, o: u32) {body}")).unwrap();
        let mut all = BTreeSet::new();
        for choice in 0..40 {
            let mut kernel = kernel.clone();
            let mut random = Random::of(choice, 1);
            if once(change, 0, &mut random, &mut kernel, seed).is_some() {
                all.insert(kernel.block.to_token_stream().to_string());
            }
        }
        all.into_iter().collect()
    }

    fn code(text: &str) -> String {
        syn::parse_str::<Block>(text).unwrap().to_token_stream().to_string()
    }

    #[test]
    fn statements_change_places_only_if_they_share_nothing() {
        let found = changed(Change::Swap, "{ let a = f(o); let b = g(a); let c = h(1); }");
        assert_eq!(found, [code("{ let a = f(o); let c = h(1); let b = g(a); }")]);
    }

    #[test]
    fn a_name_is_another_everywhere_and_fields_keep_theirs() {
        let found =
            changed(Change::Rename, "{ let P { ring, .. } = o.p(); let q = ring; q.ring(); }");
        let code = [
            code("{ let P { ring, .. } = o.p(); let other_0 = ring; other_0.ring(); }"),
            code("{ let P { ring, .. } = other_0.p(); let q = ring; q.ring(); }"),
            code("{ let P { ring, .. } = o.p(); let q = ring; q.ring(); }"),
        ];
        // The last is that of the token, which the body does not name.
        assert_eq!(found.iter().collect::<BTreeSet<_>>(), code.iter().collect());
    }

    #[test]
    fn a_chain_is_split_before_its_last_call() {
        let found = changed(Change::Split, "{ o.a(1).b(2).c(3); }");
        assert_eq!(found, [code("{ let mut before_0 = o.a(1).b(2); before_0.c(3); }")]);
    }

    #[test]
    fn a_statement_that_leaves_its_loop_is_not_wrapped() {
        let found = changed(Change::Wrap, "{ for i in 0..2 { if i == 1 { break; } } let a = 1; }");
        assert_eq!(found, Vec::<String>::new());
    }
}
