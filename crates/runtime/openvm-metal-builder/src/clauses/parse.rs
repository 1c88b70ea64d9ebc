//! The grammar of clauses.

use super::text::ClauseText;
use crate::{
    clause::{Clauses, Cost, Expr, Order, Per, Relation, Requirement},
    kernel_fn::KernelFn,
    signature::ParamKind,
};

/// Errors of reading a clause.
#[derive(Debug)]
pub(super) struct ClauseError {
    pub message: String,
    pub remedy: &'static str,
}

/// Greatest number of given values of a launch in `openvm-metal-common`.
const MAX_GIVEN: usize = 4;

pub(super) type Parsed<T> = Result<T, ClauseError>;

pub(super) const GRAMMAR: &str = "see docs/reference/kernel-clauses.md";
const REGISTERS: &str = "write `Registers: 40 per thread.`";
const IN_PLACE: &str =
    "write `InPlace: in, out.` with buffers of the kernel, one of which it writes";
const COST: &str = "write `Cost: 1 ext product, 48 bytes per thread.`";

pub(super) fn wrong<T>(message: impl Into<String>, remedy: &'static str) -> Parsed<T> {
    Err(ClauseError {
        message: message.into(),
        remedy,
    })
}

/// Reads one clause into `out`.
pub(super) fn clause(text: &ClauseText, f: &KernelFn, out: &mut Clauses) -> Parsed<()> {
    let again = || wrong(format!("a second `{}:`", text.keyword), "keep one of them");
    if text.keyword == "Safety" {
        if text.body.is_empty() {
            return wrong("`Safety:` says nothing", "say what callers must see to");
        }
        return match out.safety.replace(text.body.clone()) {
            None => Ok(()),
            Some(_) => again(),
        };
    }
    let mut p = Parser {
        kernel: f,
        given: &out.given,
        text: &text.body,
        words: words(&text.body)?,
        at: 0,
    };
    match text.keyword {
        "Given" if !out.given.is_empty() => return again(),
        "Cost" if out.cost.is_some() => return again(),
        "Lengths" if !out.lengths.is_empty() => return again(),
        "InPlace" if !out.in_place.is_empty() => return again(),
        "Requires" if !out.requires.is_empty() => return again(),
        "Registers" if out.registers.is_some() => return again(),
        _ => {}
    }
    let mut read = Clauses::default();
    match text.keyword {
        "Given" => read.given = p.given()?,
        "Cost" => read.cost = Some(p.cost()?),
        "Lengths" => read.lengths = p.lengths()?,
        "InPlace" => read.in_place = p.in_place()?,
        "Registers" => read.registers = Some(p.registers()?),
        _ => read.requires = p.requirements()?,
    }
    if !p.peek().is_empty() {
        let rest = p.peek();
        return wrong(format!("`{rest}` in `{}:`", text.keyword), GRAMMAR);
    }
    match text.keyword {
        "Given" => out.given = read.given,
        "Cost" => out.cost = read.cost,
        "Lengths" => out.lengths = read.lengths,
        "InPlace" => out.in_place = read.in_place,
        "Registers" => out.registers = read.registers,
        _ => out.requires = read.requires,
    }
    Ok(())
}

/// Byte ranges of names, numbers and operators.
fn words(text: &str) -> Parsed<Vec<(usize, usize)>> {
    const LONG: [&str; 6] = ["<<", ">>", "<=", ">=", "==", "!="];
    const SHORT: &str = "+-*/%()[],.<>?:";
    let mut out = Vec::new();
    let mut i = 0;
    while let Some(c) = text[i..].chars().next() {
        let rest = &text[i..];
        let len = if c.is_ascii_alphanumeric() || c == '_' {
            rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
                .unwrap_or(rest.len())
        } else if LONG.iter().any(|o| rest.starts_with(o)) {
            2
        } else if c.is_whitespace() || SHORT.contains(c) {
            c.len_utf8()
        } else {
            return wrong(format!("`{c}` in a clause"), GRAMMAR);
        };
        if !c.is_whitespace() {
            out.push((i, i + len));
        }
        i += len;
    }
    Ok(out)
}

pub(super) struct Parser<'a> {
    pub kernel: &'a KernelFn,
    pub given: &'a [String],
    text: &'a str,
    words: Vec<(usize, usize)>,
    pub at: usize,
}

impl<'a> Parser<'a> {
    pub fn peek(&self) -> &'a str {
        self.words
            .get(self.at)
            .map_or("", |&(from, to)| &self.text[from..to])
    }

    pub fn next(&mut self) -> &'a str {
        let word = self.peek();
        self.at += 1;
        word
    }

    pub fn take(&mut self, word: &str) -> bool {
        let found = self.peek() == word;
        self.at += usize::from(found);
        found
    }

    pub fn expect(&mut self, word: &'static str) -> Parsed<()> {
        if self.take(word) {
            return Ok(());
        }
        let found = match self.peek() {
            "" => "the end".into(),
            other => format!("`{other}`"),
        };
        wrong(format!("`{word}` expected, found {found}"), GRAMMAR)
    }

    fn given(&mut self) -> Parsed<Vec<String>> {
        let mut out: Vec<String> = Vec::new();
        loop {
            let name = self.next();
            let known = self.kernel.params.iter().any(|p| p.name == name);
            if known || out.iter().any(|n| n == name) || !name.starts_with(char::is_alphabetic) {
                return wrong(format!("`{name}` as a given number"), "give new names");
            }
            out.push(name.to_string());
            if !self.take(",") {
                break;
            }
        }
        if out.len() > MAX_GIVEN {
            return wrong(format!("more than {MAX_GIVEN} given numbers"), "give fewer");
        }
        Ok(out)
    }

    fn cost(&mut self) -> Parsed<Cost> {
        let mut items = Vec::new();
        loop {
            let amount = self.expression()?;
            items.push((amount, self.unit()?));
            if !self.take(",") {
                break;
            }
        }
        self.expect("per")?;
        let per = match self.next() {
            "thread" => Per::Thread,
            "threadgroup" => Per::Threadgroup,
            "launch" => Per::Launch,
            other => return wrong(format!("cost per `{other}`"), COST),
        };
        Ok(Cost { items, per })
    }

    /// The words up to `,` or `per`, singular.
    fn unit(&mut self) -> Parsed<String> {
        let mut words = Vec::new();
        while self.peek().starts_with(char::is_alphabetic) && self.peek() != "per" {
            words.push(self.next());
        }
        let name = words.join(" ");
        match name.is_empty() {
            true => wrong(format!("an amount of `{}`", self.peek()), COST),
            false => Ok(name.strip_suffix('s').unwrap_or(&name).to_owned()),
        }
    }

    fn registers(&mut self) -> Parsed<u32> {
        let number = self.next().parse().ok();
        let number = number.filter(|n: &u32| (16..=255).contains(n) && n.is_multiple_of(8));
        let Some(number) = number else {
            return wrong(
                "registers that are no multiple of 8 from 16 to 248",
                REGISTERS,
            );
        };
        self.expect("per")?;
        self.expect("thread")?;
        Ok(number)
    }

    fn lengths(&mut self) -> Parsed<Vec<(String, Expr)>> {
        let mut out: Vec<(String, Expr)> = Vec::new();
        let mut names: Vec<&str> = Vec::new();
        loop {
            let name = self.next();
            let param = self.kernel.params.iter().find(|p| p.name == name);
            if !param.is_some_and(|p| matches!(p.kind, ParamKind::Buffer { .. })) {
                return wrong(
                    format!("length of `{name}`, which is no buffer of the kernel"),
                    "name the buffers as the kernel does",
                );
            }
            if names.contains(&name) || out.iter().any(|(n, _)| n == name) {
                return wrong(format!("two lengths of `{name}`"), "keep one of them");
            }
            names.push(name);
            // Names that follow each other share a length.
            if self.take(",") {
                continue;
            }
            let length = self.expression()?;
            out.extend(names.drain(..).map(|n| (n.to_string(), length.clone())));
            if !self.take(",") {
                return Ok(out);
            }
        }
    }

    fn in_place(&mut self) -> Parsed<Vec<String>> {
        let mut out: Vec<String> = Vec::new();
        let mut writes = false;
        loop {
            let name = self.next();
            let param = self.kernel.params.iter().find(|p| p.name == name);
            let Some(ParamKind::Buffer { writes: written }) = param.map(|p| &p.kind) else {
                return wrong(
                    format!("`{name}` in place, which is no buffer of the kernel"),
                    IN_PLACE,
                );
            };
            if out.iter().any(|n| n == name) {
                return wrong(format!("`{name}` in place twice"), "keep one of them");
            }
            writes |= *written;
            out.push(name.to_string());
            if !self.take(",") {
                break;
            }
        }
        match out.len() > 1 && writes {
            true => Ok(out),
            false => wrong(
                "buffers in place of which none is written, or a single one",
                IN_PLACE,
            ),
        }
    }

    fn requirements(&mut self) -> Parsed<Vec<Requirement>> {
        let mut out = Vec::new();
        loop {
            let first = self.at;
            let mut one_of = Vec::new();
            loop {
                let left = self.expression()?;
                let Some(relation) = self.relation(left)? else {
                    return wrong(
                        "a requirement compares nothing",
                        "write `Requires: p.log_n <= 27.`",
                    );
                };
                one_of.push(relation);
                if !self.take("or") {
                    break;
                }
            }
            let (from, to) = (self.words[first].0, self.words[self.at - 1].1);
            out.push(Requirement {
                text: self.text[from..to].to_string(),
                one_of,
            });
            if !self.take(",") {
                return Ok(out);
            }
        }
    }

    pub fn relation(&mut self, left: Expr) -> Parsed<Option<Relation>> {
        let order = match self.peek() {
            "<" => Order::Less,
            "<=" => Order::AtMost,
            ">" => Order::Greater,
            ">=" => Order::AtLeast,
            "==" => Order::Equal,
            "!=" => Order::Different,
            _ => return Ok(None),
        };
        self.at += 1;
        let right = self.binary(0)?;
        Ok(Some(Relation { left, order, right }))
    }
}
