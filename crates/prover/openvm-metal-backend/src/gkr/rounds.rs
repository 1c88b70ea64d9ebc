//! The sumcheck of one layer as the host's transcript sees it.

use std::marker::PhantomData;

use openvm_stark_backend::{proof::GkrLayerClaims, FiatShamirTranscript};

use super::round::{inverses, LayerClaim, RoundSums};
use crate::hash::HashScheme;
use crate::prelude::EF;

/// Observes the claims of a layer and samples `mu`, the coordinate that joins them.
pub(super) fn observe_claims<SC: HashScheme, TS: FiatShamirTranscript<SC>>(
    transcript: &mut TS,
    claims: &GkrLayerClaims<SC>,
) -> EF {
    for value in [claims.p_xi_0, claims.q_xi_0, claims.p_xi_1, claims.q_xi_1] {
        transcript.observe_ext(value);
    }
    transcript.sample_ext()
}

/// Observes the polynomial of a round and samples its challenge.
pub(super) fn observe_round<SC: HashScheme, TS: FiatShamirTranscript<SC>>(
    transcript: &mut TS,
    evals: &[EF; 3],
) -> EF {
    for &value in evals {
        transcript.observe_ext(value);
    }
    transcript.sample_ext()
}

/// The sumcheck of one layer.
pub(super) struct Rounds<'a, SC, TS> {
    scheme: PhantomData<SC>,
    transcript: &'a mut TS,
    xi: &'a [EF],
    inverses: Vec<EF>,
    claim: LayerClaim,
    polys: Vec<[EF; 3]>,
    challenges: Vec<EF>,
}

impl<'a, SC: HashScheme, TS: FiatShamirTranscript<SC>> Rounds<'a, SC, TS> {
    pub fn new(transcript: &'a mut TS, xi: &'a [EF], claim: EF) -> Self {
        let (inverses, rounds) = (inverses(xi), xi.len());
        Self {
            scheme: PhantomData,
            transcript,
            xi,
            inverses,
            claim: LayerClaim::new(claim),
            polys: Vec::with_capacity(rounds),
            challenges: Vec::with_capacity(rounds),
        }
    }

    /// The point of the layer, one coordinate per round.
    pub fn xi(&self) -> &'a [EF] {
        self.xi
    }

    /// True if the next round needs its sum at 1 in place of 0.
    pub fn at_one(&self) -> bool {
        LayerClaim::at_one(self.xi[self.polys.len()])
    }

    /// Observes the polynomial of the next round and samples its challenge.
    pub fn next(&mut self, sums: RoundSums) -> EF {
        let i = self.polys.len();
        let poly = self.claim.round(self.xi[i], self.inverses[i], sums);
        let evals = poly.evals();
        let r = observe_round(self.transcript, &evals);
        self.claim = poly.fold(r);
        self.polys.push(evals);
        self.challenges.push(r);
        r
    }

    /// The polynomials and challenges of all rounds.
    pub fn finish(self) -> (Vec<[EF; 3]>, Vec<EF>) {
        (self.polys, self.challenges)
    }
}
