//! JSON objects with a key twice: readers take the first value or the last, and none says so.

use std::{collections::HashSet, fmt};

use serde::{
    de::{Error, MapAccess, SeqAccess, Visitor},
    Deserialize, Deserializer,
};

/// Letters of a key in a message.
const SHOWN: usize = 40;

/// Refuses JSON in which an object has a key twice.
///
/// # Errors
/// The first such key with line and column, or the parser's reason.
pub(super) fn refuse(json: &[u8]) -> Result<(), String> {
    let checked: Result<Distinct, _> = serde_json::from_slice(json);
    checked.map(drop).map_err(|error| error.to_string())
}

/// Any value whose objects have each key once.
struct Distinct;

impl<'de> Deserialize<'de> for Distinct {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Any)
    }
}

struct Any;

impl<'de> Visitor<'de> for Any {
    type Value = Distinct;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E>(self, _: bool) -> Result<Distinct, E> {
        Ok(Distinct)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Distinct, E> {
        Ok(Distinct)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Distinct, E> {
        Ok(Distinct)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Distinct, E> {
        Ok(Distinct)
    }

    fn visit_str<E>(self, _: &str) -> Result<Distinct, E> {
        Ok(Distinct)
    }

    fn visit_unit<E>(self) -> Result<Distinct, E> {
        Ok(Distinct)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut values: A) -> Result<Distinct, A::Error> {
        while values.next_element::<Distinct>()?.is_some() {}
        Ok(Distinct)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Distinct, A::Error> {
        let mut keys: HashSet<String> = HashSet::new();
        while let Some(key) = entries.next_key::<String>()? {
            if keys.contains(&key) {
                let shown: String = key.chars().take(SHOWN).collect();
                return Err(A::Error::custom(format_args!(
                    "the key {shown:?} is there twice"
                )));
            }
            keys.insert(key);
            entries.next_value::<Distinct>()?;
        }
        Ok(Distinct)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_keys_are_found_at_any_depth() {
        for json in [
            r#"{"a": {"a": [1, -1, 1.5, null, true, "a", {}]}, "b": {"a": 1}}"#,
            r#"[{"a": 1}, {"a": 1}]"#,
        ] {
            refuse(json.as_bytes()).expect("each key once");
        }
        for (json, key) in [
            (
                "{\"a\": 1,\n \"a\": 1}",
                "\"a\" is there twice at line 2 column 4",
            ),
            (
                r#"[[{"b": {"c": 1, "\u0063": 2}}]]"#,
                "\"c\" is there twice at line 1",
            ),
            (r#"{"": 1, "": 2}"#, "\"\" is there twice"),
            (
                "{\"\\u001b\": 1, \"\\u001b\": 2}",
                "\"\\u{1b}\" is there twice",
            ),
        ] {
            let error = refuse(json.as_bytes()).expect_err(json);
            assert!(error.contains(key), "{json}: {error}");
        }
    }
}
