//! Programs that were validated and decoded before.

use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::prepare::Prepared;
use crate::error::Result;
use crate::isa::{Register, Ty};
use crate::program::Program;

/// Most instructions of all programs kept.
const MAX_KEPT: usize = 1 << 21;

/// Prepared programs by content.
#[derive(Default)]
pub(super) struct Cache {
    programs: HashMap<u64, Vec<Arc<Prepared>>>,
    instructions: usize,
    prepared: u64,
}

impl Cache {
    /// The program, validated and decoded now or before.
    ///
    /// Cost of a known one: hashing and comparing its instructions.
    pub fn get(
        &mut self,
        program: &Program,
        initial: &[(Register, Ty, u64)],
    ) -> Result<Arc<Prepared>> {
        let types = || initial.iter().map(|&(register, ty, _)| (register, ty));
        let mut hasher = Mixer(0);
        program.hash(&mut hasher);
        for of in types() {
            of.hash(&mut hasher);
        }
        let hash = hasher.finish();
        let known = self.programs.get(&hash).and_then(|programs| {
            programs
                .iter()
                .find(|p| p.types.iter().copied().eq(types()) && p.program == *program)
        });
        if let Some(known) = known {
            return Ok(known.clone());
        }
        let prepared = Arc::new(Prepared::new(program, types().collect())?);
        self.prepared += 1;
        let len = program.len() + 1;
        if self.instructions + len > MAX_KEPT {
            self.programs.clear();
            self.instructions = 0;
        }
        self.instructions += len;
        let bucket = self.programs.entry(hash).or_default();
        bucket.push(prepared.clone());
        Ok(prepared)
    }

    /// Programs validated and decoded so far.
    pub fn prepared(&self) -> u64 {
        self.prepared
    }
}

/// A quick hash of words; equality is tested besides.
struct Mixer(u64);

impl Mixer {
    #[inline]
    fn mix(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(23) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

impl Hasher for Mixer {
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.mix(u64::from_le_bytes(word));
        }
    }

    fn write_u8(&mut self, i: u8) {
        self.mix(i.into());
    }

    fn write_u32(&mut self, i: u32) {
        self.mix(i.into());
    }

    fn write_u64(&mut self, i: u64) {
        self.mix(i);
    }

    fn write_usize(&mut self, i: usize) {
        self.mix(i as u64);
    }

    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 32)
    }
}
