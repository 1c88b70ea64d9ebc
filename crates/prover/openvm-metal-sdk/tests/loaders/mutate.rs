//! Damage that knows nothing of what it damages, but where numbers, tokens and headers may be.

use rand::{rngs::StdRng, seq::IndexedRandom as _, Rng as _};

/// Numbers at which decoders go wrong.
const NUMBERS: [u64; 16] = [
    0,
    1,
    2,
    3,
    0x7f,
    0x80,
    0xff,
    0x100,
    0xffff,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x1_0000_0000,
    0x1fff_ffff_ffff,
    0x7fff_ffff_ffff_ffff,
    u64::MAX,
];

/// Texts that a token of JSON or TOML may become.
const TOKENS: [&str; 22] = [
    "0",
    "-1",
    "1",
    "255",
    "256",
    "4294967295",
    "4294967296",
    "18446744073709551615",
    "18446744073709551616",
    "1e999",
    "-0.5",
    "null",
    "true",
    "\"\"",
    "\"0x\"",
    "[]",
    "{}",
    "[",
    "}",
    "\"\\u0000\"",
    "nan",
    ",",
];

/// Damages bytes in one to five places. `other` is a file of the same kind or of another.
pub fn damage(bytes: &mut Vec<u8>, other: &[u8], rng: &mut StdRng) {
    for _ in 0..rng.random_range(1..=5) {
        let is_text = bytes.first().is_some_and(|&byte| b"{[".contains(&byte));
        let is_elf = bytes.starts_with(b"\x7fELF");
        match rng.random_range(0..12) {
            0 | 1 => flip(bytes, rng),
            2 if is_elf => header(bytes, rng),
            2 | 3 if is_text => token(bytes, rng),
            2..=4 => number(bytes, rng),
            5 => byte(bytes, rng),
            6 => cut(bytes, rng),
            7 => copy(bytes, rng),
            8 => splice(bytes, other, rng),
            9 => insert(bytes, rng),
            10 if is_elf => header(bytes, rng),
            _ => token(bytes, rng),
        }
    }
}

/// A place in the bytes; the beginning, where lengths are, more often.
fn place(bytes: &[u8], rng: &mut StdRng) -> usize {
    let end = match rng.random_range(0..3) {
        0 => bytes.len().min(64),
        _ => bytes.len(),
    };
    rng.random_range(0..end.max(1))
}

fn flip(bytes: &mut [u8], rng: &mut StdRng) {
    let at = place(bytes, rng);
    if let Some(byte) = bytes.get_mut(at) {
        *byte ^= 1 << rng.random_range(0..8);
    }
}

fn byte(bytes: &mut [u8], rng: &mut StdRng) {
    let at = place(bytes, rng);
    if let Some(byte) = bytes.get_mut(at) {
        *byte = rng.random();
    }
}

/// A number of 1, 2, 4 or 8 bytes becomes another, or its neighbour.
fn number(bytes: &mut [u8], rng: &mut StdRng) {
    let at = place(bytes, rng);
    let size = 1 << rng.random_range(0..4);
    let length = bytes.len() as u64;
    let Some(old) = bytes.get_mut(at..at + size) else {
        return;
    };
    let mut number = [0; 8];
    number[..size].copy_from_slice(old);
    let found = u64::from_le_bytes(number);
    let new = match rng.random_range(0..6) {
        0 => found.wrapping_add(1),
        1 => found.wrapping_sub(1),
        2 => found.wrapping_mul(2),
        3 => length.wrapping_sub(rng.random_range(0..16)),
        _ => *NUMBERS.choose(rng).expect("some numbers"),
    };
    old.copy_from_slice(&new.to_le_bytes()[..size]);
}

/// A field of the ELF's header, or of its first program headers.
fn header(bytes: &mut [u8], rng: &mut StdRng) {
    let at = 16 + 4 * rng.random_range(0..9 + 8 * 4);
    if let Some(field) = bytes.get_mut(at..at + 4) {
        let new: u32 = match rng.random_range(0..3) {
            0 => 1 << rng.random_range(0..32),
            1 => rng.random::<u32>() & 0x1fff_fffc,
            _ => *NUMBERS.choose(rng).expect("some numbers") as u32,
        };
        field.copy_from_slice(&new.to_le_bytes());
    }
}

/// Leaves out the end, or a part.
fn cut(bytes: &mut Vec<u8>, rng: &mut StdRng) {
    let start = place(bytes, rng);
    match rng.random_range(0..3) {
        0 => bytes.truncate(start),
        _ => {
            let end = (start + rng.random_range(0..64)).min(bytes.len());
            bytes.drain(start.min(end)..end);
        }
    }
}

/// A part appears once more, up to 100 times.
fn copy(bytes: &mut Vec<u8>, rng: &mut StdRng) {
    let start = place(bytes, rng);
    let end = (start + rng.random_range(0..200)).min(bytes.len());
    let part = bytes[start.min(end)..end].to_vec();
    let times = if rng.random_bool(0.1) { 100 } else { 1 };
    let at = place(bytes, rng).min(bytes.len());
    bytes.splice(at..at, part.repeat(times));
}

/// A part comes from another file.
fn splice(bytes: &mut Vec<u8>, other: &[u8], rng: &mut StdRng) {
    let from = place(other, rng).min(other.len());
    let to = (from + rng.random_range(0..2000)).min(other.len());
    let at = place(bytes, rng).min(bytes.len());
    let end = (at + rng.random_range(0..2000)).min(bytes.len());
    bytes.splice(at..end, other[from..to].iter().copied());
}

fn insert(bytes: &mut Vec<u8>, rng: &mut StdRng) {
    let at = place(bytes, rng).min(bytes.len());
    let count = rng.random_range(1..20);
    let fill: Option<u8> = rng.random_bool(0.5).then(|| rng.random());
    let new: Vec<u8> = (0..count)
        .map(|_| fill.unwrap_or_else(|| rng.random()))
        .collect();
    bytes.splice(at..at, new);
}

/// A number, word or string of a text becomes another, or is nested a thousand times.
fn token(bytes: &mut Vec<u8>, rng: &mut StdRng) {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"-.+_\"".contains(byte);
    let at = place(bytes, rng).min(bytes.len());
    let Some(start) = bytes[at..].iter().position(is_part).map(|i| at + i) else {
        return;
    };
    let length = bytes[start..]
        .iter()
        .take_while(|byte| is_part(byte))
        .count();
    let new = match rng.random_range(0..20) {
        0 => "[".repeat(1000),
        1 => "{\"a\":".repeat(1000),
        2 => "0".repeat(1000),
        _ => (*TOKENS.choose(rng).expect("some tokens")).to_owned(),
    };
    bytes.splice(start..start + length, new.bytes());
}
