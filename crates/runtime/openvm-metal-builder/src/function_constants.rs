//! `constant T name [[function_constant(n)]];`: values that Metal takes when a pipeline is made, and that the other
//! targets take when a file is compiled.

use std::{collections::BTreeMap, fmt, str::FromStr};

use crate::{lexer::Tokens, scope::Scope};

/// A function constant that a file declares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionConstant {
    /// The name.
    pub name: String,
    /// `n` of `[[function_constant(n)]]`.
    pub index: u32,
    /// The type as written, for example `bool` or `uint2`.
    pub element: String,
    /// True if the file asks `is_function_constant_defined(name)`, so that it may stay without a value.
    pub optional: bool,
    /// Tokens of the attribute.
    pub attribute: (usize, usize),
}

/// Value of a function constant.
#[derive(Clone, Debug, PartialEq)]
pub enum ConstantValue {
    /// `true` or `false`.
    Bool(bool),
    /// For signed and unsigned types of up to 64 bits; the low bits of the type are taken.
    Int(i128),
    /// For `half` and `float`.
    Float(f32),
    /// The elements of a vector.
    Vector(Vec<ConstantValue>),
}

/// Values by index.
pub type ConstantValues = BTreeMap<u32, ConstantValue>;

impl fmt::Display for ConstantValue {
    /// Formats the value as arguments of a constructor in C++.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool(b) => write!(f, "{b}"),
            Self::Int(i) => write!(f, "{:#x}ul", *i as u64),
            Self::Float(x) => write!(f, "msl_as_type<float>({:#x}u)", x.to_bits()),
            Self::Vector(elements) => elements.iter().enumerate().try_for_each(|(i, e)| {
                let comma = if i > 0 { ", " } else { "" };
                write!(f, "{comma}{e}")
            }),
        }
    }
}

impl FromStr for ConstantValue {
    type Err = String;

    /// `true`, `-3`, `1.5`, or the elements of a vector with commas between them.
    fn from_str(text: &str) -> Result<Self, String> {
        if text.contains(',') {
            let elements = text.split(',').map(|e| e.trim().parse());
            return Ok(Self::Vector(elements.collect::<Result<_, _>>()?));
        }
        let number = || text.parse().map(Self::Int).ok();
        let float = || text.parse().map(Self::Float).ok();
        match text {
            "true" => Some(Self::Bool(true)),
            "false" => Some(Self::Bool(false)),
            _ => number().or_else(float),
        }
        .ok_or_else(|| format!("`{text}` is neither true, false nor a number"))
    }
}

/// The function constants of a preprocessed file, in order.
pub fn declared(t: &Tokens, scopes: &[Scope]) -> Vec<FunctionConstant> {
    let asked: Vec<&str> = (0..t.len())
        .filter(|&i| t.at(i) == "is_function_constant_defined" && t.at(i + 1) == "(")
        .map(|i| t.at(i + 2))
        .collect();
    let mut out = Vec::new();
    for i in (0..t.len()).filter(|&i| t.is_attribute(i) && !scopes[i].in_function) {
        let index = t.at(i + 4).trim_end_matches(['u', 'U']).parse();
        let (true, true, Ok(index)) = (
            t.at(i + 2) == "function_constant",
            t.at(i + 3) == "(",
            index,
        ) else {
            continue;
        };
        let end = t.matching(i) + 1;
        // The same attribute on a parameter names the constant that decides whether it is there.
        if t.at(end) != ";" || i < 2 {
            continue;
        }
        let name = t.at(i - 1).to_string();
        let start = crate::scope::statement_start(t, i);
        let element = (start..i - 1)
            .map(|k| t.at(k))
            .filter(|w| !matches!(*w, "constant" | "const" | "static" | "metal" | "::"))
            .collect::<Vec<_>>()
            .join(" ");
        out.push(FunctionConstant {
            optional: asked.contains(&name.as_str()),
            name,
            index,
            element,
            attribute: (i, end),
        });
    }
    out
}

/// Descriptions of the constants that need a value and have none.
pub fn missing(declared: &[FunctionConstant], values: &ConstantValues) -> Vec<String> {
    declared
        .iter()
        .filter(|c| !c.optional && !values.contains_key(&c.index))
        .map(|c| format!("{} {} ({})", c.element, c.name, c.index))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scope;

    #[test]
    fn declarations_are_found_and_parameters_are_not() {
        let t = Tokens::new(
            "constant bool a [[function_constant(3)]];\n\
             constant metal::uint2 b [[function_constant(10u)]];\n\
             constant bool c = a && is_function_constant_defined(b);\n\
             kernel void k(device int* p [[buffer(0), function_constant(a)]]) {}"
                .into(),
        );
        let found = declared(&t, &scope::scopes(&t));
        let short: Vec<_> = found
            .iter()
            .map(|c| (c.name.as_str(), c.index, c.element.as_str(), c.optional))
            .collect();
        assert_eq!(short, [("a", 3, "bool", false), ("b", 10, "uint2", true)]);
        assert_eq!(missing(&found, &ConstantValues::new()), ["bool a (3)"]);
        let values = ConstantValues::from([(3, ConstantValue::Bool(true))]);
        assert!(missing(&found, &values).is_empty());
    }

    #[test]
    fn values_are_read_and_written() {
        for (text, want) in [
            ("true", "true"),
            ("-1", "0xfffffffffffffffful"),
            ("18446744073709551615", "0xfffffffffffffffful"),
            ("1.5", "msl_as_type<float>(0x3fc00000u)"),
            ("-inf", "msl_as_type<float>(0xff800000u)"),
            ("1, 2", "0x1ul, 0x2ul"),
        ] {
            let value: ConstantValue = text.parse().unwrap();
            assert_eq!(value.to_string(), want, "{text}");
        }
        assert!("maybe".parse::<ConstantValue>().is_err());
        assert!("1,,2".parse::<ConstantValue>().is_err());
    }
}
