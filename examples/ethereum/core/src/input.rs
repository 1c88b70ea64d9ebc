//! Bytes that the host prepares for the guest. Every section begins at a multiple of four bytes.

use alloc::vec::Vec;
use alloy_primitives::Bytes;
use thiserror::Error;

/// First word of an input; its last byte is the version of the format.
pub const MAGIC: u32 = u32::from_le_bytes(*b"eth\x01");

/// Key of a sender: the coordinates of its point, 32 bytes big endian each.
pub type PublicKey = [u8; 64];

/// A fault of an input's form.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum InputError {
    /// The first word is another than [`MAGIC`].
    #[error("the input does not begin with `eth` and version 1: make it with ethereum-host of the same release")]
    Magic,
    /// The input ends within a section.
    #[error("the input has {length} bytes and ends within the section at byte {at}")]
    Truncated {
        /// Position of the section.
        at: usize,
        /// Length of the whole.
        length: usize,
    },
    /// Bytes after the last section.
    #[error("the input has {0} bytes after its last section")]
    Trailing(usize),
}

/// Length rounded up to a multiple of four.
pub const fn padded(length: usize) -> usize {
    (length + 3) & !3
}

/// Sections of an input.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Input {
    /// RLP of the block's header.
    pub header: Bytes,
    /// RLP of the list of uncles.
    pub ommers: Bytes,
    /// RLP of the list of withdrawals.
    pub withdrawals: Bytes,
    /// Transactions, EIP-2718 encodings, each with a key that the guest verifies to be its sender's.
    pub transactions: Vec<(PublicKey, Bytes)>,
    /// RLP of ancestors' headers: the parent's, its parent's, and so on.
    pub ancestors: Vec<Bytes>,
    /// Codes.
    pub codes: Vec<Bytes>,
    /// Root of the state before the block, and the tries' nodes depth first.
    pub nodes: Bytes,
}

impl Input {
    /// Reads the sections without copying them.
    ///
    /// # Errors
    ///
    /// [`InputError`] for another format and for lengths that the input does not have.
    pub fn read(input: &Bytes) -> Result<Self, InputError> {
        let mut reader = Reader { input, at: 0 };
        if reader.word()? != MAGIC {
            return Err(InputError::Magic);
        }
        let header = reader.section()?;
        let ommers = reader.section()?;
        let withdrawals = reader.section()?;
        let transactions = reader.list(68, |reader| {
            let mut key = [0; 64];
            key.copy_from_slice(&reader.bytes(64)?);
            Ok((key, reader.section()?))
        })?;
        let ancestors = reader.list(4, Reader::section)?;
        let codes = reader.list(4, Reader::section)?;
        let nodes = reader.section()?;
        match input.len() - reader.at {
            0 => Ok(Self {
                header,
                ommers,
                withdrawals,
                transactions,
                ancestors,
                codes,
                nodes,
            }),
            left => Err(InputError::Trailing(left)),
        }
    }

    /// Bytes that [`Self::read`] reads.
    pub fn write(&self) -> Vec<u8> {
        let mut out = MAGIC.to_le_bytes().to_vec();
        for section in [&self.header, &self.ommers, &self.withdrawals] {
            write_section(&mut out, section);
        }
        write_word(&mut out, self.transactions.len());
        for (key, transaction) in &self.transactions {
            out.extend_from_slice(key);
            write_section(&mut out, transaction);
        }
        for list in [&self.ancestors, &self.codes] {
            write_word(&mut out, list.len());
            for section in list {
                write_section(&mut out, section);
            }
        }
        write_section(&mut out, &self.nodes);
        out
    }
}

fn write_word(out: &mut Vec<u8>, word: usize) {
    out.extend_from_slice(&(word as u32).to_le_bytes());
}

fn write_section(out: &mut Vec<u8>, bytes: &[u8]) {
    write_word(out, bytes.len());
    out.extend_from_slice(bytes);
    out.resize(padded(out.len()), 0);
}

struct Reader<'a> {
    input: &'a Bytes,
    at: usize,
}

impl Reader<'_> {
    fn bytes(&mut self, length: usize) -> Result<Bytes, InputError> {
        let truncated = InputError::Truncated {
            at: self.at,
            length: self.input.len(),
        };
        let end = self
            .at
            .checked_add(length)
            .filter(|end| *end <= self.input.len());
        let bytes = self.input.slice(self.at..end.ok_or(truncated)?);
        // Zeros that follow may be absent only at the end.
        self.at = padded(self.at + length).min(self.input.len());
        Ok(bytes)
    }

    fn word(&mut self) -> Result<u32, InputError> {
        let bytes = self.bytes(4)?;
        Ok(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }

    fn section(&mut self) -> Result<Bytes, InputError> {
        let length = self.word()? as usize;
        self.bytes(length)
    }

    /// List whose items take at least `least` bytes each, so that a length bounds what is reserved.
    fn list<T>(
        &mut self,
        least: usize,
        mut item: impl FnMut(&mut Self) -> Result<T, InputError>,
    ) -> Result<Vec<T>, InputError> {
        let at = self.at;
        let count = self.word()? as usize;
        if count > (self.input.len() - self.at) / least {
            return Err(InputError::Truncated {
                at,
                length: self.input.len(),
            });
        }
        let mut list = Vec::with_capacity(count);
        for _ in 0..count {
            list.push(item(self)?);
        }
        Ok(list)
    }
}
