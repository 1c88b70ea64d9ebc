//! Bytes that the host prepares for the guest. Every section begins at a multiple of four bytes.
//!
//! The first word is [`MAGIC`], the second the length of the head, these two words included. The head's sections in order: header,
//! uncles, withdrawals; transactions (a key of 64 bytes, bytes); ancestors; codes (length, code, [`CODE_PADDING`] zeros). The trie nodes
//! follow to the end. A list begins with its count, a byte string with its length, one little-endian word each.
//!
//! A guest reads the head at once and the nodes on demand: memory costs again in each segment of the proof that uses it.

use alloc::vec::Vec;
use alloy_primitives::Bytes;
use thiserror::Error;

/// First word of an input; its last byte is the version of the format.
pub const MAGIC: u32 = u32::from_le_bytes(*b"eth\x02");

/// Bytes of the first two words.
pub const START: usize = 8;

/// Zeros after a code: 32 bytes for an immediate that is cut off, a final STOP, and one spare.
pub const CODE_PADDING: usize = 34;

/// Key of a sender: the coordinates of its point, 32 bytes big endian each.
pub type PublicKey = [u8; 64];

/// A fault of an input's form.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum InputError {
    /// The first word is another than [`MAGIC`].
    #[error("the input does not begin with `eth` and version 2: make it with ethereum-host of the same release")]
    Magic,
    /// Head that ends within a section.
    #[error("the head of the input has {length} bytes and ends within the section at byte {at}")]
    Truncated {
        /// Position of the section.
        at: usize,
        /// Length of the head.
        length: usize,
    },
    /// Length of the head that the input does not have.
    #[error("the input states {head} bytes before its trie nodes; it has {length} bytes, and the number must be a multiple of 4 and at least 8")]
    HeadLength {
        /// Length that the input states.
        head: usize,
        /// Length of the input.
        length: usize,
    },
    /// Bytes between the last code and the nodes.
    #[error("the input has {0} unread bytes between its codes and its trie nodes")]
    Trailing(usize),
    /// Code without its zeros.
    #[error("the code at byte {0} of the input is not followed by 34 zeros")]
    Padding(usize),
}

/// Trie nodes of an input. A guest reads them on demand.
pub trait Nodes {
    /// Length of all nodes, in bytes.
    fn length(&self) -> usize;

    /// Makes the bytes below `end` available; `end` is at most the length.
    fn read(&mut self, end: usize);

    /// Prefix of the nodes, at least up to the largest `end` that was read.
    fn bytes(&self) -> &[u8];
}

impl<T: AsRef<[u8]>> Nodes for T {
    fn length(&self) -> usize {
        self.as_ref().len()
    }

    fn read(&mut self, _: usize) {}

    fn bytes(&self) -> &[u8] {
        self.as_ref()
    }
}

/// Code of a contract, followed by zeros.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Code {
    padded: Bytes,
    length: usize,
}

impl Code {
    /// Copies a code, and puts zeros behind it.
    pub fn new(code: &[u8]) -> Self {
        let mut padded = Vec::with_capacity(code.len() + CODE_PADDING);
        padded.extend_from_slice(code);
        padded.resize(code.len() + CODE_PADDING, 0);
        Self {
            padded: padded.into(),
            length: code.len(),
        }
    }

    /// The code without the zeros.
    pub fn code(&self) -> &[u8] {
        &self.padded[..self.length]
    }

    /// Code followed by [`CODE_PADDING`] zeros.
    pub(crate) fn padded(&self) -> &Bytes {
        &self.padded
    }
}

/// Length rounded up to a multiple of four.
pub const fn padded(length: usize) -> usize {
    (length + 3) & !3
}

/// Sections of an input.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Input<N = Bytes> {
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
    pub codes: Vec<Code>,
    /// Root of the state before the block, and the tries' nodes depth first.
    pub nodes: N,
}

/// Length of the head, from the first two words of an input of `length` bytes.
///
/// # Errors
///
/// [`InputError`] for another format, and for a length that the input does not have.
pub fn head_length(start: [u32; 2], length: usize) -> Result<usize, InputError> {
    let [magic, head] = start;
    if magic != MAGIC {
        return Err(InputError::Magic);
    }
    let head = head as usize;
    if head < START || head > length || !head.is_multiple_of(4) {
        return Err(InputError::HeadLength { head, length });
    }
    Ok(head)
}

impl Input {
    /// Reads all sections without copying them.
    ///
    /// # Errors
    ///
    /// [`InputError`] for another format and for lengths that the input does not have.
    pub fn read(input: &Bytes) -> Result<Self, InputError> {
        let mut reader = Reader { input, at: 0 };
        let start = [reader.word()?, reader.word()?];
        let head = head_length(start, input.len())?;
        Self::read_head(&input.slice(..head), input.slice(head..))
    }

    /// Bytes that [`Self::read`] reads.
    pub fn write(&self) -> Vec<u8> {
        let mut out = MAGIC.to_le_bytes().to_vec();
        write_word(&mut out, 0);
        for section in [&self.header, &self.ommers, &self.withdrawals] {
            write_section(&mut out, section);
        }
        write_word(&mut out, self.transactions.len());
        for (key, transaction) in &self.transactions {
            out.extend_from_slice(key);
            write_section(&mut out, transaction);
        }
        write_word(&mut out, self.ancestors.len());
        for ancestor in &self.ancestors {
            write_section(&mut out, ancestor);
        }
        write_word(&mut out, self.codes.len());
        for code in &self.codes {
            write_word(&mut out, code.length);
            out.extend_from_slice(code.code());
            out.resize(padded(out.len() + CODE_PADDING), 0);
        }
        let head = out.len() as u32;
        out[4..START].copy_from_slice(&head.to_le_bytes());
        out.extend_from_slice(&self.nodes);
        out
    }
}

impl<N> Input<N> {
    /// Reads the head's sections without copying them. `head` begins with the two words that [`head_length`] takes, and its length is
    /// [`head_length`]'s.
    ///
    /// # Errors
    ///
    /// [`InputError`] for lengths that the part does not have.
    pub fn read_head(head: &Bytes, nodes: N) -> Result<Self, InputError> {
        let mut reader = Reader {
            input: head,
            at: START,
        };
        let header = reader.section()?;
        let ommers = reader.section()?;
        let withdrawals = reader.section()?;
        let transactions = reader.list(68, |reader| {
            let mut key = [0; 64];
            key.copy_from_slice(&reader.bytes(64)?);
            Ok((key, reader.section()?))
        })?;
        let ancestors = reader.list(4, Reader::section)?;
        let codes = reader.list(4 + CODE_PADDING, Reader::code)?;
        match head.len().saturating_sub(reader.at) {
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
        // The head's length is a multiple of four.
        self.at = padded(self.at + length);
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

    fn code(&mut self) -> Result<Code, InputError> {
        let (length, at) = (self.word()? as usize, self.at);
        let padded = self.bytes(length.saturating_add(CODE_PADDING))?;
        if padded[length..].iter().any(|byte| *byte != 0) {
            return Err(InputError::Padding(at));
        }
        Ok(Code { padded, length })
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
