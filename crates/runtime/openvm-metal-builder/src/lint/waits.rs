//! Loops that wait for another thread: threads of Apple's GPUs that wait keep others from running, so that they never end.

use std::collections::HashSet;

use crate::{
    error::Finding,
    lexer::{TokenKind, Tokens},
    lint::Source,
};

pub(crate) fn check(s: &Source<'_>, out: &mut Vec<Finding>) {
    let t = s.t;
    let readers = readers(s);
    for i in 0..t.len() {
        if !s.scopes[i].in_function || t.tokens[i].kind != TokenKind::Ident {
            continue;
        }
        let Some(found) = Loop::at(t, i) else {
            continue;
        };
        if found.waits(t, &readers) {
            out.push(s.finding(
                i,
                "atomic-wait",
                "a loop that ends when another thread has written".into(),
                "use a barrier within a threadgroup, and a second launch between threadgroups: Apple's GPUs do not promise that other threads run meanwhile",
            ));
        }
    }
}

/// A function of the library that reads what other threads write.
fn reads_atomic(word: &str) -> bool {
    word.starts_with("atomic_")
        && word.ends_with("_explicit")
        && !word.starts_with("atomic_store")
        && !word.starts_with("atomic_compare_exchange")
}

fn compares(word: &str) -> bool {
    word.starts_with("atomic_compare_exchange")
}

/// Functions of the unit that read atomics, directly or through others: their calls read too.
fn readers<'a>(s: &'a Source<'_>) -> HashSet<&'a str> {
    let t = s.t;
    let mut bodies = Vec::new();
    for i in 1..t.len() {
        let head =
            t.at(i) == "(" && !s.scopes[i].in_function && t.tokens[i - 1].kind == TokenKind::Ident;
        if !head {
            continue;
        }
        let mut open = t.matching(i) + 1;
        while t.at(open) == "const" {
            open += 1;
        }
        if t.at(open) == "{" {
            bodies.push((t.at(i - 1), open, t.matching(open)));
        }
    }
    let mut out = HashSet::new();
    loop {
        let before = out.len();
        for &(name, from, to) in &bodies {
            if reads(t, from, to, &out) {
                out.insert(name);
            }
        }
        if out.len() == before {
            return out;
        }
    }
}

/// Some call between two tokens reads what other threads write.
fn reads(t: &Tokens, from: usize, to: usize, readers: &HashSet<&str>) -> bool {
    (from..to).any(|i| {
        t.at(i + 1) == "("
            && t.tokens[i].kind == TokenKind::Ident
            && (reads_atomic(t.at(i)) || readers.contains(t.at(i)) || locks(t, i))
    })
}

/// True for a comparison and exchange whose new value does not follow from the old one, as a lock's: a loop until it succeeds
/// waits for the owner. `x, &old, f(old)` makes progress whenever it fails.
fn locks(t: &Tokens, i: usize) -> bool {
    if !compares(t.at(i)) || t.at(i + 1) != "(" {
        return false;
    }
    let arguments = arguments(t, i + 1);
    let (Some(&(old, old_end)), Some(&(new, new_end))) = (arguments.get(1), arguments.get(2))
    else {
        return false;
    };
    let names: Vec<&str> = identifiers(t, old, old_end).collect();
    !identifiers(t, new, new_end).any(|name| names.contains(&name))
}

fn identifiers(t: &Tokens, from: usize, to: usize) -> impl Iterator<Item = &str> {
    (from..to)
        .filter(|&i| t.tokens[i].kind == TokenKind::Ident)
        .map(|i| t.at(i))
}

/// Token ranges of the arguments in the parentheses at `open`.
fn arguments(t: &Tokens, open: usize) -> Vec<(usize, usize)> {
    let close = t.matching(open);
    let (mut out, mut from, mut i) = (Vec::new(), open + 1, open + 1);
    while i < close {
        match t.at(i) {
            "(" | "[" | "{" => i = t.matching(i),
            "," => {
                out.push((from, i));
                from = i + 1;
            }
            _ => {}
        }
        i += 1;
    }
    out.push((from, close));
    out
}

/// Token ranges of a loop.
struct Loop {
    /// Condition; empty if there is none.
    condition: (usize, usize),
    /// Expression behind the condition of `for`.
    step: (usize, usize),
    body: (usize, usize),
}

impl Loop {
    fn at(t: &Tokens, i: usize) -> Option<Self> {
        match t.at(i) {
            "while" if t.at(i + 1) == "(" => {
                let close = t.matching(i + 1);
                // `do { } while (c);` is found at its `do`.
                if t.at(close + 1) == ";" && i > 0 && t.at(i - 1) == "}" && is_do(t, i - 1) {
                    return None;
                }
                Some(Self {
                    condition: (i + 2, close),
                    step: (close, close),
                    body: (close + 1, statement_end(t, close + 1)),
                })
            }
            "for" if t.at(i + 1) == "(" => {
                let close = t.matching(i + 1);
                let mut parts = Vec::new();
                let mut k = i + 2;
                while k < close {
                    match t.at(k) {
                        "(" | "[" | "{" => k = t.matching(k),
                        ";" => parts.push(k),
                        _ => {}
                    }
                    k += 1;
                }
                let &[first, second] = parts.as_slice() else {
                    return None;
                };
                Some(Self {
                    condition: (first + 1, second),
                    step: (second + 1, close),
                    body: (close + 1, statement_end(t, close + 1)),
                })
            }
            "do" => {
                let end = statement_end(t, i + 1);
                let open = end + 1;
                (t.at(end) == "while" && t.at(open) == "(").then(|| Self {
                    condition: (open + 1, t.matching(open)),
                    step: (open, open),
                    body: (i + 1, end),
                })
            }
            _ => None,
        }
    }

    /// True for steps that the threads of a threadgroup take together: they meet at a barrier, and they write what they read.
    fn meets(&self, t: &Tokens) -> bool {
        let has =
            |found: &dyn Fn(&str) -> bool| identifiers(t, self.body.0, self.body.1).any(found);
        has(&|word| word == "threadgroup_barrier")
            && has(&|word| word.starts_with("atomic_fetch_") || word.starts_with("atomic_store"))
    }

    /// True if nothing but a value of another thread ends it.
    fn waits(&self, t: &Tokens, readers: &HashSet<&str>) -> bool {
        if self.meets(t) {
            return false;
        }
        let (from, to) = self.condition;
        let seen = self.seen(t, readers);
        let depends = |from: usize, to: usize| {
            reads(t, from, to, readers) || identifiers(t, from, to).any(|name| seen.contains(name))
        };
        let endless = from == to || to == from + 1 && matches!(t.at(from), "true" | "1");
        if endless {
            let exits = self.exits(t);
            return !exits.is_empty()
                && exits
                    .iter()
                    .all(|condition| condition.is_some_and(|(from, to)| depends(from, to)));
        }
        // A counter beside it ends the loop.
        let counts = identifiers(t, self.step.0, self.step.1)
            .any(|name| !seen.contains(name) && identifiers(t, from, to).any(|n| n == name));
        let bounded = counts && !reads(t, self.step.0, self.step.1, readers);
        !bounded && depends(from, to)
    }

    /// Variables that the loop sets to what another thread may have written.
    fn seen<'a>(&self, t: &'a Tokens, readers: &HashSet<&str>) -> HashSet<&'a str> {
        let mut out = HashSet::new();
        for i in (self.body.0..self.body.1).chain(self.step.0..self.step.1) {
            let assigned =
                t.tokens[i].kind == TokenKind::Ident && t.at(i + 1) == "=" && t.at(i + 2) != "=";
            if assigned {
                let end = (i..t.len())
                    .find(|&k| matches!(t.at(k), ";" | "}"))
                    .unwrap_or(i);
                if reads(t, i + 2, end, readers) {
                    out.insert(t.at(i));
                }
            }
        }
        out
    }

    /// Condition of each statement that leaves the loop; `None` without one. Statements of inner loops leave those.
    fn exits(&self, t: &Tokens) -> Vec<Option<(usize, usize)>> {
        let mut out = Vec::new();
        let mut inner = 0;
        for i in self.body.0..self.body.1 {
            if i >= inner {
                if t.at(i) == "switch" && t.at(i + 1) == "(" {
                    inner = statement_end(t, t.matching(i + 1) + 1);
                } else if let Some(found) = Loop::at(t, i) {
                    inner = found.body.1;
                }
            }
            let leaves = t.at(i) == "return" || t.at(i) == "break" && i >= inner;
            if leaves {
                out.push(self.condition_of(t, i));
            }
        }
        out
    }

    /// Condition of the innermost `if` of the loop around a token.
    fn condition_of(&self, t: &Tokens, at: usize) -> Option<(usize, usize)> {
        (self.body.0..at).rev().find_map(|i| {
            if t.at(i) != "if" || t.at(i + 1) != "(" {
                return None;
            }
            let close = t.matching(i + 1);
            (close < at && at < statement_end(t, close + 1)).then_some((i + 2, close))
        })
    }
}

/// True if the block that ends at `close` is the body of a `do`.
fn is_do(t: &Tokens, close: usize) -> bool {
    let open = (0..close)
        .rev()
        .find(|&i| t.at(i) == "{" && t.matching(i) == close);
    open.is_some_and(|open| open > 0 && t.at(open - 1) == "do")
}

/// The token behind the statement that begins at `from`; the number of tokens if the text ends before it.
fn statement_end(t: &Tokens, from: usize) -> usize {
    let end = match t.at(from) {
        "{" => t.matching(from) + 1,
        "if" | "while" | "for" | "switch" if t.at(from + 1) == "(" => {
            let end = statement_end(t, t.matching(from + 1) + 1);
            match t.at(end) {
                "else" => statement_end(t, end + 1),
                _ => end,
            }
        }
        "do" => {
            let end = statement_end(t, from + 1);
            t.matching(end + 1) + 2
        }
        _ => {
            let mut i = from;
            while i < t.len() && t.at(i) != ";" {
                match t.at(i) {
                    "(" | "[" | "{" => i = t.matching(i),
                    "}" => return i,
                    _ => {}
                }
                i += 1;
            }
            i + 1
        }
    };
    end.min(t.len())
}
