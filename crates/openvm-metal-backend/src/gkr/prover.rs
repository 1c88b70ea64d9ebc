//! The driver of the fractional sumcheck.

use openvm_metal_common::CommandStream;
use openvm_stark_backend::{
    proof::GkrLayerClaims, prover::fractional_sumcheck_gkr::FracSumcheckProof, FiatShamirTranscript,
};
use p3_field::PrimeCharacteristicRing;

use super::device_rounds::DeviceRounds;
use super::host::HostTable;
use super::round::{inverses, LayerClaim, RoundSums};
use super::tree::FracTree;
use super::FracLayer;
use crate::config::MetalProverConfig;
use crate::error::MetalProverError;
use crate::prelude::{EF, SC};

/// Proves the sum of the fractions of `leaves` through the layers of their tree; the transcript sees
/// what the reference's `fractional_sumcheck` shows it.
///
/// Without leaves (no AIR has interactions) the sum is 0/1 and the transcript is left alone. With
/// `assert_zero` the numerator of the sum is not observed.
///
/// Returns the proof and the point `xi` at which the leaves are to be evaluated, one coordinate per
/// variable, the first for bit 0 of the leaf index.
///
/// # Errors
/// [`MetalProverError::InteractionsUnbalanced`] if `assert_zero` and the sum is not zero; errors of the device.
pub fn fractional_sumcheck<TS: FiatShamirTranscript<SC>>(
    s: &CommandStream,
    config: &MetalProverConfig,
    transcript: &mut TS,
    leaves: Option<FracLayer>,
    assert_zero: bool,
) -> Result<(FracSumcheckProof<SC>, Vec<EF>), MetalProverError> {
    let Some(leaves) = leaves else {
        let proof = FracSumcheckProof {
            fractional_sum: (EF::ZERO, EF::ONE),
            claims_per_layer: vec![],
            sumcheck_polys: vec![],
        };
        return Ok((proof, vec![]));
    };
    let _stage = s.stage("fractional_sumcheck");
    // A layer of 2^m fractions starts with tables of 2^(m-1) rows.
    let log_host_rows = config.gkr_host_log_layer.clamp(1, 33) - 1;
    let mut tree = {
        let _stage = s.stage("tree");
        FracTree::build(s, leaves, log_host_rows + 1)?
    };

    let root = tree.host_node(0, 0);
    if !assert_zero {
        transcript.observe_ext(root.0);
    } else if root.0 != EF::ZERO {
        return Err(MetalProverError::InteractionsUnbalanced);
    }
    transcript.observe_ext(root.1);

    let (zero, one) = (tree.host_node(1, 0), tree.host_node(1, 1));
    let mut claims = GkrLayerClaims::<SC> {
        p_xi_0: zero.0,
        q_xi_0: zero.1,
        p_xi_1: one.0,
        q_xi_1: one.1,
    };
    let mut xi = vec![observe_claims(transcript, &claims)];
    let mut claims_per_layer = vec![claims.clone()];
    let mut sumcheck_polys = Vec::new();

    let mut device = DeviceRounds::new(s, tree.log_len())?;
    for m in 2..=tree.log_len() {
        let lambda = transcript.sample_ext();
        let mu = xi[0];
        let p = claims.p_xi_0 + mu * (claims.p_xi_1 - claims.p_xi_0);
        let q = claims.q_xi_0 + mu * (claims.q_xi_1 - claims.q_xi_0);
        let mut rounds = Rounds::new(transcript, &xi, p + lambda * q);
        let mut table = match tree.host_layer(m) {
            Some((p, q)) => {
                let table = HostTable::from_nodes(p, q, lambda, &xi);
                s.count_host_work("gkr: rounds of small tables", table.rows());
                table
            }
            None => device.prove(s, &mut tree, m, lambda, &mut rounds, log_host_rows)?,
        };
        while table.rows() > 1 {
            let r = rounds.next(table.sums(rounds.at_one()));
            table.fold(r);
        }
        let [a, b, c, d] = table.row();
        let (polys, rho) = (rounds.polys, rounds.challenges);
        claims = GkrLayerClaims::<SC> {
            p_xi_0: a - lambda * d,
            q_xi_0: d,
            p_xi_1: c,
            q_xi_1: b,
        };
        let mu = observe_claims(transcript, &claims);
        xi = std::iter::once(mu).chain(rho).collect();
        claims_per_layer.push(claims.clone());
        sumcheck_polys.push(polys);
    }
    Ok((
        FracSumcheckProof {
            fractional_sum: root,
            claims_per_layer,
            sumcheck_polys,
        },
        xi,
    ))
}

/// Observes the claims of a layer and samples `mu`, the coordinate that joins them.
fn observe_claims<TS: FiatShamirTranscript<SC>>(
    transcript: &mut TS,
    claims: &GkrLayerClaims<SC>,
) -> EF {
    for value in [claims.p_xi_0, claims.q_xi_0, claims.p_xi_1, claims.q_xi_1] {
        transcript.observe_ext(value);
    }
    transcript.sample_ext()
}

/// The sumcheck of one layer as the transcript sees it.
pub(super) struct Rounds<'a, TS> {
    transcript: &'a mut TS,
    xi: &'a [EF],
    inverses: Vec<EF>,
    claim: LayerClaim,
    polys: Vec<[EF; 3]>,
    challenges: Vec<EF>,
}

impl<'a, TS: FiatShamirTranscript<SC>> Rounds<'a, TS> {
    fn new(transcript: &'a mut TS, xi: &'a [EF], claim: EF) -> Self {
        let (inverses, rounds) = (inverses(xi), xi.len());
        Self {
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

    /// Whether the next round needs its sum at 1 in place of 0.
    pub fn at_one(&self) -> bool {
        LayerClaim::at_one(self.xi[self.polys.len()])
    }

    /// Observes the polynomial of the next round and samples its challenge.
    pub fn next(&mut self, sums: RoundSums) -> EF {
        let i = self.polys.len();
        let poly = self.claim.round(self.xi[i], self.inverses[i], sums);
        let evals = poly.evals();
        for value in evals {
            self.transcript.observe_ext(value);
        }
        let r = self.transcript.sample_ext();
        self.claim = poly.fold(r);
        self.polys.push(evals);
        self.challenges.push(r);
        r
    }
}
