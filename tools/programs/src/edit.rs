//! Edits of a kernel on its syntax tree, one place each.

use std::collections::BTreeSet;

use baton_campaign::Random;
use quote::{ToTokens, format_ident, quote};
use syn::{
    Block, Expr, ExprLit, Ident, ItemFn, Lit, LitInt, Pat, Stmt, parse_quote, parse_str, parse2,
};

use crate::balance;
use crate::insert::{self, Found, Place};
use crate::moves::{Kind, MOVES};
use crate::seed::Seed;
use crate::walk::{self, Context, Look, renamed, words};

/// What is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// A statement goes.
    Delete,
    /// A statement comes twice.
    Double,
    /// Two statements of a block change places.
    Swap,
    /// A statement of one role goes to another place, often another role.
    Move,
    /// A statement goes into the loop beside it, or out of the one around it.
    Carry,
    /// A statement is repeated.
    Repeat,
    /// One or two statements run in some CTAs or threads only.
    Branch,
    /// A loop is left, or its round ended, in some CTAs.
    Leave,
    /// A method of a chain goes.
    Unchain,
    /// A method is put into a chain, or stands for another.
    Rechain,
    /// A number is another.
    Number,
    /// A variable is another.
    Name,
    /// The roles change places.
    Roles,
    /// A value is forgotten.
    Forget,
    /// Typed moves.
    Insert,
    /// Typed moves on one end of a ring, and as many hand-overs on the other.
    Balance,
}

/// How often each is chosen.
pub const OPERATIONS: &[(Operation, usize)] = &[
    (Operation::Delete, 4),
    (Operation::Double, 4),
    (Operation::Swap, 4),
    (Operation::Move, 4),
    (Operation::Carry, 3),
    (Operation::Repeat, 3),
    (Operation::Branch, 5),
    (Operation::Leave, 2),
    (Operation::Unchain, 4),
    (Operation::Rechain, 5),
    (Operation::Number, 3),
    (Operation::Name, 3),
    (Operation::Roles, 1),
    (Operation::Forget, 2),
    (Operation::Insert, 14),
    (Operation::Balance, 14),
];

/// Methods that may be put into a chain.
const METHODS: &[&str] = &[
    "release($t)",
    "fence_proxy_async($t)",
    "sync($t)",
    "publish($t)",
    "keep()",
    "wait_copies($t)",
    "fence_after_thread_sync($t)",
    "fence_before_thread_sync($t)",
    "reopen($t)",
    "arrive($t)",
    "wait($t)",
    "wait_relaxed($t)",
    "fence_acquire::<Gpu, _>($t)",
    "fence_release::<Gpu, _>($t)",
    "fence_release::<Cluster, _>($t)",
    "release_by_commit($t)",
    "commit($t)",
    "finish($t)",
    "try_wait($t)",
    "editable()",
    "wait_group_read($t)",
    "update($t, |_, old| old + 1)",
    "get(1)",
];

/// Names that the conditions of branches use.
const RANK: &str = "program_rank";
const BLOCK: &str = "program_block";

/// An edit: which, and the numbers that choose its place and all else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// What is done.
    pub operation: Operation,
    /// Its number in its program, which the names of what it inserts have.
    pub number: usize,
    /// Chooses the place.
    pub place: u64,
    /// Chooses the rest.
    pub choice: u64,
}

impl Edit {
    /// An edit at random.
    pub fn random(random: &mut Random, number: usize) -> Self {
        let total: usize = OPERATIONS.iter().map(|entry| entry.1).sum();
        let mut at = random.below(total);
        let mut operation = Operation::Delete;
        for &(candidate, weight) in OPERATIONS {
            operation = candidate;
            if at < weight {
                break;
            }
            at -= weight;
        }
        Self { operation, number, place: random.next(), choice: random.next() }
    }

    /// Makes the edit; says what it did, or nothing where there is no place for it.
    pub fn apply(&self, kernel: &mut ItemFn, seed: &Seed, found: &Found) -> Option<String> {
        let mut random = Random::of(self.choice, 0);
        if self.operation == Operation::Balance {
            return balance::apply(self.number, &mut random, kernel, seed, found);
        }
        let sites = self.sites(kernel, seed, found);
        let target = (self.place % (sites.max(1) as u64)) as usize;
        if sites == 0 {
            return None;
        }
        let mut edited = kernel.clone();
        let mut site = self.look(Some(target), random, seed, found);
        walk::walk(&mut edited, seed, &mut site);
        let (note, moving) = (site.note?, site.moving);
        if let Some(moving) = moving {
            self.put(&mut edited, seed, &moving)?;
        }
        conditions(&mut edited, &self.root(kernel));
        *kernel = edited;
        Some(format!("{:?} {note}", self.operation))
    }

    fn root(&self, kernel: &ItemFn) -> Ident {
        let first = kernel.sig.inputs.first();
        match first {
            Some(syn::FnArg::Typed(typed)) => match &*typed.pat {
                Pat::Ident(name) => name.ident.clone(),
                _ => format_ident!("cta"),
            },
            _ => format_ident!("cta"),
        }
    }

    fn look<'a>(
        &'a self,
        target: Option<usize>,
        random: Random,
        seed: &'a Seed,
        found: &'a Found,
    ) -> Site<'a> {
        Site { edit: self, seed, found, random, target, seen: 0, note: None, moving: None }
    }

    fn sites(&self, kernel: &ItemFn, seed: &Seed, found: &Found) -> usize {
        let mut site = self.look(None, Random::of(0, 0), seed, found);
        walk::walk(&mut kernel.clone(), seed, &mut site);
        site.seen
    }

    /// Puts a statement that was taken elsewhere to a random place.
    fn put(&self, kernel: &mut ItemFn, seed: &Seed, moving: &Moving) -> Option<()> {
        let mut count = Put { moving, target: None, seen: 0, done: false };
        walk::walk(&mut kernel.clone(), seed, &mut count);
        let places = count.seen.max(1) as u64;
        let target = Some((Random::of(self.choice, 1).next() % places) as usize);
        let mut put = Put { moving, target, seen: 0, done: false };
        walk::walk(kernel, seed, &mut put);
        put.done.then_some(())
    }
}

/// Declares what the conditions of branches use, where they are used.
fn conditions(kernel: &mut ItemFn, root: &Ident) {
    let used = words(&kernel.block);
    let declared = |name: &str| {
        kernel.block.stmts.iter().any(|statement| match statement {
            Stmt::Local(local) => walk::names(&local.pat).iter().any(|bound| bound == name),
            _ => false,
        })
    };
    let (rank, block) = (format_ident!("{RANK}"), format_ident!("{BLOCK}"));
    let mut new: Vec<Stmt> = Vec::new();
    if used.contains(RANK) && !declared(RANK) {
        new.push(parse_quote!(let #rank = #root.cluster_rank().0;));
    }
    if used.contains(BLOCK) && !declared(BLOCK) {
        new.push(parse_quote!(let #block = #root.index().x;));
    }
    kernel.block.stmts.splice(0..0, new);
}

/// Looks for the place of an edit, and makes it there.
struct Site<'a> {
    edit: &'a Edit,
    seed: &'a Seed,
    found: &'a Found,
    random: Random,
    /// `None` counts.
    target: Option<usize>,
    seen: usize,
    note: Option<String>,
    moving: Option<Moving>,
}

/// A statement on its way.
struct Moving {
    statement: Stmt,
    /// The token of the place that it comes from.
    token: String,
    /// The variables of that place that it names.
    names: BTreeSet<String>,
}

impl Site<'_> {
    /// Counts a place; says whether it is the one.
    fn here(&mut self) -> bool {
        self.seen += 1;
        self.target == Some(self.seen - 1)
    }

    fn condition(&mut self, context: &Context) -> Expr {
        let (rank, block) = (format_ident!("{RANK}"), format_ident!("{BLOCK}"));
        let token = format_ident!("{}", context.token);
        match self.random.below(9) {
            0 | 1 => parse_quote!(#rank == 0),
            2 | 3 => parse_quote!(#rank == 1),
            4 | 5 => parse_quote!(#block == 0),
            6 | 7 => parse_quote!(#block == 1),
            _ => parse_quote!(#token.rank() == 0),
        }
    }

    fn change(&mut self, block: &mut Block, at: usize, context: &Context) -> Option<String> {
        let text = shown(&block.stmts[at]);
        match self.edit.operation {
            Operation::Delete => {
                block.stmts.remove(at);
            }
            Operation::Double => block.stmts.insert(at, block.stmts[at].clone()),
            Operation::Swap => {
                let other = (at + 1 + self.random.below(2)).min(last(block));
                block.stmts.swap(at, other);
                return Some(format!("{text} and {}", shown(&block.stmts[at])));
            }
            Operation::Move => {
                let all = words(&block.stmts[at]);
                let names = context.scope.iter().map(|entry| entry.0.clone());
                let names = names.filter(|name| all.contains(name)).collect();
                let (statement, token) = (block.stmts.remove(at), context.token.clone());
                self.moving = Some(Moving { statement, token, names });
            }
            Operation::Carry => return carry(&mut self.random, block, at),
            Operation::Repeat => {
                let (statement, times) = (block.stmts[at].clone(), 2 + self.random.below(2));
                let times = LitInt::new(&times.to_string(), proc_macro2::Span::call_site());
                block.stmts[at] = parse_quote!(for _ in 0..#times { #statement });
            }
            Operation::Branch => {
                let length = (1 + self.random.below(2)).min(last(block) + 1 - at);
                let inside: Vec<Stmt> = block.stmts.drain(at..at + length).collect();
                let condition = self.condition(context);
                block.stmts.insert(at, parse_quote!(if #condition { #(#inside)* }));
                return Some(format!("if {}: {text}", shown(&condition)));
            }
            Operation::Leave => {
                let condition = self.condition(context);
                let leave: Stmt = match self.random.below(2) {
                    0 => parse_quote!(if #condition { break; }),
                    _ => parse_quote!(if #condition { continue; }),
                };
                block.stmts.insert(at, leave.clone());
                return Some(shown(&leave));
            }
            Operation::Forget => {
                // An end is used again, so that it can seldom be forgotten; what it hands out can.
                let mut names = context.usable();
                if self.random.below(4) != 0 && names.iter().any(|entry| entry.1.contains('.')) {
                    names.retain(|entry| entry.1.contains('.'));
                }
                let name = &names.get(self.random.below(names.len()))?.0;
                let name = format_ident!("{name}");
                block.stmts.insert(at, parse_quote!(core::mem::forget(#name);));
                return Some(name.to_string());
            }
            Operation::Insert => {
                let place =
                    Place { seed: self.seed, context, edit: self.edit.number, found: self.found };
                let length = 1 + self.random.below(10);
                let usable = context.usable();
                let new = insert::statements(&mut self.random, &place, usable, length);
                if new.is_empty() {
                    return None;
                }
                let note = shown(&quote!(#(#new)*));
                let new: Vec<Stmt> = match self.random.below(6) {
                    0 => vec![parse_quote!(for _ in 0..2 { #(#new)* })],
                    1 => vec![parse_quote!({ #(#new)* })],
                    _ => new,
                };
                block.stmts.splice(at..at, new);
                return Some(note);
            }
            _ => return None,
        }
        Some(text)
    }

    /// Whether a statement is a place for the edit.
    fn fits(&self, block: &Block, at: usize, context: &Context) -> bool {
        let statement = &block.stmts[at];
        // Claims, exits and roles stand outside of roles.
        let text = match context.in_role {
            true => String::new(),
            false => statement.to_token_stream().to_string(),
        };
        if text.contains("unsafe") || text.contains(". exit (") || text.contains(". claim (") {
            return matches!(self.edit.operation, Operation::Insert | Operation::Forget)
                && !text.contains("unsafe");
        }
        let value = at + 1 == block.stmts.len() && matches!(statement, Stmt::Expr(_, None));
        let needed = match statement {
            Stmt::Local(local) => {
                let rest = &block.stmts[at + 1..];
                let used = words(&quote!(#(#rest)*));
                walk::names(&local.pat).iter().any(|name| used.contains(name))
            }
            _ => false,
        };
        let all = text.contains(". roles (");
        match self.edit.operation {
            Operation::Delete => !needed && !all,
            Operation::Double => !value && !all,
            Operation::Swap => at < last(block) && !all,
            Operation::Move => !value && !needed && !all,
            Operation::Repeat => !value && !needed && !all,
            Operation::Branch => !value && !needed && !all,
            Operation::Leave => context.loops > 0,
            Operation::Carry => {
                let inside =
                    |s: &Stmt| matches!(s, Stmt::Expr(Expr::ForLoop(_) | Expr::While(_), _));
                inside(statement)
            }
            Operation::Forget | Operation::Insert => !context.usable().is_empty(),
            _ => false,
        }
    }

    fn change_expression(&mut self, expression: &mut Expr, context: &Context) -> Option<String> {
        let text = shown(expression);
        match (self.edit.operation, &mut *expression) {
            (Operation::Unchain, Expr::MethodCall(call)) => {
                let method = call.method.to_string();
                *expression = (*call.receiver).clone();
                Some(method)
            }
            (Operation::Rechain, Expr::MethodCall(call)) => {
                let method = METHODS[self.random.below(METHODS.len())]
                    .replace("$t", &format!("&mut {}", context.token));
                let receiver = call.receiver.to_token_stream();
                let (name, turbofish, arguments) =
                    (call.method.clone(), &call.turbofish, &call.args);
                let rest = quote!(#name #turbofish (#arguments));
                let new = match self.random.below(3) {
                    0 => format!("{receiver}.{method}.{rest}"),
                    1 => format!("{text}.{method}"),
                    _ => format!("{receiver}.{method}"),
                };
                *expression = parse_str(&new).ok()?;
                Some(format!("{name} {method}"))
            }
            (Operation::Number, Expr::Lit(ExprLit { lit: Lit::Int(number), .. })) => {
                let value: u64 = number.base10_parse().ok()?;
                let new = [value + 1, value.saturating_sub(1), 0, value * 2][self.random.below(4)];
                if new == value {
                    return None;
                }
                let new = format!("{new}{}", number.suffix());
                *number = LitInt::new(&new, number.span());
                Some(format!("{text} becomes {new}"))
            }
            (Operation::Name, Expr::Path(_)) => {
                // Of the same kind, mostly; other things seldom type.
                let kind = context.kind(&text);
                let alike = self.random.below(4) != 0;
                let other = |entry: &&(String, Option<Kind>)| {
                    entry.0 != text && (!alike || entry.1 == kind)
                };
                let names: Vec<_> = context.scope.iter().filter(other).collect();
                let name = format_ident!("{}", names.get(self.random.below(names.len()))?.0);
                *expression = parse_quote!(#name);
                Some(format!("{text} becomes {name}"))
            }
            (Operation::Roles, Expr::MethodCall(call)) => {
                let Some(Expr::Tuple(roles)) = call.args.first_mut() else { return None };
                let mut all: Vec<Expr> = roles.elems.iter().cloned().collect();
                let (one, other) = (self.random.below(all.len()), self.random.below(all.len()));
                all.swap(one, other);
                roles.elems = all.into_iter().collect();
                roles.elems.push_punct(Default::default());
                Some(format!("{one} and {other}"))
            }
            _ => None,
        }
    }

    fn fits_expression(&self, expression: &Expr, context: &Context) -> bool {
        match (self.edit.operation, expression) {
            (Operation::Unchain | Operation::Rechain, Expr::MethodCall(call)) => {
                MOVES.knows(&call.method.to_string())
            }
            (Operation::Number, Expr::Lit(literal)) => matches!(literal.lit, Lit::Int(_)),
            (Operation::Name, Expr::Path(path)) => path
                .path
                .get_ident()
                .is_some_and(|name| context.scope.iter().any(|entry| name == &entry.0)),
            (Operation::Roles, Expr::MethodCall(call)) => call.method == "roles",
            _ => false,
        }
    }
}

impl Look for Site<'_> {
    fn statement(&mut self, block: &mut Block, at: usize, context: &Context) -> bool {
        if !self.fits(block, at, context) || !self.here() {
            return false;
        }
        self.note = self.change(block, at, context);
        true
    }

    fn expression(&mut self, expression: &mut Expr, context: &Context) -> bool {
        if !self.fits_expression(expression, context) || !self.here() {
            return false;
        }
        self.note = self.change_expression(expression, context);
        true
    }
}

/// Moves a statement into the loop at `at`, or out of it.
fn carry(random: &mut Random, block: &mut Block, at: usize) -> Option<String> {
    let count = block.stmts.len();
    let choice = random.below(4);
    let body = |block: &mut Block, at: usize| match &mut block.stmts[at] {
        Stmt::Expr(Expr::ForLoop(each), _) => Some(std::mem::take(&mut each.body.stmts)),
        Stmt::Expr(Expr::While(each), _) => Some(std::mem::take(&mut each.body.stmts)),
        _ => None,
    };
    let mut inner = body(block, at)?;
    let back = |block: &mut Block, at: usize, inner: Vec<Stmt>| match &mut block.stmts[at] {
        Stmt::Expr(Expr::ForLoop(each), _) => each.body.stmts = inner,
        Stmt::Expr(Expr::While(each), _) => each.body.stmts = inner,
        _ => {}
    };
    let chosen = random.below(inner.len());
    let (carried, place) = match choice {
        0 | 1 if !inner.is_empty() => {
            let statement = inner.remove(chosen);
            back(block, at, inner);
            let to = at + choice;
            block.stmts.insert(to, statement.clone());
            (statement, "out of the loop")
        }
        2 if at > 0 => {
            let statement = block.stmts[at - 1].clone();
            inner.insert(0, statement.clone());
            back(block, at, inner);
            block.stmts.remove(at - 1);
            (statement, "into the loop, first")
        }
        _ if at + 1 < count => {
            let statement = block.stmts.remove(at + 1);
            inner.push(statement.clone());
            back(block, at, inner);
            (statement, "into the loop, last")
        }
        _ => return None,
    };
    Some(format!("{place}: {}", shown(&carried)))
}

/// Puts a statement to some place, where it has that place's token.
struct Put<'a> {
    moving: &'a Moving,
    target: Option<usize>,
    seen: usize,
    done: bool,
}

impl Look for Put<'_> {
    fn statement(&mut self, block: &mut Block, at: usize, context: &Context) -> bool {
        let Moving { statement, token, names } = self.moving;
        if !context.has(&names.iter().filter(|name| *name != token).cloned().collect()) {
            return false;
        }
        self.seen += 1;
        if self.target != Some(self.seen - 1) {
            return false;
        }
        let tokens = renamed(statement.to_token_stream(), token, &context.token);
        // A statement that ends with an expression needs its semicolon.
        let parsed = parse2::<Block>(quote!({ #tokens }));
        if let Ok(parsed) = parsed {
            block.stmts.splice(at..at, parsed.stmts);
            self.done = true;
        }
        true
    }
}

/// The last statement that is not the value of its block.
fn last(block: &Block) -> usize {
    let value = matches!(block.stmts.last(), Some(Stmt::Expr(_, None)));
    (block.stmts.len() - usize::from(value)).saturating_sub(1)
}

/// Code on one line.
fn shown(code: &impl ToTokens) -> String {
    code.to_token_stream().to_string().replace('\n', " ")
}
