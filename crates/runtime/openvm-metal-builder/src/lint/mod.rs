//! Rules against constructs that Apple's compiler would reject, or that run wrongly or slowly on one of the targets.
//!
//! Token checks need no compiler; the address-space check ([`address_space`]) needs clang. The names of the
//! rules are stable and listed in `docs/reference/lint-rules.md`.

pub mod address_space;
mod apple;
mod control;
mod declarations;
mod in_place;
mod words;

use crate::{
    error::Finding,
    lexer::Tokens,
    scan::Scan,
    scope::{self, Scope},
};

/// Input of a rule.
pub(crate) struct Source<'a> {
    pub t: &'a Tokens,
    pub scopes: Vec<Scope>,
    pub scan: &'a Scan,
}

impl Source<'_> {
    pub(crate) fn finding(
        &self,
        token: usize,
        rule: &'static str,
        message: String,
        remedy: &'static str,
    ) -> Finding {
        let at = &self.t.tokens[token.min(self.t.len().saturating_sub(1))];
        Finding {
            file: at.file.to_string(),
            line: at.line,
            rule,
            message,
            remedy,
        }
    }
}

/// All token checks on a preprocessed file, in the order of the lines.
pub fn tokens(t: &Tokens, scan: &Scan) -> Vec<Finding> {
    let source = Source {
        t,
        scopes: scope::scopes(t),
        scan,
    };
    let mut out = scan.findings.clone();
    words::check(&source, &mut out);
    declarations::check(&source, &mut out);
    control::check(&source, &mut out);
    apple::check(&source, &mut out);
    in_place::check(&source, &mut out);
    out.sort_by(|a, b| (&a.file, a.line, a.rule).cmp(&(&b.file, b.line, b.rule)));
    out.dedup();
    // A texture is also a parameter of no known kind: say it once.
    let textures: Vec<u32> = out
        .iter()
        .filter(|f| f.rule == "texture")
        .map(|f| f.line)
        .collect();
    out.retain(|f| f.rule != "kernel-parameter" || !textures.contains(&f.line));
    out
}
