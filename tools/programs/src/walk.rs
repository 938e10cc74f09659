//! The statements and expressions of a kernel one after the other, with what is in scope there: the token of the threads
//! that act, and the variables with their kinds, as far as the table of moves tells them.

use std::collections::BTreeSet;
use std::rc::Rc;

use proc_macro2::{Group, Ident, TokenStream, TokenTree};
use quote::ToTokens;
use syn::visit::{self, Visit};
use syn::visit_mut::{self, VisitMut};
use syn::{Block, Expr, ExprClosure, ExprForLoop, ExprLoop, ExprWhile, FnArg, ItemFn, Pat, Stmt};

use crate::moves::{Kind, MOVES};
use crate::seed::Seed;

/// What is known of a place.
#[derive(Clone, Debug, Default)]
pub struct Context {
    /// The token of the threads that act.
    pub token: String,
    /// Variables, the youngest last, with their kinds where those are known.
    pub scope: Vec<(String, Option<Kind>)>,
    /// Loops around it, in its closure.
    pub loops: usize,
    /// Whether it is in a closure that is a role, or what a role's leader runs.
    pub in_role: bool,
    /// The words of that role.
    pub words: Rc<BTreeSet<String>>,
    /// The name of the seed's token.
    pub root: String,
}

impl Context {
    /// What kind a variable is.
    pub fn kind(&self, variable: &str) -> Option<Kind> {
        self.scope.iter().rev().find(|entry| entry.0 == variable)?.1
    }

    /// Variables that can be used here, with their kinds. A role owns what it uses, so one of another role is not among
    /// them.
    pub fn usable(&self) -> Vec<(String, Kind)> {
        let mut found: Vec<(String, Kind)> = Vec::new();
        for (name, kind) in self.scope.iter().rev() {
            let mentioned = !self.in_role || self.words.contains(name);
            let new = !found.iter().any(|entry| entry.0 == *name);
            if let Some(kind) = kind.filter(|_| mentioned && new) {
                found.push((name.clone(), kind));
            }
        }
        found.reverse();
        found
    }

    /// Whether all of these variables, of another place, can be named here.
    pub fn has(&self, names: &BTreeSet<String>) -> bool {
        names.iter().all(|name| {
            self.scope.iter().any(|entry| entry.0 == *name)
                && (!self.in_role || self.words.contains(name))
        })
    }

    fn set(&mut self, variable: &str, kind: Option<Kind>) {
        if let Some(entry) = self.scope.iter_mut().rev().find(|entry| entry.0 == variable) {
            entry.1 = kind;
        }
    }

    /// What an expression gives; empty where that is not known.
    fn gives(&self, expression: &Expr) -> Vec<Kind> {
        match expression {
            Expr::Path(path) => path
                .path
                .get_ident()
                .and_then(|name| self.kind(&name.to_string()))
                .into_iter()
                .collect(),
            Expr::Paren(inner) => self.gives(&inner.expr),
            Expr::Reference(inner) => self.gives(&inner.expr),
            Expr::Unsafe(inner) => match inner.block.stmts.last() {
                Some(Stmt::Expr(last, None)) => self.gives(last),
                _ => Vec::new(),
            },
            Expr::MethodCall(call) => match self.gives(&call.receiver)[..] {
                [kind] => MOVES
                    .find(kind, &call.method.to_string())
                    .map_or_else(Vec::new, |found| found.gives.clone()),
                _ => Vec::new(),
            },
            Expr::Call(call) => {
                let Expr::Path(function) = &*call.func else { return Vec::new() };
                let segments = &function.path.segments;
                let made =
                    segments.iter().rev().nth(1).and_then(|segment| {
                        MOVES.makers.iter().find(|maker| segment.ident == maker.0)
                    });
                made.map(|maker| maker.1).into_iter().collect()
            }
            _ => Vec::new(),
        }
    }

    /// Adds the variables of a pattern whose value gives `kinds`.
    fn bind(&mut self, pattern: &Pat, kinds: &[Kind], seed: &Seed) {
        let single = match kinds {
            [kind] => Some(*kind),
            _ => None,
        };
        match pattern {
            Pat::Tuple(tuple) => {
                for (at, element) in tuple.elems.iter().enumerate() {
                    let kind = (kinds.len() == tuple.elems.len()).then(|| kinds[at]);
                    self.bind(element, kind.as_slice(), seed);
                }
            }
            Pat::Ident(name) => {
                let name = name.ident.to_string();
                let kind = single.or_else(|| seed.kinds.get(&name).copied());
                self.scope.push((name, kind));
            }
            Pat::Type(typed) => self.bind(&typed.pat, kinds, seed),
            other => {
                for name in names(other) {
                    let kind = seed.kinds.get(&name).copied();
                    self.scope.push((name, kind));
                }
            }
        }
    }

    /// Takes out of the scope what a statement uses up, and adds what it binds.
    fn pass(&mut self, statement: &Stmt, seed: &Seed) {
        let mut used = UsedUp { context: self, names: Vec::new(), again: Vec::new() };
        used.visit_stmt(statement);
        let mut names = used.names;
        names.retain(|name| !used.again.contains(name));
        // Roles own what they use.
        if statement.to_token_stream().to_string().contains(". roles (") {
            let inside = words(statement);
            let owned = |entry: &&(String, Option<Kind>)| {
                inside.contains(&entry.0) && entry.1.is_some_and(|kind| !MOVES.copies(kind))
            };
            names.extend(self.scope.iter().filter(owned).map(|entry| entry.0.clone()));
        }
        let given = |value: &Expr| self.gives(value);
        let assigned = match statement {
            Stmt::Local(local) => {
                let kinds = local.init.as_ref().map_or_else(Vec::new, |init| given(&init.expr));
                names.iter().for_each(|name| self.set(name, None));
                self.bind(&local.pat, &kinds, seed);
                return;
            }
            Stmt::Expr(Expr::Assign(assign), _) => match &*assign.left {
                Expr::Path(path) => path
                    .path
                    .get_ident()
                    .map(|name| (name.to_string(), given(&assign.right).first().copied())),
                _ => None,
            },
            _ => None,
        };
        names.iter().for_each(|name| self.set(name, None));
        if let Some((name, kind)) = assigned {
            self.set(&name, kind);
        }
    }
}

/// The variables that a statement's moves use up.
struct UsedUp<'a> {
    context: &'a Context,
    names: Vec<String>,
    /// Those that get a new value, as a loop gives them in each round.
    again: Vec<String>,
}

impl<'ast> Visit<'ast> for UsedUp<'_> {
    fn visit_expr_closure(&mut self, _: &'ast ExprClosure) {}

    fn visit_expr_assign(&mut self, assign: &'ast syn::ExprAssign) {
        if let Expr::Path(path) = &*assign.left {
            self.again.extend(path.path.get_ident().map(ToString::to_string));
        }
        visit::visit_expr_assign(self, assign);
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        if let Expr::Path(path) = &*call.receiver
            && let Some(name) = path.path.get_ident().map(ToString::to_string)
            && let Some(kind) = self.context.kind(&name)
            && MOVES.find(kind, &call.method.to_string()).is_some_and(|found| !found.borrows)
        {
            self.names.push(name);
        }
        for argument in &call.args {
            if let Expr::Path(path) = argument
                && let Some(name) = path.path.get_ident().map(ToString::to_string)
                && self.context.kind(&name).is_some_and(|kind| kind.contains('.'))
            {
                self.names.push(name);
            }
        }
        visit::visit_expr_method_call(self, call);
    }
}

/// The variables of a pattern.
pub fn names(pattern: &Pat) -> Vec<String> {
    match pattern {
        Pat::Ident(name) => vec![name.ident.to_string()],
        Pat::Tuple(tuple) => tuple.elems.iter().flat_map(names).collect(),
        Pat::TupleStruct(tuple) => tuple.elems.iter().flat_map(names).collect(),
        Pat::Slice(slice) => slice.elems.iter().flat_map(names).collect(),
        Pat::Struct(fields) => fields.fields.iter().flat_map(|field| names(&field.pat)).collect(),
        Pat::Type(typed) => names(&typed.pat),
        _ => Vec::new(),
    }
}

/// The identifiers in a piece of code.
pub fn words(code: &impl ToTokens) -> BTreeSet<String> {
    fn collect(tokens: TokenStream, words: &mut BTreeSet<String>) {
        for token in tokens {
            match token {
                TokenTree::Ident(word) => {
                    words.insert(word.to_string());
                }
                TokenTree::Group(group) => collect(group.stream(), words),
                TokenTree::Punct(_) | TokenTree::Literal(_) => {}
            }
        }
    }
    let mut found = BTreeSet::new();
    collect(code.to_token_stream(), &mut found);
    found
}

/// Code with one identifier in the place of another.
pub fn renamed(tokens: TokenStream, from: &str, to: &str) -> TokenStream {
    let rename = |token: TokenTree| match token {
        TokenTree::Ident(word) if word == from => Ident::new(to, word.span()).into(),
        TokenTree::Group(group) => {
            Group::new(group.delimiter(), renamed(group.stream(), from, to)).into()
        }
        other => other,
    };
    tokens.into_iter().map(rename).collect()
}

/// Who looks at a kernel. Both functions say whether they are done: then nothing more is looked at.
pub trait Look {
    /// A statement: `block.stmts[at]`.
    fn statement(&mut self, block: &mut Block, at: usize, context: &Context) -> bool {
        let _ = (block, at, context);
        false
    }

    /// An expression.
    fn expression(&mut self, expression: &mut Expr, context: &Context) -> bool {
        let _ = (expression, context);
        false
    }
}

/// Shows `look` each statement and expression of a kernel.
pub fn walk(kernel: &mut ItemFn, seed: &Seed, look: &mut dyn Look) {
    let mut context = Context::default();
    for input in &kernel.sig.inputs {
        if let FnArg::Typed(typed) = input {
            context.bind(&typed.pat, &[], seed);
        }
    }
    context.root = context.scope.first().map_or_else(|| "cta".into(), |entry| entry.0.clone());
    context.token.clone_from(&context.root);
    let mut walker = Walker { seed, context, look, done: false };
    walker.visit_block_mut(&mut kernel.block);
}

struct Walker<'a> {
    seed: &'a Seed,
    context: Context,
    look: &'a mut dyn Look,
    done: bool,
}

impl Walker<'_> {
    /// Walks what has a scope of its own.
    fn inside(&mut self, walk: impl FnOnce(&mut Self)) {
        let kept = self.context.clone();
        walk(self);
        self.context = kept;
    }
}

impl VisitMut for Walker<'_> {
    fn visit_block_mut(&mut self, block: &mut Block) {
        let outer = self.context.scope.len();
        let mut at = 0;
        while at < block.stmts.len() && !self.done {
            self.done = self.look.statement(block, at, &self.context);
            let Some(statement) = block.stmts.get_mut(at).filter(|_| !self.done) else { break };
            self.visit_stmt_mut(statement);
            let passed = &block.stmts[at];
            self.context.pass(passed, self.seed);
            // A set of roles joins into one token again.
            if let Stmt::Local(local) = passed
                && !self.context.in_role
                && names(&local.pat).iter().any(|name| name == "joined")
            {
                self.context.token = "joined".into();
            }
            at += 1;
        }
        self.context.scope.truncate(outer);
    }

    fn visit_expr_closure_mut(&mut self, closure: &mut ExprClosure) {
        let inputs: Vec<String> = closure.inputs.iter().flat_map(names).collect();
        let token = match &inputs[..] {
            [token] if ["w", "wg", "t"].contains(&&**token) => Some(token.clone()),
            _ => None,
        };
        self.inside(|walker| {
            if let Some(token) = token {
                walker.context.token = token;
                walker.context.in_role = true;
                walker.context.loops = 0;
                walker.context.words = Rc::new(words(&closure.body));
            } else {
                walker.context.scope.extend(inputs.into_iter().map(|name| (name, None)));
            }
            visit_mut::visit_expr_closure_mut(walker, closure);
        });
    }

    fn visit_expr_for_loop_mut(&mut self, expression: &mut ExprForLoop) {
        self.inside(|walker| {
            walker.context.loops += 1;
            walker.context.bind(&expression.pat, &[], walker.seed);
            visit_mut::visit_expr_for_loop_mut(walker, expression);
        });
    }

    fn visit_expr_while_mut(&mut self, expression: &mut ExprWhile) {
        self.inside(|walker| {
            walker.context.loops += 1;
            visit_mut::visit_expr_while_mut(walker, expression);
        });
    }

    fn visit_expr_loop_mut(&mut self, expression: &mut ExprLoop) {
        self.inside(|walker| {
            walker.context.loops += 1;
            visit_mut::visit_expr_loop_mut(walker, expression);
        });
    }

    fn visit_expr_unsafe_mut(&mut self, _: &mut syn::ExprUnsafe) {
        // What a claim promises is not edited.
    }

    fn visit_expr_mut(&mut self, expression: &mut Expr) {
        if self.done {
            return;
        }
        self.done = self.look.expression(expression, &self.context);
        if !self.done {
            visit_mut::visit_expr_mut(self, expression);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is in scope at the statements that begin with some text.
    struct At(&'static str, Vec<(String, Kind)>);

    impl Look for At {
        fn statement(&mut self, block: &mut Block, at: usize, context: &Context) -> bool {
            let here = block.stmts[at].to_token_stream().to_string().starts_with(self.0);
            if here {
                self.1 = context.usable();
            }
            here
        }
    }

    fn kinds(seed: &str, at: &'static str) -> Vec<(String, Kind)> {
        let seeds = crate::seed::load(&crate::root()).unwrap();
        let seed = seeds.iter().find(|one| one.name == seed).unwrap();
        let mut look = At(at, Vec::new());
        walk(seed.kernel_in(&mut seed.file.clone()), seed, &mut look);
        look.1
    }

    #[test]
    fn states_follow_from_the_statements_before() {
        let kinds_of = |all: Vec<(String, Kind)>, name: &str| {
            all.into_iter().find(|entry| entry.0 == name).map(|entry| entry.1)
        };
        let before = kinds("reverse", "stage . release");
        assert_eq!(kinds_of(before, "stage"), Some("stage.full"));
        let later = kinds("gemm_blackwell", "staging = staging");
        assert_eq!(kinds_of(later.clone(), "acc"), Some("acc.fenced"));
        assert_eq!(kinds_of(later.clone(), "staging"), Some("staged"));
        assert_eq!(kinds_of(later, "loads"), None, "another role's");
        let behind = kinds("rescale", "mine . put");
        assert_eq!(kinds_of(behind, "acc"), None, "released");
    }
}
