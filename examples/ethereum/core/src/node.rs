//! RLP of a trie's node that has changed, and nibbles of keys.

use alloy_primitives::B256;
use alloy_rlp::EMPTY_STRING_CODE;

/// RLP of one node. A branch has at most 17 references of 33 bytes; a leaf's value at most 113 bytes (an account's).
pub(crate) struct Rlp {
    bytes: [u8; 600],
    end: usize,
}

/// Room for a list's header. With a header of three bytes, as nearly all branches have, the node is aligned.
const HEADER: usize = 3;

impl Rlp {
    pub(crate) fn new() -> Self {
        Self {
            bytes: [0; 600],
            end: HEADER,
        }
    }

    pub(crate) fn push(&mut self, byte: u8) {
        self.bytes[self.end] = byte;
        self.end += 1;
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.bytes[self.end..self.end + bytes.len()].copy_from_slice(bytes);
        self.end += bytes.len();
    }

    pub(crate) fn digest(&mut self, digest: &[u8]) {
        self.push(EMPTY_STRING_CODE + 32);
        self.bytes(digest);
    }

    pub(crate) fn string(&mut self, bytes: &[u8]) {
        match bytes {
            [byte] if *byte < EMPTY_STRING_CODE => {}
            _ if bytes.len() < 56 => self.push(EMPTY_STRING_CODE + bytes.len() as u8),
            _ => {
                self.push(0xb8);
                self.push(bytes.len() as u8);
            }
        }
        self.bytes(bytes);
    }

    /// Compact encoding of the key's nibbles from `start` to `end`.
    pub(crate) fn path(&mut self, key: &B256, start: usize, end: usize, leaf: bool) {
        let odd = (end - start) % 2 == 1;
        let mut path = [0; 33];
        path[0] = 0x20 * u8::from(leaf);
        let mut position = start;
        if odd {
            path[0] |= 0x10 | nibble(key, position) as u8;
            position += 1;
        }
        let length = 1 + (end - position) / 2;
        if position.is_multiple_of(2) {
            path[1..length].copy_from_slice(&key[position / 2..end / 2]);
        } else {
            for byte in &mut path[1..length] {
                *byte = (nibble(key, position) << 4 | nibble(key, position + 1)) as u8;
                position += 2;
            }
        }
        self.string(&path[..length]);
    }

    /// The list with its header.
    pub(crate) fn finish(&mut self) -> &[u8] {
        let length = self.end - HEADER;
        let start = if length < 56 {
            self.bytes[2] = 0xc0 + length as u8;
            2
        } else if length < 256 {
            self.bytes[1..3].copy_from_slice(&[0xf8, length as u8]);
            1
        } else {
            self.bytes[..3].copy_from_slice(&[0xf9, (length >> 8) as u8, length as u8]);
            0
        };
        &self.bytes[start..self.end]
    }
}

pub(crate) fn nibble(key: &B256, at: usize) -> usize {
    (key[at / 2] >> (4 * (1 - at % 2)) & 0xf).into()
}

pub(crate) fn set_nibble(key: &mut B256, at: usize, value: u8) {
    let shift = 4 * (1 - at % 2);
    let byte = &mut key[at / 2];
    *byte = *byte & !(0xf << shift) | value << shift;
}

/// Position of the first nibble from `start` in which two keys differ, at most `end`.
pub(crate) fn common(a: &B256, b: &B256, start: usize, end: usize) -> usize {
    (start..end)
        .find(|at| nibble(a, *at) != nibble(b, *at))
        .unwrap_or(end)
}
