//! Names of buffers, pools and submitted programs.

use std::fmt;

use crate::atlas::CLASSES;

/// Name of a buffer; programs use the raw number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BufferHandle(u64);

impl BufferHandle {
    /// The whole boundary pool, 1,179,648 bytes.
    pub const BOUNDARY: Self = Self(0);
    /// Raw handle of class 0.
    const FIRST_CLASS: u64 = u64::MAX - (CLASSES as u64 - 1);

    /// The 12,288 bytes of a class of the boundary pool; `None` from 96 on.
    pub const fn class(class: u8) -> Option<Self> {
        if class < CLASSES {
            Some(Self(Self::FIRST_CLASS + class as u64))
        } else {
            None
        }
    }

    /// The class, if it is the handle of one.
    pub const fn as_class(self) -> Option<u8> {
        if self.0 >= Self::FIRST_CLASS {
            Some((self.0 - Self::FIRST_CLASS) as u8)
        } else {
            None
        }
    }

    /// From the number that programs use.
    pub const fn from_raw(raw: u64) -> Self {
        Self(raw)
    }

    /// The number that programs use.
    pub const fn raw(self) -> u64 {
        self.0
    }
}

impl fmt::Display for BufferHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.0, self.as_class()) {
            (0, _) => f.write_str("the boundary pool"),
            (_, Some(class)) => write!(f, "boundary class {class}"),
            (raw, None) => write!(f, "buffer {raw}"),
        }
    }
}

/// Name of a pool; programs use the raw number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PoolHandle(u64);

impl PoolHandle {
    /// From the number that programs use.
    pub const fn from_raw(raw: u64) -> Self {
        Self(raw)
    }

    /// The number that programs use.
    pub const fn raw(self) -> u64 {
        self.0
    }
}

impl fmt::Display for PoolHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "pool {}", self.0)
    }
}

/// A submitted program; waited for once.
#[must_use = "the program's faults are reported by `Backend::wait`"]
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct Ticket(u64);

impl Ticket {
    /// For implementations of backends: their own number of a submission.
    pub const fn from_raw(raw: u64) -> Self {
        Self(raw)
    }

    /// The backend's own number of the submission.
    pub const fn raw(&self) -> u64 {
        self.0
    }
}
