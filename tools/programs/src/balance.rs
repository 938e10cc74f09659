//! Moves that keep a ring in balance: what one end takes the other gives, so that a program goes on behind them.

use baton_campaign::Random;
use quote::{ToTokens, quote};
use syn::{Block, ItemFn, Stmt, parse_str};

use crate::insert::{self, Found, Place};
use crate::seed::Seed;
use crate::walk::{self, Context, Look};

/// Puts moves on the end of a ring that takes, and as many hand-overs on the end that gives.
pub fn apply(
    edit: usize,
    random: &mut Random,
    kernel: &mut ItemFn,
    seed: &Seed,
    found: &Found,
) -> Option<String> {
    let (giver, taker) = seed.rings.first()?;
    let accumulators = seed
        .rings
        .get(1)
        .filter(|ring| matches!(seed.kinds.get(&ring.0), Some(&("issuing" | "pair_issuing"))));
    let first = random.below(2) == 0;
    let mut ends = vec![taker.clone()];
    ends.extend(accumulators.map(|ring| ring.0.clone()));
    let mut at = End::new(&ends, first);
    walk::walk(&mut kernel.clone(), seed, &mut at);
    let context = at.context?;
    let place = Place { seed, context: &context, edit, found };
    let values = ends.iter().filter_map(|end| Some((end.clone(), *seed.kinds.get(end)?))).collect();
    let length = 2 + random.below(9);
    let taken = insert::statements(random, &place, values, length);
    let text = quote!(#(#taken)*).to_string();
    let count = |what: &str| text.matches(what).count();
    let waits = count(&format!("{taker} . wait"));
    let commits = count(". commit (");
    if waits == 0 {
        return None;
    }
    let mut edited = kernel.clone();
    put_at_end(&mut edited, seed, &ends, first, |_| taken.clone())?;
    let mut calls = Vec::new();
    put_at_end(&mut edited, seed, std::slice::from_ref(giver), first, |context| {
        let giver_kind = seed.kinds.get(giver).copied().unwrap_or_default();
        let hand = hand_over(giver, giver_kind, seed, taker, &context.token);
        calls.push(hand.clone());
        parse_str(&format!("for _ in 0..{waits} {{ {hand} }}")).into_iter().collect()
    })?;
    if let Some((_, drain)) = accumulators.filter(|_| commits > 0) {
        put_at_end(&mut edited, seed, std::slice::from_ref(drain), first, |context| {
            let token = format!("&mut {}", context.token);
            let drained = format!(
                "{drain}.wait({token}).fence_after_thread_sync({token}).fence_before_thread_sync({token}).release({token});"
            );
            parse_str(&format!("for _ in 0..{commits} {{ {drained} }}")).into_iter().collect()
        })?;
    }
    *kernel = edited;
    Some(format!("Balance {waits} times {} for {text}", calls.join(" ")))
}

/// A whole hand-over by the end that gives.
fn hand_over(giver: &str, kind: &str, seed: &Seed, taker: &str, token: &str) -> String {
    let token = format!("&mut {token}");
    match kind {
        "loading" => format!("{giver}.acquire({token}).load({token}, {});", seed.from),
        "giving" => format!(
            "{giver}.acquire({token}).fill({token}, |i| {}).publish::<Cluster, _>({token});",
            seed.value
        ),
        _ => {
            // The matrix unit reads behind a proxy fence.
            let text = seed.file.to_token_stream().to_string();
            let matrix = seed.kinds.get(taker) == Some(&"multiplying") || text.contains("ByWgmma");
            let fence = if matrix { format!(".fence_proxy_async({token})") } else { String::new() };
            format!(
                "{giver}.acquire({token}).fill({token}, |i| {}){fence}.publish({token});",
                seed.value
            )
        }
    }
}

/// Makes the statements that a place gets.
type Make<'a> = dyn FnMut(&Context) -> Vec<Stmt> + 'a;

/// Finds the first or last statement, outside of loops, of the role that has some ends.
struct End<'a> {
    ends: &'a [String],
    first: bool,
    seen: usize,
    target: Option<usize>,
    context: Option<Context>,
    new: Option<&'a mut Make<'a>>,
    done: bool,
}

impl<'a> End<'a> {
    fn new(ends: &'a [String], first: bool) -> Self {
        Self { ends, first, seen: 0, target: None, context: None, new: None, done: false }
    }
}

impl Look for End<'_> {
    fn statement(&mut self, block: &mut Block, at: usize, context: &Context) -> bool {
        if context.loops > 0 || context.token == "joined" {
            return false;
        }
        let usable = context.usable();
        let known = |end: &String| usable.iter().any(|entry| entry.0 == *end);
        if !self.ends.iter().all(known) {
            return false;
        }
        let text = block.stmts[at].to_token_stream().to_string();
        if text.contains(". roles (") || text.contains(". elect") {
            return false;
        }
        self.seen += 1;
        if !self.first || self.context.is_none() {
            self.context = Some(context.clone());
        }
        if self.target == Some(self.seen - 1)
            && let Some(new) = &mut self.new
        {
            block.stmts.splice(at..at, new(context));
            self.done = true;
            return true;
        }
        false
    }
}

/// Puts statements at the first or last place of the role that has some ends.
fn put_at_end(
    kernel: &mut ItemFn,
    seed: &Seed,
    ends: &[String],
    first: bool,
    mut new: impl FnMut(&Context) -> Vec<Stmt>,
) -> Option<()> {
    let mut count = End::new(ends, first);
    walk::walk(&mut kernel.clone(), seed, &mut count);
    let last = count.seen.checked_sub(1)?;
    let mut put = End::new(ends, first);
    put.target = Some(if first { 0 } else { last });
    put.new = Some(&mut new);
    walk::walk(kernel, seed, &mut put);
    put.done.then_some(())
}
