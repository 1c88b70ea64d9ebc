//! The weights of constraints and interactions in the batch sumcheck.

use openvm_metal_common::{
    CommandStream, Grid, MemCopyH2D, MetalBuffer, MetalError, MetalSlice, MetalSliceMut,
};
use p3_field::PrimeCharacteristicRing;

use super::{
    leaves::norm_factor,
    logup::{LogupGkr, LogupPlan},
    plan::Plan,
    sums::JOIN_THREADS,
};
use crate::{
    error::MetalProverError,
    hash::HashScheme,
    kernels,
    params::{ConstraintPlace, ConstraintWeightTerm},
    prelude::{EF, F},
    tensor::powers,
};

/// Plan of the weights of interactions, from the shapes.
#[derive(Default)]
pub struct WeightsPlan {
    /// Places of the interactions of all traces.
    places: Vec<ConstraintPlace>,
    /// For each coefficient of the LogUp programs of all traces, then for each trace's sum of its denominators' constant terms.
    terms: Vec<ConstraintWeightTerm>,
    /// The first term of each, and the number of all.
    firsts: Vec<u32>,
    /// Factor of each trace's counts by lifting.
    norms: Vec<F>,
}

/// The plan on the device.
pub struct DeviceWeights {
    places: MetalBuffer<ConstraintPlace>,
    terms: MetalBuffer<ConstraintWeightTerm>,
    firsts: MetalBuffer<u32>,
    norms: Vec<F>,
}

/// Weights that the device computes.
pub struct SentWeights {
    /// Powers of lambda, then the coefficients of the LogUp programs of each trace, where the plan of each trace says, then the constants.
    pub coefficients: MetalBuffer<EF>,
    norms: Vec<F>,
}

/// Factors of the results of all traces' programs, and the operations on the sums afterwards.
pub struct Weights {
    /// See [`SentWeights::coefficients`].
    pub coefficients: MetalBuffer<EF>,
    /// For each trace the sum of the denominators' constant terms, which programs leave out.
    pub constants: Vec<EF>,
    /// For each trace what lifting multiplies its counts by.
    pub norms: Vec<F>,
}

impl WeightsPlan {
    /// Plans the weights of all traces.
    pub fn new(plan: &Plan, logup: &LogupPlan) -> Self {
        let l_skip = plan.input.l_skip;
        let programs = |t: usize| plan.input.traces[t].air_data.programs();
        let mut weights = Self::default();
        let mut constants = Vec::new();
        for (t, trace) in plan.traces.iter().enumerate() {
            let (of_trace, first) = (programs(t), weights.places.len() as u32);
            let from = l_skip + trace.n_lift;
            for i in 0..of_trace.interactions.len() {
                weights.places.push(ConstraintPlace {
                    place: (logup.row(t, i) >> from) as u32,
                    first: from as u32,
                    bits: (logup.log_len(l_skip) - from) as u32,
                });
            }
            let term = |interaction: u32, power: u32, factor| ConstraintWeightTerm {
                interaction: first + interaction,
                power,
                factor,
            };
            for terms in &of_trace.logup_coefficients {
                let terms = terms.iter();
                weights.push(terms.map(|of| term(of.interaction, of.power, F::ONE)));
            }
            let interactions = (0..).zip(&of_trace.interactions);
            let constant = interactions.map(|(i, &(bus, len))| term(i, len, F::from_u32(bus + 1)));
            constants.push(constant.collect::<Vec<_>>());
            weights.norms.push(norm_factor(l_skip, trace.log_height));
        }
        for constant in constants {
            weights.push(constant.into_iter());
        }
        weights.firsts.push(weights.terms.len() as u32);
        weights
    }

    fn push(&mut self, terms: impl Iterator<Item = ConstraintWeightTerm>) {
        self.firsts.push(self.terms.len() as u32);
        self.terms.extend(terms);
    }

    /// Uploads it: three copies.
    pub fn upload(self, s: &CommandStream) -> Result<DeviceWeights, MetalError> {
        Ok(DeviceWeights {
            places: MetalBuffer::from_host(s, &self.places)?,
            terms: MetalBuffer::from_host(s, &self.terms)?,
            firsts: MetalBuffer::from_host(s, &self.firsts)?,
            norms: self.norms,
        })
    }
}

impl DeviceWeights {
    /// Encodes the weights at the point `xi`, which begins with the coordinates of the skip variables: two dispatches, none without
    /// interactions.
    pub fn encode<SC: HashScheme>(
        self,
        s: &CommandStream,
        plan: &Plan,
        logup: &LogupGkr<SC>,
        xi: MetalSlice<'_, EF>,
        lambda: EF,
    ) -> Result<SentWeights, MetalProverError> {
        let (powers_len, entries) = (plan.lambda_powers, self.firsts.len() - 1);
        let mut coefficients = MetalBuffer::uninit(s.context(), powers_len + entries)?;
        let (of_lambda, out) = coefficients.split_at_mut(powers_len);
        powers(lambda, powers_len).copy_to(of_lambda, s)?;
        self.of_interactions(s, xi, &logup.beta_powers, logup.n_logup, out)?;
        Ok(SentWeights {
            coefficients,
            norms: self.norms,
        })
    }

    fn of_interactions(
        &self,
        s: &CommandStream,
        xi: MetalSlice<'_, EF>,
        beta_powers: &[EF],
        bits: usize,
        mut out: MetalSliceMut<'_, EF>,
    ) -> Result<(), MetalProverError> {
        if self.terms.is_empty() {
            return Ok(out.fill_zero(s)?);
        }
        let interactions = self.places.len();
        let mut weights = MetalBuffer::uninit(s.context(), interactions)?;
        let (grid, to) = (Grid::threads(interactions), &mut weights);
        let count = interactions as u32;
        // SAFETY: the places are of the stacked layout over `xi`, at most its variables after the skip.
        unsafe {
            kernels::constraint_place_weights(s, grid, &self.places, xi, to, &count, bits as u64)?;
        }
        let beta_powers = MetalBuffer::from_host(s, beta_powers)?;
        let grid = Grid::groups(self.firsts.len() as u32 - 1, JOIN_THREADS);
        let elements = self.terms.len() as u64;
        // SAFETY: the firsts rise to the number of terms; these name interactions of `places`, and powers up to the longest message's.
        unsafe {
            kernels::constraint_logup_weights(
                s,
                grid,
                &self.firsts,
                &self.terms,
                &weights,
                &beta_powers,
                out,
                elements,
            )?;
        }
        Ok(())
    }
}

impl SentWeights {
    /// The constants, to be read.
    pub fn constants(&self) -> MetalSlice<'_, EF> {
        self.coefficients
            .slice(self.coefficients.len() - self.norms.len()..)
    }

    /// With the constants.
    pub fn finish(self, constants: Vec<EF>) -> Weights {
        Weights {
            coefficients: self.coefficients,
            constants,
            norms: self.norms,
        }
    }
}

#[cfg(test)]
mod tests {
    use openvm_metal_common::Device;
    use p3_field::{BasedVectorSpace, PrimeField32};

    use super::*;
    use crate::{constraints::tests::stream_on, selftest::random::CheckRng};

    /// Random places and terms, one weight past 2^16 too, against sums on the host.
    #[test]
    fn weights_of_random_interactions() {
        let mut rng = CheckRng::new(17);
        let mut below = |n: u32| rng.below(n as usize) as u32;
        for device in [Device::Cpu, Device::cpu_conformance()] {
            let s = stream_on(device);
            for (interactions, entries) in [(1, 1), (3, 2), (100, 777), (1000, (1 << 16) + 1)] {
                let mut elements = |n: usize| -> Vec<EF> {
                    let mut word = |_| F::from_u32(below(F::ORDER_U32));
                    (0..n)
                        .map(|_| EF::from_basis_coefficients_fn(&mut word))
                        .collect()
                };
                let (xi, beta_powers) = (elements(20), elements(7));
                let places: Vec<ConstraintPlace> = (0..interactions)
                    .map(|_| {
                        let bits = below(17);
                        ConstraintPlace {
                            place: below(1 << bits),
                            first: below(21 - bits),
                            bits,
                        }
                    })
                    .collect();
                let mut plan = WeightsPlan {
                    places,
                    ..WeightsPlan::default()
                };
                for _ in 0..entries {
                    let terms = below(4);
                    let terms: Vec<_> = (0..terms)
                        .map(|_| ConstraintWeightTerm {
                            interaction: below(interactions),
                            power: below(7),
                            factor: F::from_u32(below(1 << 20)),
                        })
                        .collect();
                    plan.push(terms.into_iter());
                }
                plan.firsts.push(plan.terms.len() as u32);

                let eq = |at: &ConstraintPlace| -> EF {
                    let factors = (0..at.bits).map(|k| {
                        let x = xi[(at.first + k) as usize];
                        match at.place >> k & 1 {
                            0 => EF::ONE - x,
                            _ => x,
                        }
                    });
                    factors.product()
                };
                let eq: Vec<EF> = plan.places.iter().map(eq).collect();
                let sum = |range: &[u32]| -> EF {
                    let terms = plan.terms[range[0] as usize..range[1] as usize].iter();
                    let values = terms.map(|term| {
                        eq[term.interaction as usize]
                            * beta_powers[term.power as usize]
                            * term.factor
                    });
                    values.sum()
                };
                let expected: Vec<EF> = plan.firsts.windows(2).map(sum).collect();

                let xi = MetalBuffer::from_host(&s, &xi).unwrap();
                let mut out = MetalBuffer::uninit(s.context(), entries).unwrap();
                let device = plan.upload(&s).unwrap();
                device
                    .of_interactions(&s, xi.slice(..), &beta_powers, 16, out.as_slice_mut())
                    .unwrap();
                assert!(
                    out.to_host(&s).unwrap() == expected,
                    "{interactions} {entries}"
                );
            }
        }
    }
}
