//! What a file of the cache is called: the unit for people, the key by which it is found, the checksum of its bytes.

use std::fmt;

use twox_hash::XxHash3_128;

const SUFFIX: &str = ".archive";
const DIGITS: usize = 32;
/// Changed with the layout of the cache or the way in which pipelines are made.
const VERSION: u8 = 1;

/// Names the code of a unit and all that it is compiled with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key(u128);

impl Key {
    /// Of everything that the machine code depends on; no two lists of parts have one hash, save by chance.
    pub fn of<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut hasher = XxHash3_128::new();
        hasher.write(&[VERSION]);
        for part in parts {
            hasher.write(&(part.len() as u64).to_le_bytes());
            hasher.write(part);
        }
        Self(hasher.finish_128())
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
        let mut number = || {
            let digits = parts.next().filter(|digits| digits.len() == DIGITS)?;
            u128::from_str_radix(digits, 16).ok()
        };
        let (checksum, key) = (number()?, Key(number()?));
        Some(Self {
            unit: parts.next()?.to_owned(),
            key,
            checksum,
        })
    }
}

impl fmt::Display for FileName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, Key(key), checksum) = (plain(&self.unit), self.key, self.checksum);
        write!(f, "{unit}-{key:032x}-{checksum:032x}{SUFFIX}")
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
