//! Rounds whose challenges the host samples: each is waited for.

use openvm_metal_common::{CommandStream, MemCopyH2D, MetalBuffer};
use openvm_stark_backend::{poly_common::eval_eq_mle, FiatShamirTranscript};
use p3_field::{Field, PrimeCharacteristicRing};

use super::{
    inputs::{RoundInputs, RoundMessages},
    sent::SentRounds,
    MleRounds,
};
use crate::{
    constraints::{
        claims::Interpolation,
        round_poly::{tail_value, RoundPoly},
    },
    error::MetalProverError,
    hash::HashScheme,
    prelude::EF,
};

impl MleRounds {
    /// All rounds.
    pub(super) fn prove_on_host<SC: HashScheme, TS: FiatShamirTranscript<SC>>(
        &mut self,
        s: &CommandStream,
        transcript: &mut TS,
        mut inputs: RoundInputs<'_>,
    ) -> Result<SentRounds, MetalProverError> {
        let (n_max, degree) = (inputs.rounds(), inputs.degree());
        let [mut eq_r, mut eq_sharp_r] = inputs.eq_at_r_0;
        let interpolation = Interpolation::new(degree);
        let mut tails = vec![EF::ZERO; inputs.plan.traces.len()];
        let mut device_challenges = MetalBuffer::uninit(s.context(), n_max.max(1))?;
        let mut polys = Vec::with_capacity(n_max);
        let mut challenges: Vec<EF> = Vec::with_capacity(n_max);
        for round in 1..=n_max {
            self.evaluate(s, &inputs, round)?;
            let values = self.read(s, round)?;
            let xi = inputs.xi[round - 1];
            let inverse = (EF::ONE - xi).inverse();
            let mut poly = RoundPoly::new(degree);
            for (t, (sums, values)) in inputs.sums.iter_mut().zip(&values).enumerate() {
                let (n, programs) = (inputs.plan.traces[t].n_lift, inputs.plan.sums(t));
                let (factors, constant) = (inputs.factors[t], inputs.weights.constants[t]);
                if round <= n {
                    sums.start_round(&interpolation, values, xi, inverse);
                    poly.add_head(programs, sums, factors, constant);
                    continue;
                }
                tails[t] = match challenges.last() {
                    Some(&r) if round > n + 1 => tails[t] * r,
                    _ => tail_value(programs, sums, factors, constant, [eq_r, eq_sharp_r]),
                };
                poly.add_tail(tails[t]);
            }
            let batch_s = poly.finish(xi, eq_r, eq_sharp_r);
            let evals: Vec<EF> = (1..=degree + 1)
                .map(|i| batch_s.eval_at_point(EF::from_usize(i)))
                .collect();
            for &eval in &evals {
                transcript.observe_ext(eval);
            }
            polys.push(evals);
            let r = transcript.sample_ext();
            challenges.push(r);
            [r].copy_to(device_challenges.slice_mut(round - 1..round), s)?;
            self.fold(s, round, device_challenges.slice(..), round - 1)?;
            for (t, sums) in inputs.sums.iter_mut().enumerate() {
                if inputs.plan.traces[t].n_lift >= round {
                    sums.bind(r);
                }
            }
            let factor: EF = eval_eq_mle(&[xi], &[r]);
            eq_r *= factor;
            eq_sharp_r *= factor;
        }
        let messages = RoundMessages { polys, challenges };
        Ok(SentRounds::of_host(messages, device_challenges))
    }
}
