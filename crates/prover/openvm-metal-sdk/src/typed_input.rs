//! Values of the input that have a Rust type: `{"Vec<(String, u64)>": [["a", 1]]}` is what `io::read::<Vec<(String, u64)>>()` takes.
//!
//! OpenVM's encoding of serde is not self-describing: a `u8` takes as many words as a `u32`, a `u64` takes two. The type says
//! which is meant, in the notation of the guest, and OpenVM's own serializer makes the words.

use std::{cmp::Ordering, collections::HashSet};

use openvm_sdk::StdIn;
use serde::{
    ser::{SerializeSeq, SerializeTuple},
    Serialize, Serializer,
};
use serde_json::Value;

/// Most types in each other.
const MAX_DEPTH: usize = 32;

/// Types that are written, for messages.
const TYPES: &str = "bool, char, u8 to u128, i8 to i128, usize, isize, f32, f64, String, Option<T>, Vec<T>, [T; N], (T, U), \
                     BTreeSet<T>, BTreeMap<K, V>, struct { name: T }, enum { A, B(T), C { name: T } }";

/// A Rust type that serde encodes.
#[derive(Clone, Debug, PartialEq)]
enum Type {
    Bool,
    Char,
    /// Bits of the integer; `usize` is encoded with 64 and has 32.
    Unsigned {
        bits: u32,
        encoded: u32,
    },
    Signed {
        bits: u32,
        encoded: u32,
    },
    F32,
    F64,
    String,
    Option(Box<Type>),
    List(Box<Type>),
    Set(Box<Type>),
    Array(Box<Type>, usize),
    Tuple(Vec<Type>),
    Map(Box<Type>, Box<Type>),
    Struct(Vec<(String, Type)>),
    /// Variants with their contents: a unit is an empty tuple, a single field is itself.
    Enum(Vec<(String, Type)>),
}

/// A value of a [`Type`], which encodes itself as the Rust value does.
#[derive(Debug)]
enum Typed {
    Bool(bool),
    Char(char),
    /// An integer with its encoded bits.
    Unsigned(u128, u32),
    Signed(i128, u32),
    F32(f32),
    F64(f64),
    String(String),
    Option(Option<Box<Typed>>),
    List(Vec<Typed>),
    /// Tuples, arrays and structs: one value after the other, without their number.
    Fields(Vec<Typed>),
}

impl Serialize for Typed {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Bool(x) => to.serialize_bool(*x),
            Self::Char(x) => to.serialize_char(*x),
            Self::Unsigned(x, 8) => to.serialize_u8(*x as u8),
            Self::Unsigned(x, 16) => to.serialize_u16(*x as u16),
            Self::Unsigned(x, 32) => to.serialize_u32(*x as u32),
            Self::Unsigned(x, 64) => to.serialize_u64(*x as u64),
            Self::Unsigned(x, _) => to.serialize_u128(*x),
            Self::Signed(x, 8) => to.serialize_i8(*x as i8),
            Self::Signed(x, 16) => to.serialize_i16(*x as i16),
            Self::Signed(x, 32) => to.serialize_i32(*x as i32),
            Self::Signed(x, 64) => to.serialize_i64(*x as i64),
            Self::Signed(x, _) => to.serialize_i128(*x),
            Self::F32(x) => to.serialize_f32(*x),
            Self::F64(x) => to.serialize_f64(*x),
            Self::String(x) => to.serialize_str(x),
            Self::Option(None) => to.serialize_none(),
            Self::Option(Some(x)) => to.serialize_some(x),
            Self::List(list) => {
                let mut to = to.serialize_seq(Some(list.len()))?;
                list.iter().try_for_each(|x| to.serialize_element(x))?;
                to.end()
            }
            Self::Fields(list) => {
                let mut to = to.serialize_tuple(list.len())?;
                list.iter().try_for_each(|x| to.serialize_element(x))?;
                to.end()
            }
        }
    }
}

/// Adds one value of a list: a value of [`value_from_hex`](crate::files::value_from_hex), or an object of one type and its value; see
/// the module. `{"bytes": "0x..."}` and `{"text": "..."}` are bytes as they are, for `io::read_vec`.
///
/// # Errors
/// A value that does not fit its type.
pub(crate) fn add(
    stdin: &mut StdIn,
    value: &Value,
    from_hex: impl FnOnce(&str) -> Result<Vec<u8>, String>,
) -> Result<(), String> {
    match value {
        Value::String(text) => stdin.write_bytes(&from_hex(text)?),
        Value::Object(object) if object.len() == 1 => {
            for (name, value) in object {
                match (name.as_str(), value) {
                    ("bytes", Value::String(text)) => stdin.write_bytes(&hex(text)?),
                    ("text", Value::String(text)) => stdin.write_bytes(text.as_bytes()),
                    ("bytes" | "text", _) => return Err(format!("{name}: expected is a string")),
                    _ => stdin.write(&typed(&Type::parse(name)?, value)?),
                }
            }
        }
        _ => {
            return Err(format!(
                "expected is hexadecimal in quotes, {{\"bytes\": \"0x...\"}}, {{\"text\": \"...\"}}, or {{\"TYPE\": VALUE}} with one of \
                 the types {TYPES}"
            ))
        }
    }
    Ok(())
}

fn hex(text: &str) -> Result<Vec<u8>, String> {
    let digits = text.strip_prefix("0x").unwrap_or(text).as_bytes();
    let digit = |byte: u8| (byte as char).to_digit(16).map(|digit| digit as u8);
    let byte = |pair: &[u8]| match *pair {
        [high, low] => Some(digit(high)? << 4 | digit(low)?),
        _ => None,
    };
    let bytes: Option<Vec<u8>> = digits.chunks(2).map(byte).collect();
    bytes.ok_or_else(|| "not an even number of hexadecimal digits".into())
}

/// The value of a type.
fn typed(kind: &Type, value: &Value) -> Result<Typed, String> {
    let unexpected = || {
        let text = value.to_string();
        let short: String = text.chars().take(40).collect();
        format!("{short} is not a value of this type: {}", kind.name())
    };
    Ok(match (kind, value) {
        (Type::Bool, Value::Bool(x)) => Typed::Bool(*x),
        (Type::Char, Value::String(text)) => {
            let mut letters = text.chars();
            match (letters.next(), letters.next()) {
                (Some(letter), None) => Typed::Char(letter),
                _ => return Err(unexpected()),
            }
        }
        (Type::Unsigned { bits, encoded }, _) => {
            let x = integer(value).and_then(|(x, negative)| (!negative || x == 0).then_some(x));
            let x = x.filter(|x| *bits == 128 || x >> bits == 0);
            Typed::Unsigned(x.ok_or_else(unexpected)?, *encoded)
        }
        (Type::Signed { bits, encoded }, _) => {
            let x = integer(value).and_then(|(x, negative)| match negative {
                true => 0_i128.checked_sub_unsigned(x),
                false => x.try_into().ok(),
            });
            let fits = |x: &i128| {
                let rest = x >> (bits - 1);
                rest == 0 || rest == -1
            };
            Typed::Signed(x.filter(fits).ok_or_else(unexpected)?, *encoded)
        }
        (Type::F32, Value::Number(x)) => {
            let x = x.as_f64().map(|x| x as f32).filter(|x| x.is_finite());
            Typed::F32(x.ok_or_else(unexpected)?)
        }
        (Type::F64, Value::Number(x)) => Typed::F64(x.as_f64().ok_or_else(unexpected)?),
        (Type::String, Value::String(text)) => Typed::String(text.clone()),
        (Type::Option(_), Value::Null) => Typed::Option(None),
        (Type::Option(kind), _) => Typed::Option(Some(Box::new(typed(kind, value)?))),
        (Type::List(kind), Value::String(text)) if **kind == Type::BYTE => {
            Typed::List(bytes_of(text)?)
        }
        (Type::List(kind), Value::Array(list)) => Typed::List(all(list.iter(), kind)?),
        (Type::Set(kind), Value::String(text)) if **kind == Type::BYTE => {
            let elements = bytes_of(text)?;
            distinct(&elements, "bytes")?;
            Typed::List(elements)
        }
        (Type::Set(kind), Value::Array(list)) => {
            let elements = all(list.iter(), kind)?;
            distinct(&elements, "elements")?;
            Typed::List(elements)
        }
        (Type::Array(kind, length), Value::String(text)) if **kind == Type::BYTE => {
            let bytes = bytes_of(text)?;
            of_length(*length, bytes.len())?;
            Typed::Fields(bytes)
        }
        (Type::Array(kind, length), Value::Array(list)) => {
            of_length(*length, list.len())?;
            Typed::Fields(all(list.iter(), kind)?)
        }
        (Type::Tuple(kinds), Value::Array(list)) => {
            of_length(kinds.len(), list.len())?;
            let fields = kinds
                .iter()
                .zip(list)
                .map(|(kind, value)| typed(kind, value));
            Typed::Fields(fields.collect::<Result<_, _>>()?)
        }
        (Type::Map(key, kind), Value::Object(object)) => {
            // JSON has keys in quotes only, numbers too.
            let key_of = |text: &String| typed(key, &Value::String(text.clone()));
            let entry = |(text, value)| Ok((text, key_of(text)?, typed(kind, value)?));
            let entries = object.iter().map(entry).collect::<Result<Vec<_>, String>>();
            let mut entries = entries?;
            entries.sort_by(|(_, one, _), (_, other, _)| order(one, other));
            let same = entries
                .windows(2)
                .find(|pair| order(&pair[0].1, &pair[1].1).is_eq());
            if let Some([(one, ..), (other, ..)]) = same {
                return Err(format!(
                    "the keys {:?} and {:?} are the same {}",
                    start(one),
                    start(other),
                    key.name()
                ));
            }
            let entries = entries.into_iter().map(|(_, key, value)| (key, value));
            let fields = |(key, value)| Typed::Fields(vec![key, value]);
            Typed::List(entries.map(fields).collect())
        }
        (Type::Map(key, kind), Value::Array(list)) => {
            let pair = Type::Tuple(vec![Type::clone(key), Type::clone(kind)]);
            let pairs = all(list.iter(), &pair)?;
            let keys = pairs.iter().filter_map(|pair| match pair {
                Typed::Fields(pair) => pair.first(),
                _ => None,
            });
            distinct(keys, "the keys of elements")?;
            Typed::List(pairs)
        }
        (Type::Struct(fields), Value::Object(object)) => {
            if let Some(name) = object
                .keys()
                .find(|name| fields.iter().all(|(field, _)| field != *name))
            {
                return Err(format!("{name}: there is no such field in {}", kind.name()));
            }
            let field = |(name, kind): &(String, Type)| {
                let value = match (object.get(name), kind) {
                    (Some(value), _) => value,
                    (None, Type::Option(_)) => &Value::Null,
                    (None, _) => return Err(format!("{name}: the field is missing")),
                };
                typed(kind, value).map_err(|reason| format!("{name}: {reason}"))
            };
            Typed::Fields(fields.iter().map(field).collect::<Result<_, _>>()?)
        }
        (Type::Enum(variants), Value::String(_) | Value::Object(_)) => {
            let empty = Value::Array(Vec::new());
            let (name, content) = match value {
                Value::String(name) => (name, &empty),
                Value::Object(object) if object.len() == 1 => {
                    object.iter().next().ok_or_else(unexpected)?
                }
                _ => return Err(unexpected()),
            };
            let index = variants.iter().position(|(variant, _)| variant == name);
            let index = index.ok_or_else(unexpected)?;
            let content =
                typed(&variants[index].1, content).map_err(|reason| format!("{name}: {reason}"))?;
            Typed::Fields(vec![Typed::Unsigned(index as u128, 32), content])
        }
        _ => return Err(unexpected()),
    })
}

fn all<'a>(values: impl Iterator<Item = &'a Value>, kind: &Type) -> Result<Vec<Typed>, String> {
    let one =
        |(index, value)| typed(kind, value).map_err(|reason| format!("element {index}: {reason}"));
    values.enumerate().map(one).collect()
}

/// Refuses values that are the same; `what` says what has them.
fn distinct<'a>(values: impl IntoIterator<Item = &'a Typed>, what: &str) -> Result<(), String> {
    let mut values: Vec<_> = values.into_iter().enumerate().collect();
    // Equal ones stay in the order in which they were given.
    values.sort_by(|(_, one), (_, other)| order(one, other));
    let same = values
        .windows(2)
        .find(|pair| order(pair[0].1, pair[1].1).is_eq());
    match same {
        Some([(one, _), (other, _)]) => Err(format!("{what} {one} and {other} are the same")),
        _ => Ok(()),
    }
}

fn bytes_of(text: &str) -> Result<Vec<Typed>, String> {
    let bytes = hex(text)?.into_iter();
    Ok(bytes.map(|byte| Typed::Unsigned(byte.into(), 8)).collect())
}

fn of_length(expected: usize, found: usize) -> Result<(), String> {
    match expected == found {
        true => Ok(()),
        false => Err(format!("{found} elements, expected are {expected}")),
    }
}

/// The beginning of a text, for messages.
fn start(text: &str) -> String {
    text.chars().take(40).collect()
}

/// The order of values of one type, which is that of keys in Rust's maps.
fn order(one: &Typed, other: &Typed) -> Ordering {
    match (one, other) {
        (Typed::Bool(one), Typed::Bool(other)) => one.cmp(other),
        (Typed::Char(one), Typed::Char(other)) => one.cmp(other),
        (Typed::Unsigned(one, _), Typed::Unsigned(other, _)) => one.cmp(other),
        (Typed::Signed(one, _), Typed::Signed(other, _)) => one.cmp(other),
        (Typed::F32(one), Typed::F32(other)) => one.total_cmp(other),
        (Typed::F64(one), Typed::F64(other)) => one.total_cmp(other),
        (Typed::String(one), Typed::String(other)) => one.cmp(other),
        (Typed::Option(one), Typed::Option(other)) => match (one, other) {
            (Some(one), Some(other)) => order(one, other),
            (one, other) => one.is_some().cmp(&other.is_some()),
        },
        (Typed::List(one), Typed::List(other)) | (Typed::Fields(one), Typed::Fields(other)) => {
            let differs = |(one, other)| Some(order(one, other)).filter(|order| order.is_ne());
            let first = one.iter().zip(other).find_map(differs);
            first.unwrap_or_else(|| one.len().cmp(&other.len()))
        }
        _ => {
            debug_assert!(false, "values of two types: {one:?}, {other:?}");
            Ordering::Equal
        }
    }
}

/// Magnitude and sign of an integer: a number of JSON, or digits in quotes, decimal or after `0x`.
fn integer(value: &Value) -> Option<(u128, bool)> {
    let text = match value {
        Value::Number(number) => &number.to_string(),
        Value::String(text) => text,
        _ => return None,
    };
    let (text, negative) = match text.strip_prefix('-') {
        Some(text) => (text, true),
        None => (text.as_str(), false),
    };
    let (digits, radix) = match text.strip_prefix("0x") {
        Some(digits) => (digits, 16),
        None => (text, 10),
    };
    // `from_str_radix` would take another sign.
    let is_digit = |digit: char| digit.is_digit(radix);
    let x = digits.chars().all(is_digit).then_some(digits)?;
    Some((u128::from_str_radix(x, radix).ok()?, negative))
}

impl Type {
    const BYTE: Self = Self::Unsigned {
        bits: 8,
        encoded: 8,
    };

    /// Reads the name of a type.
    ///
    /// # Errors
    /// A text that names no type, or a struct or an enum in which a name is there twice.
    fn parse(text: &str) -> Result<Self, String> {
        let mut rest = text;
        let kind = parse_type(&mut rest, MAX_DEPTH)
            .filter(|_| rest.trim().is_empty())
            .ok_or_else(|| {
                format!(
                    "{}: no such type; there are {TYPES}, and \"bytes\" and \"text\" for io::read_vec",
                    start(text)
                )
            })?;
        kind.check_names()?;
        Ok(kind)
    }

    /// Checks that names in structs and enums differ.
    ///
    /// # Errors
    /// The first name that two fields of a struct, or two variants of an enum, have.
    fn check_names(&self) -> Result<(), String> {
        match self {
            Self::Struct(all) | Self::Enum(all) => {
                let mut names = HashSet::new();
                if let Some((name, _)) = all.iter().find(|(name, _)| !names.insert(name)) {
                    let name = start(name);
                    return Err(match self {
                        Self::Enum(_) => format!("the variant {name} is there twice in an enum"),
                        _ => format!("the field {name} is there twice in a struct"),
                    });
                }
                all.iter().try_for_each(|(_, kind)| kind.check_names())
            }
            Self::Option(kind) | Self::List(kind) | Self::Set(kind) | Self::Array(kind, _) => {
                kind.check_names()
            }
            Self::Tuple(kinds) => kinds.iter().try_for_each(Self::check_names),
            Self::Map(key, kind) => key.check_names().and_then(|()| kind.check_names()),
            Self::Bool
            | Self::Char
            | Self::Unsigned { .. }
            | Self::Signed { .. }
            | Self::F32
            | Self::F64
            | Self::String => Ok(()),
        }
    }

    /// Formats the type in the notation of Rust.
    fn name(&self) -> String {
        let list = |kinds: &[Self]| kinds.iter().map(Self::name).collect::<Vec<_>>().join(", ");
        let fields = |fields: &[(String, Self)], colon: &str| {
            let field = |(name, kind): &(String, Self)| format!("{name}{colon}{}", kind.name());
            fields.iter().map(field).collect::<Vec<_>>().join(", ")
        };
        match self {
            Self::Bool => "bool".into(),
            Self::Char => "char".into(),
            Self::Unsigned {
                bits: 32,
                encoded: 64,
            } => "usize".into(),
            Self::Signed {
                bits: 32,
                encoded: 64,
            } => "isize".into(),
            Self::Unsigned { bits, .. } => format!("u{bits}"),
            Self::Signed { bits, .. } => format!("i{bits}"),
            Self::F32 => "f32".into(),
            Self::F64 => "f64".into(),
            Self::String => "String".into(),
            Self::Option(kind) => format!("Option<{}>", kind.name()),
            Self::List(kind) => format!("Vec<{}>", kind.name()),
            Self::Set(kind) => format!("BTreeSet<{}>", kind.name()),
            Self::Array(kind, length) => format!("[{}; {length}]", kind.name()),
            Self::Tuple(kinds) => format!("({})", list(kinds)),
            Self::Map(key, kind) => format!("BTreeMap<{}, {}>", key.name(), kind.name()),
            Self::Struct(all) => format!("struct {{ {} }}", fields(all, ": ")),
            Self::Enum(all) => format!("enum {{ {} }}", fields(all, " ")),
        }
    }
}

/// Takes what begins with `token`, after spaces.
fn take(rest: &mut &str, token: char) -> Option<()> {
    *rest = rest.trim_start().strip_prefix(token)?;
    Some(())
}

fn word<'a>(rest: &mut &'a str) -> Option<&'a str> {
    let text = rest.trim_start();
    let is_other = |letter: char| !letter.is_alphanumeric() && letter != '_';
    let end = text.find(is_other).unwrap_or(text.len());
    let (word, others) = text.split_at(end);
    *rest = others;
    (!word.is_empty()).then_some(word)
}

/// Items up to `end`, separated by commas; the last comma may be followed by none.
fn list<T>(
    rest: &mut &str,
    end: char,
    mut item: impl FnMut(&mut &str) -> Option<T>,
) -> Option<Vec<T>> {
    let mut items = Vec::new();
    while take(rest, end).is_none() {
        items.push(item(rest)?);
        if take(rest, ',').is_none() {
            take(rest, end)?;
            break;
        }
    }
    Some(items)
}

fn parse_type(rest: &mut &str, depth: usize) -> Option<Type> {
    let depth = depth.checked_sub(1)?;
    let field = |rest: &mut &str| {
        let name = word(rest)?.to_owned();
        take(rest, ':')?;
        Some((name, parse_type(rest, depth)?))
    };
    if take(rest, '[').is_some() {
        let kind = parse_type(rest, depth)?;
        take(rest, ';')?;
        let length = word(rest)?.parse().ok()?;
        take(rest, ']')?;
        return Some(Type::Array(Box::new(kind), length));
    }
    if take(rest, '(').is_some() {
        let kinds = list(rest, ')', |rest| parse_type(rest, depth))?;
        return Some(Type::Tuple(kinds));
    }
    let mut name = word(rest)?;
    // A path's last part is the type's name.
    while rest.starts_with("::") {
        *rest = &rest[2..];
        name = word(rest)?;
    }
    let mut inside = || {
        take(rest, '<')?;
        let kinds = list(rest, '>', |rest| parse_type(rest, depth))?;
        Some(kinds)
    };
    Some(match name {
        "bool" => Type::Bool,
        "char" => Type::Char,
        "f32" => Type::F32,
        "f64" => Type::F64,
        "String" | "str" => Type::String,
        "usize" => Type::Unsigned {
            bits: 32,
            encoded: 64,
        },
        "isize" => Type::Signed {
            bits: 32,
            encoded: 64,
        },
        "Option" | "Vec" | "VecDeque" | "BTreeSet" | "HashSet" | "Box" => {
            let [kind] = <[Type; 1]>::try_from(inside()?).ok()?;
            match name {
                "Option" => Type::Option(Box::new(kind)),
                "Box" => kind,
                "BTreeSet" | "HashSet" => Type::Set(Box::new(kind)),
                _ => Type::List(Box::new(kind)),
            }
        }
        "BTreeMap" | "HashMap" => {
            let [key, kind] = <[Type; 2]>::try_from(inside()?).ok()?;
            Type::Map(Box::new(key), Box::new(kind))
        }
        "struct" => {
            take(rest, '{')?;
            Type::Struct(list(rest, '}', field)?)
        }
        "enum" => {
            take(rest, '{')?;
            let variant = |rest: &mut &str| {
                let name = word(rest)?.to_owned();
                if take(rest, '(').is_some() {
                    let mut kinds = list(rest, ')', |rest| parse_type(rest, depth))?;
                    let content = match kinds.len() {
                        1 => kinds.remove(0),
                        _ => Type::Tuple(kinds),
                    };
                    return Some((name, content));
                }
                let content = match take(rest, '{') {
                    Some(()) => Type::Struct(list(rest, '}', field)?),
                    None => Type::Tuple(Vec::new()),
                };
                Some((name, content))
            };
            Type::Enum(list(rest, '}', variant)?)
        }
        _ => {
            let (is_signed, bits) = match (name.strip_prefix('u'), name.strip_prefix('i')) {
                (Some(bits), _) => (false, bits),
                (_, Some(bits)) => (true, bits),
                _ => return None,
            };
            let bits = match bits {
                "8" => 8,
                "16" => 16,
                "32" => 32,
                "64" => 64,
                "128" => 128,
                _ => return None,
            };
            let encoded = bits;
            match is_signed {
                true => Type::Signed { bits, encoded },
                false => Type::Unsigned { bits, encoded },
            }
        }
    })
}

#[cfg(test)]
mod tests;
