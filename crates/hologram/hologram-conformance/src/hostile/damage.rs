//! Serialised programs and texts with something changed.

use crate::Numbers;

/// Bytes that reach corner cases.
const CORNERS: [u8; 6] = [0, 1, 0x7f, 0x80, 0xfe, 0xff];
/// Characters that mean something in assembly.
const CHARACTERS: &[u8] = b"@:.,[]+-;#/ \n\t0123456789abcdefprxu()_$\"\\\x00\x7f";

/// Changes, removes, repeats or inserts bytes, or cuts the end off: one to four times.
pub fn damage_bytes(bytes: &mut Vec<u8>, numbers: &mut Numbers) {
    damage(bytes, numbers, |numbers| match numbers.below(2) {
        0 => CORNERS[numbers.below(6) as usize],
        _ => numbers.below(256) as u8,
    });
}

/// The same for text; it stays UTF-8, with characters of more bytes among them.
pub fn damage_text(text: &str, numbers: &mut Numbers) -> String {
    let mut bytes = text.as_bytes().to_vec();
    damage(&mut bytes, numbers, |numbers| {
        match numbers.below(20) {
            // Parts of characters are replaced as a whole below.
            0 => 0xc3,
            _ => CHARACTERS[numbers.below(CHARACTERS.len() as u64) as usize],
        }
    });
    String::from_utf8_lossy(&bytes).into_owned()
}

fn damage(bytes: &mut Vec<u8>, numbers: &mut Numbers, mut new: impl FnMut(&mut Numbers) -> u8) {
    for _ in 0..=numbers.below(4) {
        let at = numbers.below(bytes.len() as u64 + 1) as usize;
        let len = (numbers.below(8) as usize + 1).min(bytes.len() - at);
        match numbers.below(8) {
            0 => bytes.insert(at, new(numbers)),
            1 => drop(bytes.drain(at..at + len)),
            2 => {
                let part = bytes[at..at + len].to_vec();
                let to = numbers.below(bytes.len() as u64 + 1) as usize;
                bytes.splice(to..to, part);
            }
            3 => bytes.truncate(at),
            4 if len > 0 => bytes[at] ^= 1 << numbers.below(8),
            _ if len > 0 => bytes[at] = new(numbers),
            _ => bytes.push(new(numbers)),
        }
    }
}
