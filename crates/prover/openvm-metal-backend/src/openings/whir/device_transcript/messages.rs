//! Messages that the device observes and samples, one after the other.

use openvm_metal_common::{CommandStream, Grid, MetalBuffer, MetalSlice};

use super::super::tables::{DeviceTables, Partials};
use crate::{
    error::MetalProverError,
    grind::{at_a_time, grind_sponge},
    hash::{HashScheme, MerkleTreeMetal},
    kernels,
    params::{
        TranscriptState, WhirChallengeParams, WhirDrawParams, WhirEvaluateParams,
        WhirExchangeParams,
    },
    prelude::{EF, F},
};

/// Threads of a threadgroup.
const THREADS: usize = 256;
/// Threads of a dispatch that only permutes the sponge.
const SPONGE_THREADS: u32 = 32;
/// Threadgroups that evaluate, at most, and coefficients of one at least, if there are so many.
const MAX_GROUPS: usize = 256;
const MIN_BLOCK: usize = 1 << 10;

/// The sponge on the device, and what it observed and sampled.
///
/// The log has a witness, or zero where no work is asked for, and a challenge for `mu` and behind each `s(1), s(2)` of a variable; for each
/// commitment its root as two elements, the point and the value there. Words that queries are made of are drawn to a buffer of their own.
pub(super) struct DeviceMessages {
    state: MetalBuffer<TranscriptState>,
    log: MetalBuffer<EF>,
    /// Elements of the log so far.
    len: usize,
    /// The smallest witness of each search, or `u32::MAX`.
    best: MetalBuffer<u32>,
    /// Searches so far.
    searches: usize,
    drawn: MetalBuffer<F>,
    /// Words that were drawn so far.
    words: usize,
    /// Among how many candidates a witness of so many bits is searched.
    candidates: fn(usize) -> u32,
}

/// Numbers of elements and words that a transcript provides.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Lengths {
    pub log: usize,
    pub searches: usize,
    pub words: usize,
}

impl DeviceMessages {
    /// Goes on with `sponge`.
    pub fn new(
        s: &CommandStream,
        sponge: TranscriptState,
        lengths: Lengths,
        candidates: fn(usize) -> u32,
    ) -> Result<Self, MetalProverError> {
        Ok(Self {
            state: MetalBuffer::from_host(s, &[sponge])?,
            log: MetalBuffer::uninit(s.context(), lengths.log)?,
            len: 0,
            best: MetalBuffer::from_host(s, &vec![u32::MAX; lengths.searches.max(1)])?,
            searches: 0,
            drawn: MetalBuffer::uninit(s.context(), lengths.words)?,
            words: 0,
            candidates,
        })
    }

    /// Samples a challenge behind `bits` bits of work; its index in the log. One dispatch, one more for the search.
    pub fn challenge(&mut self, s: &CommandStream, bits: usize) -> Result<usize, MetalProverError> {
        let slot = self.search(s, bits)?;
        let params = WhirChallengeParams {
            slot,
            at: self.len as u32,
            work: u32::from(bits > 0),
        };
        let grid = Grid::groups(1, SPONGE_THREADS);
        let (state, log) = (&mut self.state, &mut self.log);
        kernels::whir_challenge(s, grid, &self.best, state, log, &params)?;
        self.len += 2;
        Ok(self.len - 1)
    }

    /// Binds `k` variables of `bits` bits of work each; the index of the first challenge in the log, from which others are 4 apart. A
    /// dispatch for each, two for its message, one more if work is asked for, and one for the last fold.
    pub fn sumcheck(
        &mut self,
        s: &CommandStream,
        tables: &mut DeviceTables,
        k: usize,
        bits: usize,
    ) -> Result<usize, MetalProverError> {
        let first = self.len + 3;
        for _ in 0..k {
            let Partials { sums, groups } = tables.round_sums(s, self.log.slice(..))?;
            self.exchange(s, sums.slice(..), groups, 2, 0)?;
            tables.fold = Some(self.challenge(s, bits)?);
        }
        tables.flush(s, self.log.slice(..))?;
        Ok(first)
    }

    /// Sends a root, samples the point, and sends the value there of the polynomial with these coefficients: three dispatches. The index of
    /// the point in the log.
    pub fn commit<SC: HashScheme>(
        &mut self,
        s: &CommandStream,
        tree: &MerkleTreeMetal<EF, SC>,
        coefficients: &MetalBuffer<EF>,
    ) -> Result<usize, MetalProverError> {
        self.exchange(s, tree.root().cast()?, 1, 2, 1)?;
        let point = self.len - 1;
        let len = coefficients.len();
        let block = MIN_BLOCK.max(len / MAX_GROUPS).min(len);
        let groups = len / block;
        let mut partials = MetalBuffer::uninit(s.context(), groups)?;
        let params = WhirEvaluateParams {
            block: block as u32,
            z: point as u32,
        };
        let grid = Grid::groups(groups as u32, THREADS.min(block) as u32);
        kernels::whir_evaluate(s, grid, coefficients, &self.log, &mut partials, &params)?;
        self.exchange(s, partials.slice(..), groups, 1, 0)?;
        Ok(point)
    }

    /// Draws `count` words behind `bits` bits of work. Where they lie among all: the witness, or zero, and the word that proves the work
    /// come before. One dispatch, one more for the search.
    pub fn draw(
        &mut self,
        s: &CommandStream,
        count: usize,
        bits: usize,
    ) -> Result<usize, MetalProverError> {
        let slot = self.search(s, bits)?;
        let work = usize::from(bits > 0);
        let params = WhirDrawParams {
            slot,
            work: work as u32,
            count: (work + count) as u32,
        };
        let grid = Grid::groups(1, SPONGE_THREADS);
        let (state, drawn) = (&mut self.state, self.drawn.slice_mut(self.words..));
        kernels::whir_draw(s, grid, &self.best, state, drawn, &params)?;
        let first = self.words + 1 + work;
        self.words = first + count;
        Ok(first)
    }

    /// Searches the smallest witness of `bits` bits of work, if there are some; where it goes.
    fn search(&mut self, s: &CommandStream, bits: usize) -> Result<u32, MetalProverError> {
        if bits == 0 {
            return Ok(0);
        }
        let slot = self.searches;
        let (state, best) = (&self.state, &mut self.best);
        let (among, at_a_time) = (
            (self.candidates)(bits),
            at_a_time(s.context().device_profile()),
        );
        grind_sponge(s, state, best, slot, bits, among, at_a_time)?;
        self.searches += 1;
        Ok(slot as u32)
    }

    /// Observes `sums` sums of each of `groups` threadgroups, added up, and samples so many challenges.
    fn exchange(
        &mut self,
        s: &CommandStream,
        partials: MetalSlice<'_, EF>,
        groups: usize,
        sums: usize,
        samples: usize,
    ) -> Result<(), MetalProverError> {
        let params = WhirExchangeParams {
            groups: groups as u32,
            sums: sums as u32,
            samples: samples as u32,
            at: self.len as u32,
        };
        let grid = Grid::groups(1, THREADS as u32);
        let (state, log) = (&mut self.state, &mut self.log);
        kernels::whir_exchange(s, grid, partials, state, log, &params)?;
        self.len += sums + samples;
        Ok(())
    }

    /// Log of all that was observed and sampled.
    pub fn log(&self) -> &MetalBuffer<EF> {
        &self.log
    }
    /// The words that were drawn for queries.
    pub fn drawn(&self) -> &MetalBuffer<F> {
        &self.drawn
    }
}
