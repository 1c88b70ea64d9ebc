//! The driver of the fractional sumcheck.

use openvm_metal_common::CommandStream;
use openvm_stark_backend::{
    proof::GkrLayerClaims, prover::fractional_sumcheck_gkr::FracSumcheckProof, FiatShamirTranscript,
};
use p3_field::PrimeCharacteristicRing;

use super::device_rounds::DeviceRounds;
use super::device_transcript::{send_layers, LEAST_HOST_LOG_LAYER};
use super::host::HostTable;
use super::host_transcript::prove_on_device;
use super::rounds::{observe_claims, Rounds};
use super::sizes::LOG_TAIL_ROWS;
use super::tree::FracTree;
use super::FracLayer;
use crate::config::MetalProverConfig;
use crate::error::MetalProverError;
use crate::hash::HashScheme;
use crate::prelude::EF;
use crate::transcript::sponge_for_device;

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
pub fn fractional_sumcheck<SC: HashScheme, TS: FiatShamirTranscript<SC> + 'static>(
    s: &CommandStream,
    config: &MetalProverConfig,
    transcript: &mut TS,
    leaves: Option<FracLayer>,
    assert_zero: bool,
) -> Result<(FracSumcheckProof<SC>, Vec<EF>), MetalProverError> {
    let nothing = || Ok(());
    let proved = fractional_sumcheck_beside(s, config, transcript, leaves, assert_zero, nothing);
    proved.map(|(proof, xi, ())| (proof, xi))
}

/// Does the work of [`fractional_sumcheck`]. `meanwhile` encodes the device's next work: when the memory of the layers is free, and on the device's
/// transcript before the host's goes through the messages.
pub(crate) fn fractional_sumcheck_beside<
    SC: HashScheme,
    TS: FiatShamirTranscript<SC> + 'static,
    A,
>(
    s: &CommandStream,
    config: &MetalProverConfig,
    transcript: &mut TS,
    leaves: Option<FracLayer>,
    assert_zero: bool,
    meanwhile: impl FnOnce() -> Result<A, MetalProverError>,
) -> Result<(FracSumcheckProof<SC>, Vec<EF>, A), MetalProverError> {
    let Some(leaves) = leaves else {
        let proof = FracSumcheckProof {
            fractional_sum: (EF::ZERO, EF::ONE),
            claims_per_layer: vec![],
            sumcheck_polys: vec![],
        };
        return Ok((proof, vec![], meanwhile()?));
    };
    let _stage = s.stage("fractional_sumcheck");
    let tree = build_tree(s, config, transcript, leaves)?;

    let root = tree.host_node(0, 0);
    if !assert_zero {
        transcript.observe_ext(root.0);
    } else if root.0 != EF::ZERO {
        return Err(MetalProverError::InteractionsUnbalanced);
    }
    transcript.observe_ext(root.1);

    let (zero, one) = (tree.host_node(1, 0), tree.host_node(1, 1));
    let claims = GkrLayerClaims::<SC> {
        p_xi_0: zero.0,
        q_xi_0: zero.1,
        p_xi_1: one.0,
        q_xi_1: one.1,
    };
    let mu = observe_claims(transcript, &claims);
    let mut claims_per_layer = vec![claims.clone()];
    let above = (claims, vec![mu]);
    let (layers, meanwhile) = prove_layers_below(s, config, tree, transcript, above, meanwhile)?;
    claims_per_layer.extend(layers.claims);
    let proof = FracSumcheckProof {
        fractional_sum: root,
        claims_per_layer,
        sumcheck_polys: layers.polys,
    };
    Ok((proof, layers.xi, meanwhile))
}

/// The tree of all layers, with what the rounds of a layer need.
fn build_tree<SC: HashScheme, TS: FiatShamirTranscript<SC> + 'static>(
    s: &CommandStream,
    config: &MetalProverConfig,
    transcript: &TS,
    leaves: FracLayer,
) -> Result<FracTree, MetalProverError> {
    let _stage = s.stage("tree");
    // On the device's transcript the tables of all layers are finished there, in slots that go on below those of the tree.
    let below = match sponge_for_device(s, config, transcript) {
        Some(_) => LOG_TAIL_ROWS + 1,
        None => usize::MAX,
    };
    FracTree::build(s, leaves, log_host(s, config, transcript), below)
}

/// Layers of at most `2^log_host` fractions are on the host.
fn log_host<SC: HashScheme, TS: FiatShamirTranscript<SC> + 'static>(
    s: &CommandStream,
    config: &MetalProverConfig,
    transcript: &TS,
) -> usize {
    let least = match sponge_for_device(s, config, transcript) {
        Some(_) => LEAST_HOST_LOG_LAYER,
        None => 1,
    };
    config.gkr_host_log_layer.clamp(least, 33)
}

/// The messages of several layers.
struct Layers<SC: HashScheme> {
    claims: Vec<GkrLayerClaims<SC>>,
    polys: Vec<Vec<[EF; 3]>>,
    /// The point that the last of them leaves.
    xi: Vec<EF>,
}

/// Proves the layers below the one that left `claims` at the point `xi`: the first of them is layer `xi.len() + 1`.
fn prove_layers_below<SC: HashScheme, TS: FiatShamirTranscript<SC> + 'static, A>(
    s: &CommandStream,
    config: &MetalProverConfig,
    mut tree: FracTree,
    transcript: &mut TS,
    (mut claims, xi): (GkrLayerClaims<SC>, Vec<EF>),
    meanwhile: impl FnOnce() -> Result<A, MetalProverError>,
) -> Result<(Layers<SC>, A), MetalProverError> {
    let log_host = log_host(s, config, transcript);
    let mut device = DeviceRounds::new(s, tree.log_len())?;
    let mut proved = Layers {
        claims: Vec::new(),
        polys: Vec::new(),
        xi,
    };
    for m in proved.xi.len() + 1..=tree.log_len() {
        let host_layer = tree.host_layer(m);
        let sponge = sponge_for_device(s, config, transcript);
        if let (None, Some(sponge)) = (host_layer, sponge) {
            let above = (&claims, &proved.xi[..]);
            let sent = send_layers(s, (device, tree), sponge, m, above)?;
            let (layers, meanwhile) = sent.read(s, transcript, meanwhile)?;
            for layer in layers {
                proved.polys.push(layer.polys);
                proved.claims.push(layer.claims);
                proved.xi = layer.xi;
            }
            return Ok((proved, meanwhile));
        }
        let lambda = transcript.sample_ext();
        let xi = &proved.xi;
        let mu = xi[0];
        let p = claims.p_xi_0 + mu * (claims.p_xi_1 - claims.p_xi_0);
        let q = claims.q_xi_0 + mu * (claims.q_xi_1 - claims.q_xi_0);
        let mut rounds = Rounds::new(transcript, xi, p + lambda * q);
        let mut table = match host_layer {
            Some((p, q)) => {
                let table = HostTable::from_nodes(p, q, lambda, xi);
                s.count_host_work("gkr: rounds of small tables", table.rows());
                table
            }
            // A layer of 2^m fractions starts with tables of 2^(m-1) rows.
            None => prove_on_device(
                s,
                &mut device,
                &mut tree,
                m,
                lambda,
                &mut rounds,
                log_host - 1,
            )?,
        };
        while table.rows() > 1 {
            let r = rounds.next(table.sums(rounds.at_one()));
            table.fold(r);
        }
        let [a, b, c, d] = table.row();
        let (polys, rho) = rounds.finish();
        claims = GkrLayerClaims::<SC> {
            p_xi_0: a - lambda * d,
            q_xi_0: d,
            p_xi_1: c,
            q_xi_1: b,
        };
        let mu = observe_claims(transcript, &claims);
        proved.xi = std::iter::once(mu).chain(rho).collect();
        proved.claims.push(claims.clone());
        proved.polys.push(polys);
    }
    drop((device, tree));
    Ok((proved, meanwhile()?))
}

/// For checks: the messages of all layers below the one that left the claims at `xi`, and the last point. The claims
/// need not be true.
pub(crate) fn layer_messages<SC: HashScheme, TS: FiatShamirTranscript<SC> + 'static>(
    s: &CommandStream,
    config: &MetalProverConfig,
    transcript: &mut TS,
    leaves: FracLayer,
    [p_xi_0, q_xi_0, p_xi_1, q_xi_1]: [EF; 4],
    xi: Vec<EF>,
) -> Result<Vec<EF>, MetalProverError> {
    let claims = GkrLayerClaims::<SC> {
        p_xi_0,
        q_xi_0,
        p_xi_1,
        q_xi_1,
    };
    let tree = build_tree(s, config, transcript, leaves)?;
    let above = (claims, xi);
    let (layers, ()) = prove_layers_below(s, config, tree, transcript, above, || Ok(()))?;
    let mut messages = layers.polys.concat().concat();
    for claims in layers.claims {
        messages.extend([claims.p_xi_0, claims.q_xi_0, claims.p_xi_1, claims.q_xi_1]);
    }
    messages.extend(layers.xi);
    Ok(messages)
}
