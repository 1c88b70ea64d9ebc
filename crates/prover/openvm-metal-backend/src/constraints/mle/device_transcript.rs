//! Rounds whose challenges the device samples: none is waited for, the host reads them all at the end.
//!
//! The log of the device has a section for each round: the values of its polynomial at `1, .., degree + 1`, then its challenge.

use openvm_metal_common::{CommandStream, Grid, MetalBuffer};
use p3_field::{batch_multiplicative_inverse, Field, PrimeCharacteristicRing};

use super::{
    inputs::{RoundInputs, RoundMessages},
    sent::SentRounds,
    MleRounds,
};
use crate::{
    constraints::sums::JOIN_THREADS,
    error::MetalProverError,
    kernels,
    params::{ConstraintClaim, ConstraintFinishParams, TranscriptState},
    prelude::{EF, F},
    programs::SumKind,
};

/// The highest degree of a sum that `constraint_finish_round` takes.
pub const MOST_DEGREE: usize = 7;
/// Threads of the threadgroups that end a round.
const THREADS: u32 = 256;
/// Elements of the working memory before the claims: eq, eq_sharp, tail.
const BEFORE_CLAIMS: usize = 3;

/// The claims of all traces, as the device has them.
#[derive(Default)]
struct Claims {
    about: Vec<ConstraintClaim>,
    /// Their values before the first round.
    values: Vec<EF>,
    /// Trace, program and accumulator of each slot, unless it is a trace's constant terms.
    of: Vec<(usize, Option<[usize; 2]>)>,
}

impl Claims {
    fn new(inputs: &RoundInputs<'_>) -> Self {
        let mut claims = Self::default();
        for (t, trace) in inputs.plan.traces.iter().enumerate() {
            let [zerocheck, numerator, denominator] = inputs.factors[t];
            let mut add = |factor, degree: usize, logup: bool, value, of| {
                claims.about.push(ConstraintClaim {
                    factor,
                    degree: degree as u32,
                    variables: trace.n_lift as u32,
                    logup: logup.into(),
                    unused: 0,
                });
                claims.values.push(value);
                claims.of.push((t, of));
            };
            let programs = inputs.plan.sums(t).iter().zip(inputs.sums[t].claims());
            for (k, (sum, claim)) in programs.enumerate() {
                let logup = sum.kind == SumKind::Logup;
                let first = if logup { denominator } else { zerocheck };
                for (accumulator, factor) in [first, numerator].into_iter().enumerate() {
                    if accumulator < sum.accumulators as usize {
                        let of = Some([k, accumulator]);
                        add(factor, sum.degree, logup, claim[accumulator], of);
                    }
                }
            }
            add(denominator, 0, true, inputs.weights.constants[t], None);
        }
        claims
    }

    fn len(&self) -> usize {
        self.about.len()
    }
}

impl MleRounds {
    /// Encodes all rounds; the device's transcript begins as `sponge`. Sums have a degree of at most [`MOST_DEGREE`].
    pub(super) fn prove_on_device(
        &mut self,
        s: &CommandStream,
        sponge: TranscriptState,
        inputs: &RoundInputs<'_>,
    ) -> Result<SentRounds, MetalProverError> {
        let (n_max, degree) = (inputs.rounds(), inputs.degree());
        if n_max == 0 {
            let none = MetalBuffer::uninit(s.context(), 1)?;
            return Ok(SentRounds::of_host(RoundMessages::default(), none));
        }
        let section = degree + 2;
        let inverse_factorials = inverse_factorials();
        let claims = Claims::new(inputs);
        let (firsts, parts) = (self.firsts_of_claims(&claims), self.parts_of_sums());
        let mut values = inputs.eq_at_r_0.to_vec();
        values.push(EF::ZERO);
        values.extend(&claims.values);
        debug_assert_eq!(values.len(), BEFORE_CLAIMS + claims.len());
        let mut device = Device {
            about: MetalBuffer::from_host(s, &claims.about)?,
            firsts: MetalBuffer::from_host(s, &firsts)?,
            parts: MetalBuffer::from_host(s, &parts.table)?,
            work: MetalBuffer::from_host(s, &values)?,
            state: MetalBuffer::from_host(s, &[sponge])?,
            log: MetalBuffer::uninit(s.context(), section * n_max)?,
            joined: MetalBuffer::uninit(s.context(), parts.most.max(1))?,
        };
        let left: Vec<EF> = inputs.xi.iter().map(|&xi| EF::ONE - xi).collect();
        let inverses = batch_multiplicative_inverse(&left[..n_max]);
        for round in 1..=n_max {
            self.evaluate(s, inputs, round)?;
            let at = section * (round - 1);
            let params = ConstraintFinishParams {
                xi: inputs.xi[round - 1],
                inverse: inverses[round - 1],
                inverse_factorials,
                claims: claims.len() as u32,
                round: round as u32,
                degree: degree as u32,
                at: at as u32,
            };
            self.finish_round(s, &mut device, &parts, &params)?;
            self.fold(s, round, device.log.slice(..), at + degree + 1)?;
        }
        Ok(SentRounds::of_device(device.log, section))
    }

    /// For each round and claim the slot of its first value; any where it has none.
    fn firsts_of_claims(&self, claims: &Claims) -> Vec<u32> {
        let first = |slots: &Vec<Vec<super::Slots>>, &(t, of): &(usize, Option<[usize; 2]>)| {
            let found = of.and_then(|[k, accumulator]| Some(&slots[t].get(k)?[accumulator]));
            found.map_or(0, |range| range.start as u32)
        };
        let of_round = |slots| claims.of.iter().map(move |of| first(slots, of));
        self.slots.iter().flat_map(of_round).collect()
    }

    /// The parts of the sums of all rounds.
    fn parts_of_sums(&self) -> Parts {
        let mut parts = Parts::default();
        for round in 1..=self.slots.len() {
            let firsts = self.sums.firsts(round - 1, self.num_slots(round));
            let slots = firsts.len() - 1;
            let joined = firsts.last().is_some_and(|&end| end as usize > slots);
            parts
                .rounds
                .push(joined.then_some((parts.table.len(), slots)));
            if joined {
                parts.most = parts.most.max(slots);
                parts.table.extend(firsts);
            }
        }
        parts
    }

    /// Joins the parts of the sums of a round, if they have several, and ends it.
    fn finish_round(
        &self,
        s: &CommandStream,
        device: &mut Device,
        parts: &Parts,
        params: &ConstraintFinishParams,
    ) -> Result<(), MetalProverError> {
        let pass = params.round as usize - 1;
        let sums = self.sums.of(pass);
        let claims = params.claims as usize;
        let firsts = device.firsts.slice(claims * pass..claims * (pass + 1));
        if let Some((first, slots)) = parts.rounds[pass] {
            let grid = Grid::groups(slots as u32, JOIN_THREADS);
            let elements = sums.len() as u64;
            let table = device.parts.slice(first..first + slots + 1);
            let joined = device.joined.slice_mut(..slots);
            // SAFETY: the table rises from 0 to the number of sums of the pass (`Sums::firsts`).
            unsafe { kernels::constraint_join_sums(s, grid, table, sums, joined, elements)? };
        }
        let values = match parts.rounds[pass] {
            Some((_, slots)) => device.joined.slice(..slots),
            None => sums,
        };
        // SAFETY: the values of a claim with a variable left are the slots of its sum from the one in `firsts` on, as many as its degree,
        // and `values` has all slots of the round, each once.
        unsafe {
            kernels::constraint_finish_round(
                s,
                Grid::groups(1, THREADS),
                &device.about,
                firsts,
                values,
                &mut device.work,
                &mut device.state,
                &mut device.log,
                params,
            )?;
        }
        Ok(())
    }
}

/// Tables by which sums of several parts are joined.
#[derive(Default)]
struct Parts {
    /// First part of each slot of each such round, and their number.
    table: Vec<u32>,
    /// Place of each round's entries and number of its slots, if one of them has several parts.
    rounds: Vec<Option<(usize, usize)>>,
    /// Most slots of such a round.
    most: usize,
}

/// Device memory of the rounds.
struct Device {
    about: MetalBuffer<ConstraintClaim>,
    firsts: MetalBuffer<u32>,
    parts: MetalBuffer<u32>,
    /// eq, eq_sharp, tail, then the claims.
    work: MetalBuffer<EF>,
    state: MetalBuffer<TranscriptState>,
    log: MetalBuffer<EF>,
    joined: MetalBuffer<EF>,
}

/// `1 / k!` for `k` up to [`MOST_DEGREE`].
fn inverse_factorials() -> [F; MOST_DEGREE + 1] {
    let mut factorial = F::ONE;
    std::array::from_fn(|k| {
        factorial *= F::from_usize(k.max(1));
        factorial.inverse()
    })
}
