//! The name and the bytes of one entry.

use sha2::{Digest as _, Sha256};

/// First bytes of a file. Another format gets another number.
const MAGIC: &[u8; 24] = b"openvm-metal cache v1\n\0\0";
const HASH: usize = 32;
/// Bytes before the content: [`MAGIC`], the key, the hash of the content.
const HEADER: usize = MAGIC.len() + 2 * HASH;
/// Part of every key: the content of an entry changes with these versions alone.
const VERSION: &str = concat!("openvm-metal ", env!("CARGO_PKG_VERSION"), ", OpenVM 2.0.2");

/// The hash of everything that an entry's content follows from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key([u8; HASH]);

impl Key {
    /// The key of content that follows from `parts`, by the function that `what` names.
    pub fn of<'a>(what: &'a str, parts: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut hash = Sha256::new();
        let versions = [VERSION.as_bytes(), what.as_bytes()];
        for part in versions.into_iter().chain(parts) {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        Self(hash.finalize().into())
    }

    /// The name of the entry's file.
    pub fn file_name(&self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// True for names that [`Key::file_name`] gives.
pub(super) fn is_name(name: &str) -> bool {
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    name.len() == 2 * HASH && name.bytes().all(is_digit)
}

/// The bytes of an entry's file.
pub(super) fn encode(key: &Key, content: &[u8]) -> Vec<u8> {
    let hash: [u8; HASH] = Sha256::digest(content).into();
    [MAGIC.as_slice(), &key.0, &hash, content].concat()
}

/// The content in the bytes of an entry's file; nothing if a bit of it is not as it was written, or it has another key or
/// format.
pub(super) fn decode(key: &Key, mut file: Vec<u8>) -> Option<Vec<u8>> {
    if file.len() < HEADER {
        return None;
    }
    let content = file.split_off(HEADER);
    let hash: [u8; HASH] = Sha256::digest(&content).into();
    let expected = [MAGIC.as_slice(), &key.0, &hash].concat();
    (file == expected).then_some(content)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_taken_only_as_it_was_written() {
        let key = Key::of("test", [b"a".as_slice(), b"bc"]);
        assert!(is_name(&key.file_name()));
        for other in [
            "lock",
            "a",
            "A".repeat(64).as_str(),
            "g".repeat(64).as_str(),
        ] {
            assert!(!is_name(other), "{other}");
        }
        let file = encode(&key, b"content");
        assert_eq!(decode(&key, file.clone()).as_deref(), Some(&b"content"[..]));
        for index in 0..file.len() {
            let mut damaged = file.clone();
            damaged[index] ^= 1;
            assert_eq!(decode(&key, damaged), None, "byte {index}");
            assert_eq!(decode(&key, file[..index].to_vec()), None, "cut at {index}");
        }
        assert_eq!(decode(&key, [file.as_slice(), b"x"].concat()), None);
        // The same bytes in other parts, and for another function.
        for other in [
            Key::of("test", [b"ab".as_slice(), b"c"]),
            Key::of("tesu", [b"a".as_slice(), b"bc"]),
        ] {
            assert_ne!(other, key);
            assert_eq!(decode(&other, file.clone()), None);
        }
    }
}
