//! The grammar of amounts: what stands in a clause as a number.

use super::parse::{wrong, Parsed, Parser, GRAMMAR};
use crate::{
    clause::{Binary, Expr, Extent, Function},
    signature::{Param, ParamKind},
};

const NAMES: &str =
    "use fields of value parameters, template arguments, threads, groups and threads_per_group";

impl Parser<'_> {
    /// A number, chosen by a condition in parentheses or not: `a < b ? c : d`. A comparison without `?` is
    /// left to the caller.
    pub fn expression(&mut self) -> Parsed<Expr> {
        let left = self.binary(0)?;
        let before = self.at;
        let Some(relation) = self.relation(left.clone())? else {
            return Ok(left);
        };
        if !self.take("?") {
            self.at = before;
            return Ok(left);
        }
        let yes = self.expression()?;
        self.expect(":")?;
        let no = self.expression()?;
        Ok(Expr::Choice(
            Box::new(relation),
            Box::new(yes),
            Box::new(no),
        ))
    }

    /// Operators of the precedence of C++, loosest first.
    pub fn binary(&mut self, level: usize) -> Parsed<Expr> {
        const LEVELS: [&[(&str, Binary)]; 3] = [
            &[("<<", Binary::Shl), (">>", Binary::Shr)],
            &[("+", Binary::Add), ("-", Binary::Sub)],
            &[("*", Binary::Mul), ("/", Binary::Div), ("%", Binary::Rem)],
        ];
        let Some(operators) = LEVELS.get(level) else {
            return self.term();
        };
        let mut left = self.binary(level + 1)?;
        while let Some((_, operator)) = operators.iter().find(|(text, _)| *text == self.peek()) {
            self.at += 1;
            let right = self.binary(level + 1)?;
            left = Expr::Binary(*operator, Box::new(left), Box::new(right));
        }
        Ok(left)
    }

    fn term(&mut self) -> Parsed<Expr> {
        let word = self.next();
        if word == "(" {
            let inner = self.expression()?;
            self.expect(")")?;
            return Ok(inner);
        }
        if word.starts_with(|c: char| c.is_ascii_digit()) {
            return self.number(word).map(Expr::Number);
        }
        let function = match word {
            "max" => Some(Function::Max),
            "min" => Some(Function::Min),
            "ceil_div" => Some(Function::CeilDiv),
            _ => None,
        };
        if let Some(function) = function {
            return self.call(function, word);
        }
        if word == "sizeof" {
            self.expect("(")?;
            let name = self.next().to_string();
            self.expect(")")?;
            return Ok(Expr::SizeOf(name));
        }
        self.name(word)
    }

    fn number(&self, word: &str) -> Parsed<u64> {
        let parsed = match word.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16),
            None => word.parse(),
        };
        match parsed {
            Ok(number) => Ok(number),
            Err(_) => wrong(format!("`{word}` is not a number of 64 bits"), GRAMMAR),
        }
    }

    fn call(&mut self, function: Function, name: &str) -> Parsed<Expr> {
        self.expect("(")?;
        let mut arguments = vec![self.expression()?];
        while self.take(",") {
            arguments.push(self.expression()?);
        }
        self.expect(")")?;
        let two = function == Function::CeilDiv;
        if arguments.len() < 2 || two && arguments.len() > 2 {
            let least = if two { "two" } else { "two or more" };
            return wrong(format!("`{name}` takes {least} numbers"), GRAMMAR);
        }
        Ok(Expr::Call(function, arguments))
    }

    fn name(&mut self, word: &str) -> Parsed<Expr> {
        let kernel = self.kernel;
        let value = |p: &&Param| p.kind == ParamKind::Value && p.name == word;
        if kernel.params.iter().any(|p| value(&p)) {
            if !self.take(".") {
                return Ok(Expr::Scalar(word.to_string()));
            }
            let field = self.next().to_string();
            let entry = if self.take("[") {
                let index = self.next();
                let index = self.number(index)?;
                self.expect("]")?;
                Some(index)
            } else {
                None
            };
            return Ok(Expr::Field {
                param: word.to_string(),
                field,
                entry,
            });
        }
        if let Some(index) = self.given.iter().position(|n| n == word) {
            return Ok(Expr::Given(index));
        }
        let mut template = kernel.template.iter().flatten();
        if template.any(|(name, _)| name == word) {
            return Ok(Expr::Template(word.to_string()));
        }
        let extent = match word {
            "threads" => Extent::Threads,
            "groups" => Extent::Groups,
            "threads_per_group" => Extent::ThreadsPerGroup,
            "" => return wrong("a number is missing", GRAMMAR),
            _ => return wrong(format!("`{word}` is nothing that the launch knows"), NAMES),
        };
        let axis = if self.take(".") {
            let axis = self.next();
            match ["x", "y", "z"].iter().position(|a| *a == axis) {
                Some(axis) => Some(axis),
                None => return wrong(format!("`{word}.{axis}`"), "use .x, .y or .z"),
            }
        } else {
            None
        };
        Ok(Expr::Grid(extent, axis))
    }
}
