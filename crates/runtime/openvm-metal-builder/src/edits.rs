//! Replacements in a text.

use std::collections::BTreeMap;

use crate::lexer::Tokens;

/// Text replacements by byte range.
pub(crate) struct Edits<'a> {
    t: &'a Tokens,
    by_start: BTreeMap<usize, (usize, String)>,
}

impl<'a> Edits<'a> {
    pub fn new(t: &'a Tokens) -> Self {
        Self {
            t,
            by_start: BTreeMap::new(),
        }
    }

    /// Replaces tokens `from..to`, keeping the line count.
    pub fn replace(&mut self, from: usize, to: usize, text: &str) {
        let (start, end) = (self.t.tokens[from].start, self.t.tokens[to - 1].end);
        let lines = self.t.text[start..end].matches('\n').count();
        self.by_start
            .insert(start, (end, format!("{text}{}", "\n".repeat(lines))));
    }

    /// Adds text behind token `at`, whose own text no other edit changes.
    pub fn append(&mut self, at: usize, text: &str) {
        let token = &self.t.tokens[at];
        let (_, new) = self
            .by_start
            .entry(token.start)
            .or_insert_with(|| (token.end, self.t.at(at).to_string()));
        new.push_str(text);
    }

    /// Removes tokens `from..to` with every edit inside.
    pub fn remove(&mut self, from: usize, to: usize) {
        let (start, end) = (self.t.tokens[from].start, self.t.tokens[to - 1].end);
        self.by_start.retain(|&at, _| at < start || at >= end);
        self.replace(from, to, "");
    }

    /// Inserts text before token `at`.
    pub fn insert(&mut self, at: usize, text: &str) {
        let start = self.t.tokens[at].start;
        let (end, old) = self
            .by_start
            .remove(&start)
            .unwrap_or_else(|| (self.t.tokens[at].end, self.t.at(at).to_string()));
        self.by_start.insert(start, (end, format!("{text}{old}")));
    }

    pub fn apply(self) -> String {
        let text = &self.t.text;
        let mut out = String::with_capacity(text.len() + 1024);
        let mut at = 0;
        for (start, (end, new)) in self.by_start {
            if start < at {
                continue;
            }
            out.push_str(&text[at..start]);
            out.push_str(&new);
            at = end;
        }
        out.push_str(&text[at..]);
        out
    }
}
