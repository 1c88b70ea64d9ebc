//! `Unread`: the part of its input that a guest did not read.

use std::fmt;

use openvm_circuit::arch::Streams;
use openvm_sdk::StdIn;

use crate::prelude::F;

/// Bytes of the length that the virtual machine puts before a value, and of a word: values are filled up to whole ones.
const WORD: usize = 4;

/// The part of its input that a guest did not read before it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unread {
    /// Values that were given.
    pub given: usize,
    /// Values at the end of the input that were not asked for.
    pub values: usize,
    /// Bytes of these values.
    pub bytes: usize,
    /// Bytes at the end of the last value that was asked for.
    pub rest: usize,
}

/// Lengths of the values that a guest is given.
pub(crate) struct Given(Vec<usize>);

impl Given {
    /// The lengths of an input.
    pub fn new(input: &StdIn) -> Self {
        Self(input.buffer.iter().map(Vec::len).collect())
    }

    /// Input that is left when the guest has ended; nothing if it read all of it.
    pub fn unread(&self, streams: &Streams<F>) -> Option<Unread> {
        let values = streams.input_stream.len();
        let asked = self.0.len().saturating_sub(values);
        let unread = Unread {
            given: self.0.len(),
            values,
            bytes: self.0[asked..].iter().sum(),
            rest: match asked {
                0 => 0,
                _ => rest(self.0[asked - 1], streams.hint_stream.len()),
            },
        };
        (unread.values > 0 || unread.rest > 0).then_some(unread)
    }
}

/// Bytes of a value of `length` that are among the last `left` bytes of its stream.
fn rest(length: usize, left: usize) -> usize {
    let filled = length.next_multiple_of(WORD);
    // More is left of something else, as random numbers.
    match left > WORD + filled {
        true => 0,
        false => left.saturating_sub(filled - length).min(length),
    }
}

impl fmt::Display for Unread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = |bytes| match bytes {
            1 => "1 byte".to_owned(),
            bytes => format!("{bytes} bytes"),
        };
        if self.values > 0 {
            let (values, given) = (self.values, self.given);
            write!(
                f,
                "the program did not ask for the last {values} of the {given} values of its input ({})",
                bytes(self.bytes)
            )?;
        }
        match (self.values, self.rest) {
            (_, 0) => Ok(()),
            (0, rest) => write!(
                f,
                "the program did not read the last {} of value {} of its input",
                bytes(rest),
                self.given - 1
            ),
            (values, rest) => write!(
                f,
                ", nor read the last {} of value {}",
                bytes(rest),
                self.given - values - 1
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use openvm_stark_backend::p3_field::PrimeCharacteristicRing as _;

    use super::*;

    /// Report for values of these lengths, of which `left` are left, and bytes of the last one that was asked for.
    fn told(lengths: &[usize], values: usize, stream: usize) -> Option<String> {
        let mut stdin = StdIn::default();
        lengths
            .iter()
            .for_each(|&length| stdin.write_bytes(&vec![7; length]));
        let given = Given::new(&stdin);
        let left = stdin.buffer.iter().skip(lengths.len() - values).cloned();
        let mut streams = Streams::new(left.collect::<VecDeque<_>>());
        streams.hint_stream = vec![F::ZERO; stream].into();
        given.unread(&streams).map(|unread| unread.to_string())
    }

    #[test]
    fn unread_values_and_bytes() {
        assert_eq!(told(&[], 0, 0), None);
        assert_eq!(told(&[5, 8], 0, 0), None);
        // Padding is no part of a value, and what is left of random numbers is none.
        assert_eq!(
            told(&[5, 8], 1, 3).expect("a value"),
            "the program did not ask for the last 1 of the 2 values of its input (8 bytes)"
        );
        assert_eq!(told(&[5], 0, 3), None);
        assert_eq!(told(&[5], 0, 100), None);
        assert_eq!(
            told(&[5], 0, 4).expect("a byte"),
            "the program did not read the last 1 byte of value 0 of its input"
        );
        assert_eq!(
            told(&[8], 0, 12).expect("all of it"),
            "the program did not read the last 8 bytes of value 0 of its input"
        );
        assert_eq!(
            told(&[8, 1, 2], 2, 4).expect("both"),
            "the program did not ask for the last 2 of the 3 values of its input (3 bytes), nor read the last 4 bytes of value 0"
        );
    }
}
