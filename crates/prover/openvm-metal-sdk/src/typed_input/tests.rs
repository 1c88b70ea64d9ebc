//! Typed values against the words that OpenVM's serializer makes of the Rust values.

use std::collections::BTreeMap;

use openvm_sdk::StdIn;
use rand::{
    distr::{Alphanumeric, StandardUniform},
    rngs::StdRng,
    Rng, SeedableRng,
};
use serde::Serialize;
use serde_json::{json, Value};

use super::*;

/// Every kind of type; its notation is [`WHOLE`].
#[derive(Serialize)]
struct Whole {
    flag: bool,
    letter: char,
    bytes: Vec<u8>,
    numbers: (u16, u32, u64),
    signed: (i8, i16, i32, i64),
    /// Beyond JSON's numbers, so in quotes.
    #[serde(serialize_with = "as_number")]
    large: String,
    sizes: (usize, isize),
    floats: (f32, f64),
    text: String,
    perhaps: Option<u64>,
    array: [u8; 5],
    map: BTreeMap<String, Vec<i16>>,
    counts: BTreeMap<u32, bool>,
    shapes: Vec<Shape>,
    nothing: (),
}

/// Values as in the enum of [`WHOLE`].
#[derive(Serialize)]
enum Shape {
    Point,
    Circle(u64),
    Box(u8, i32),
    Text { text: String, size: u8 },
}

const WHOLE: &str = "struct { flag: bool, letter: char, bytes: Vec<u8>, numbers: (u16, u32, u64), \
                     signed: (i8, i16, i32, i64,), large: u128, sizes: (usize, isize), floats: (f32, f64), \
                     text: String, perhaps: Option<u64>, array: [u8; 5], map: std::collections::BTreeMap<String, Vec<i16>>, \
                     counts: HashMap<u32, bool>, \
                     shapes: Vec<enum { Point, Circle(u64), Box(u8, i32), Text { text: String, size: u8 } }>, nothing: () }";

/// A number to OpenVM, digits to JSON.
fn as_number<S: Serializer>(text: &str, to: S) -> Result<S::Ok, S::Error> {
    match to.is_human_readable() {
        true => to.serialize_str(text),
        false => to.serialize_u128(text.parse().expect("digits")),
    }
}

fn text(random: &mut StdRng) -> String {
    let length = random.random_range(0..9);
    let mut text: String = random
        .sample_iter(Alphanumeric)
        .take(length)
        .map(char::from)
        .collect();
    if random.random() {
        text.push('ä');
    }
    text
}

fn some<T>(random: &mut StdRng, mut one: impl FnMut(&mut StdRng) -> T) -> Vec<T> {
    let length = random.random_range(0..5);
    (0..length).map(|_| one(random)).collect()
}

fn whole(random: &mut StdRng) -> Whole {
    let shape = |random: &mut StdRng| match random.random_range(0..4) {
        0 => Shape::Point,
        1 => Shape::Circle(random.random()),
        2 => Shape::Box(random.random(), random.random()),
        _ => Shape::Text {
            text: text(random),
            size: random.random(),
        },
    };
    Whole {
        flag: random.random(),
        letter: random.random(),
        bytes: some(random, |random| random.random()),
        numbers: random.random(),
        signed: random.random(),
        large: (random.random::<u128>() >> random.random_range(0..128)).to_string(),
        sizes: (
            random.random::<u32>() as usize,
            random.random::<i32>() as isize,
        ),
        floats: (
            random.sample(StandardUniform),
            random.random::<f64>() * 1e30,
        ),
        text: text(random),
        perhaps: random.random::<bool>().then(|| random.random()),
        array: random.random(),
        map: some(random, |random| {
            let key = text(random);
            (key, some(random, |random| random.random()))
        })
        .into_iter()
        .collect(),
        counts: some(random, |random| (random.random(), random.random()))
            .into_iter()
            .collect(),
        shapes: some(random, shape),
        nothing: (),
    }
}

fn taken(value: &Value) -> Result<StdIn, String> {
    let mut stdin = StdIn::default();
    // As `files::value_from_hex` does, without the kind of the value.
    add(&mut stdin, value, |text| Ok(hex(text)?.split_off(1)))?;
    Ok(stdin)
}

/// Catches an encoding that is not openvm's: a width of a number, a length where none belongs, a wrong order.
#[test]
fn random_values_are_encoded_as_openvm_s_serde_does() {
    let mut random = StdRng::seed_from_u64(1);
    for turn in 0..2000 {
        let value = whole(&mut random);
        let mut json = serde_json::to_value(&value).expect("JSON has all of it");
        json["nothing"] = json!([]);
        let mut expected = StdIn::default();
        expected.write(&value);
        let found =
            taken(&json!({ WHOLE: json })).unwrap_or_else(|error| panic!("{turn}: {error}"));
        assert_eq!(found.buffer, expected.buffer, "{turn}: {json}");
    }
}

#[test]
fn integers_end_at_their_ranges() {
    for (kind, value, fits) in [
        ("u8", json!(255), true),
        ("u8", json!(256), false),
        ("u8", json!(-1), false),
        ("u8", json!("0xff"), true),
        ("u8", json!("-0"), true),
        ("u8", json!("+1"), false),
        ("u8", json!(""), false),
        ("u8", json!(1.0), false),
        ("u64", json!(u64::MAX), true),
        ("u64", json!("18446744073709551616"), false),
        ("u128", json!(u128::MAX.to_string()), true),
        (
            "u128",
            json!("340282366920938463463374607431768211456"),
            false,
        ),
        ("usize", json!(1_u64 << 32), false),
        ("isize", json!(-(1_i64 << 31)), true),
        ("isize", json!(1_i64 << 31), false),
        ("i8", json!(-128), true),
        ("i8", json!(128), false),
        ("i8", json!(-129), false),
        ("i128", json!(i128::MIN.to_string()), true),
        (
            "i128",
            json!("170141183460469231731687303715884105728"),
            false,
        ),
        ("f32", json!(1e39), false),
        ("f64", json!(1e39), true),
    ] {
        let result = taken(&json!({ kind: value }));
        assert_eq!(result.is_ok(), fits, "{kind} {value}: {:?}", result.err());
    }
}

#[test]
fn bytes_are_read_as_they_are_or_as_a_list() {
    let bytes = |value: Value| {
        let stdin = taken(&value).expect("a value");
        let field = stdin.buffer.into_iter().flatten();
        field.map(|x| x.to_string()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(bytes(json!("0x0105ff")), "5 255");
    assert_eq!(bytes(json!({"bytes": "0x05ff"})), "5 255");
    assert_eq!(bytes(json!({"text": "ab"})), "97 98");
    assert_eq!(bytes(json!({"[u8; 2]": "05ff"})), "5 0 0 0 255 0 0 0");
    assert_eq!(
        bytes(json!({"Vec<u8>": "05ff"})),
        "2 0 0 0 5 0 0 0 255 0 0 0"
    );
    assert_eq!(bytes(json!({"String": "abc"})), "3 0 0 0 97 98 99 0");
}

/// Catches an order of keys that takes different ones for the same.
#[test]
fn distinct_keys_and_elements_are_taken() {
    for value in [
        json!({"BTreeMap<u32, u8>": {"1": 1, "0x2": 2}}),
        json!({"BTreeMap<String, u8>": [["a", 1], ["b", 1]]}),
        json!({"BTreeMap<(bool, Vec<u8>), u8>": [[[true, [1]], 1], [[true, [1, 1]], 1], [[false, [1]], 1]]}),
        json!({"HashMap<enum { A, B(u8) }, u8>": [["A", 1], [{"B": 1}, 1], [{"B": 2}, 1]]}),
        json!({"BTreeSet<Option<u8>>": [null, 0, 1]}),
        json!({"HashSet<char>": ["a", "b"]}),
        json!({"(struct { a: u8 }, struct { a: u8 })": [{"a": 1}, {"a": 1}]}),
    ] {
        if let Err(error) = taken(&value) {
            panic!("{value}: {error}");
        }
    }
}

/// Each is refused with a message that names what is wrong; none panics or recurses without an end.
#[test]
fn what_does_not_fit_is_refused() {
    let deep = format!("{}u8{}", "Vec<".repeat(10_000), ">".repeat(10_000));
    for (value, reason) in [
        (json!(5), "TYPE"),
        (json!({}), "TYPE"),
        (json!({"u8": 1, "u16": 1}), "TYPE"),
        (json!({"bytes": 5}), "string"),
        (json!({"bytes": "0x5"}), "even"),
        (json!({"bytes": "0xé5"}), "hexadecimal"),
        (json!({"": 5}), "no such type"),
        (json!({"é8": 5}), "no such type"),
        (json!({"u7": 5}), "no such type"),
        (json!({"u": 5}), "no such type"),
        (json!({"u8 u8": 5}), "no such type"),
        (json!({"Vec<u8": []}), "no such type"),
        (json!({"Vec<u8, u8>": []}), "no such type"),
        (json!({"[u8; x]": []}), "no such type"),
        (json!({"struct { a u8 }": {}}), "no such type"),
        (json!({ deep: [] }), "no such type"),
        (json!({"u32": "x"}), "u32"),
        (json!({"Vec<u32>": [1, -1]}), "element 1"),
        (json!({"[u32; 3]": [1]}), "expected are 3"),
        (json!({"(u8, u8)": [1, 2, 3]}), "expected are 2"),
        (json!({"char": "ab"}), "char"),
        (json!({"struct { a: u8 }": {}}), "a: the field is missing"),
        (
            json!({"struct { a: u8 }": {"a": 1, "b": 2}}),
            "b: there is no such field",
        ),
        (json!({"enum { A, B(u8) }": "C"}), "enum { A"),
        (json!({"enum { A, B(u8) }": {"B": 256}}), "B: 256"),
        (json!({"u32": "9".repeat(100_000)}), "not a value"),
        (
            json!({"struct { a: u8, b: u8, a: u16 }": {"a": 1, "b": 1}}),
            "the field a is there twice",
        ),
        (
            json!({"Vec<enum { A, B, A(u8) }>": []}),
            "the variant A is there twice",
        ),
        (
            json!({"enum { A { b: u8, b: u8 } }": "A"}),
            "the field b is there twice",
        ),
        (
            json!({"BTreeMap<u8, (struct { a: u8, a: u8 },)>": {}}),
            "twice",
        ),
        (
            json!({"BTreeMap<u32, u8>": {"1": 1, "0x1": 2}}),
            "\"0x1\" and \"1\" are the same u32",
        ),
        (
            json!({"HashMap<String, u8>": [["a", 1], ["b", 1], ["a", 2]]}),
            "elements 0 and 2",
        ),
        (
            json!({"BTreeMap<(bool, u8), u8>": [[[true, 1], 1], [[true, "0x1"], 2]]}),
            "0 and 1",
        ),
        (
            json!({"BTreeMap<Option<Vec<u8>>, u8>": [["0x01", 1], [null, 1], [[1], 1]]}),
            "0 and 2",
        ),
        (
            json!({"BTreeMap<enum { A, B }, u8>": {"A": 1, "B": 2, "C": 2}}),
            "enum",
        ),
        (
            json!({"HashSet<i16>": [3, -1, 2, -1]}),
            "elements 1 and 3 are the same",
        ),
        (
            json!({"BTreeSet<u8>": "0x010201"}),
            "bytes 0 and 2 are the same",
        ),
    ] {
        let error = taken(&value).err().expect("refused");
        assert!(error.contains(reason), "{value}: {error}");
        assert!(error.len() < 30_000, "{}", error.len());
    }
}
