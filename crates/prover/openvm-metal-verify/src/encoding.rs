//! Proofs in the encoding of OpenVM's backend: their lengths are compared with their bytes first.
//!
//! OpenVM's decoder bounds what it takes before it has read something, but lists of nothing need no bytes: a
//! length of 2^32 of them takes 100 GB.

use std::io;

use openvm_stark_backend::{codec::Decode, proof::Proof};

use crate::prelude::SC;

/// Most AIRs of a circuit, commitments, and other lists of which a proof has one bit or nothing for each. OpenVM's
/// bounds on security assume 100 AIRs.
const MAX_COUNT: usize = 1 << 16;

/// Most variables that are folded in a round: more than the rows of any trace have.
const MAX_FOLDED: usize = 30;

/// Bytes of an element of the field, of its extension, and of a digest.
const BASE: usize = 4;
const EXTENSION: usize = 16;
const DIGEST: usize = 32;

/// Decodes the proof of a circuit.
///
/// # Errors
/// Bytes that are not the encoding of a proof.
pub fn decode_proof(bytes: &[u8]) -> io::Result<Proof<SC>> {
    check_lengths(bytes)?;
    Proof::decode_from_bytes(bytes)
}

/// Checks the lengths in a proof at the beginning of bytes.
///
/// # Errors
/// Lengths that need more bytes than there are.
pub fn check_lengths(bytes: &[u8]) -> io::Result<()> {
    let mut rest = Rest(bytes);
    rest.proof().ok_or_else(|| {
        io::Error::new(
            io::ErrorKind::InvalidData,
            "it is cut off, or has lengths that no proof has",
        )
    })
}

/// The bytes that are not looked at yet.
struct Rest<'a>(&'a [u8]);

impl Rest<'_> {
    /// A number, which is at most `most`.
    fn number(&mut self, most: usize) -> Option<usize> {
        let (number, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        let number = u32::from_le_bytes(*number) as usize;
        (number <= most).then_some(number)
    }

    fn skip(&mut self, count: usize, bytes: usize) -> Option<()> {
        self.0 = self.0.get(count.checked_mul(bytes)?..)?;
        Some(())
    }

    /// A list behind its length, which is returned.
    fn list(&mut self, bytes: usize) -> Option<usize> {
        let count = self.number(usize::MAX)?;
        self.skip(count, bytes)?;
        Some(count)
    }

    fn lists(&mut self, bytes: usize) -> Option<()> {
        let count = self.number(usize::MAX)?;
        (0..count).try_for_each(|_| self.list(bytes).map(drop))
    }

    fn proof(&mut self) -> Option<()> {
        // The version of the encoding, and the commitment.
        self.skip(1, 4 + DIGEST)?;
        let airs = self.number(MAX_COUNT)?;
        let bitmap = self.0;
        self.skip(airs.div_ceil(8), 1)?;
        for air in 0..airs {
            if bitmap[air / 8] >> (air % 8) & 1 == 1 {
                self.number(usize::MAX)?;
                self.list(DIGEST)?;
            }
        }
        // Public values.
        self.lists(BASE)?;
        self.gkr()?;
        self.batch_constraints()?;
        self.stacking()?;
        self.whir()
    }

    fn gkr(&mut self) -> Option<()> {
        self.skip(1, BASE + EXTENSION)?;
        let layers = self.list(4 * EXTENSION)?;
        let polynomials = layers.checked_mul(layers.saturating_sub(1))? / 2;
        self.skip(polynomials, 3 * EXTENSION)
    }

    fn batch_constraints(&mut self) -> Option<()> {
        let airs = self.list(EXTENSION)?;
        self.skip(airs, EXTENSION)?;
        self.list(EXTENSION)?;
        let rounds = self.number(usize::MAX)?;
        if rounds > 0 {
            let coefficients = self.number(usize::MAX)?;
            if coefficients == 0 {
                return None;
            }
            self.skip(rounds, coefficients.checked_mul(EXTENSION)?)?;
        }
        (0..airs).try_for_each(|_| self.lists(EXTENSION))
    }

    fn stacking(&mut self) -> Option<()> {
        self.list(EXTENSION)?;
        self.list(2 * EXTENSION)?;
        self.lists(EXTENSION)
    }

    fn whir(&mut self) -> Option<()> {
        self.skip(1, BASE)?;
        let polynomials = self.list(2 * EXTENSION)?;
        let rounds = self.list(DIGEST)? + 1;
        let folded = polynomials / rounds;
        if folded > MAX_FOLDED {
            return None;
        }
        // Values out of the domain, and witnesses of work.
        self.skip(rounds - 1, EXTENSION)?;
        self.skip(polynomials, BASE)?;
        self.skip(rounds, BASE)?;
        let commitments = self.number(MAX_COUNT)?;
        let queries = self.number(usize::MAX)?;
        if queries == 0 {
            return Some(());
        }
        // The depth of the first trees.
        self.number(usize::MAX)?;
        let mut elements = 0usize;
        for _ in 0..commitments {
            let width = self.number(usize::MAX)?;
            if width == 0 {
                return None;
            }
            elements = elements.checked_add(width)?;
        }
        let rows = queries.checked_mul(1 << folded)?;
        self.skip(elements.checked_mul(rows)?, BASE)
        // Each of the lists that follow has as many bytes as its length, or the length of one above.
    }
}
