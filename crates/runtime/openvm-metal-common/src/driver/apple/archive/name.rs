//! Name of a file of the cache: the unit for people, the key by which it is found, the checksum of its bytes.

use std::fmt;

use sha2::{Digest, Sha256};
use twox_hash::XxHash3_128;

const SUFFIX: &str = ".archive";
/// Hexadecimal digits of a checksum.
const DIGITS: usize = 32;
/// Changed with the layout of the cache or the way in which pipelines are made.
const VERSION: u8 = 2;

/// Names the code of a unit and all that it is compiled with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key([u8; 32]);

impl Key {
    /// SHA-256 of everything that the machine code depends on: kernels are also written for circuits and programs of strangers,
    /// who must not find two with one name.
    pub fn of<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut hasher = Sha256::new();
        hasher.update([VERSION]);
        for part in parts {
            hasher.update((part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        Self(hasher.finalize().into())
    }

    fn parse(digits: &str) -> Option<Self> {
        let mut key = [0; 32];
        let digits = digits.as_bytes();
        if digits.len() != 2 * key.len() || !digits.iter().all(u8::is_ascii_hexdigit) {
            return None;
        }
        for (byte, pair) in key.iter_mut().zip(digits.chunks(2)) {
            let pair = std::str::from_utf8(pair).ok()?;
            *byte = u8::from_str_radix(pair, 16).ok()?;
        }
        Some(Self(key))
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Finds damage, not forgery: the folder is the user's own.
pub(super) fn checksum(bytes: &[u8]) -> u128 {
    XxHash3_128::oneshot(bytes)
}

/// The name of an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FileName {
    pub unit: String,
    pub key: Key,
    pub checksum: u128,
}

impl FileName {
    /// The parts of a name, if it is one.
    pub fn parse(name: &str) -> Option<Self> {
        let mut parts = name.strip_suffix(SUFFIX)?.rsplitn(3, '-');
        let checksum = parts.next().filter(|digits| digits.len() == DIGITS)?;
        let checksum = u128::from_str_radix(checksum, 16).ok()?;
        let key = Key::parse(parts.next()?)?;
        Some(Self {
            unit: parts.next()?.to_owned(),
            key,
            checksum,
        })
    }
}

impl fmt::Display for FileName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, key, checksum) = (plain(&self.unit), self.key, self.checksum);
        write!(f, "{unit}-{key}-{checksum:032x}{SUFFIX}")
    }
}

/// Letters, digits, dots and underscores, at most 64: a name that every file system takes.
pub(super) fn plain(name: &str) -> String {
    let keep = |c: char| match c.is_ascii_alphanumeric() || c == '.' {
        true => c,
        false => '_',
    };
    name.chars().take(64).map(keep).collect()
}
