//! The opening and the messages sent.

use openvm_metal_common::{CommandStream, MetalBuffer};
use openvm_stark_backend::{proof::WhirProof, WhirConfig};
use openvm_stark_sdk::config::baby_bear_poseidon2::BabyBearPoseidon2Config;

use super::queries::QueryProofs;
use crate::{
    commit::CodeShape,
    error::MetalProverError,
    hash::{HashScheme, MerkleTreeMetal},
    kept_codewords::KeptCodewords,
    matrix::MetalMatrix,
    ntt::rs_encode_ext,
    prelude::{EF, F},
    stacked::StackedRange,
};

pub(super) const PHASE: &str = "openings.whir";

/// One commitment as WHIR sees it.
pub struct WhirCommit<'a, SC: HashScheme = BabyBearPoseidon2Config> {
    /// The cells of the stacked matrix.
    pub ranges: &'a [StackedRange],
    /// The columns.
    pub width: usize,
    /// The tree over its codewords.
    pub tree: &'a MerkleTreeMetal<F, SC>,
    /// Codewords that the tree has.
    pub kept: KeptCodewords,
}

/// An opening and its parameters.
pub(super) struct Opening<'a, SC: HashScheme> {
    pub s: &'a CommandStream,
    pub config: &'a WhirConfig,
    /// Shape of the committed matrices.
    pub shape: CodeShape,
    pub commits: &'a [WhirCommit<'a, SC>],
    /// The point.
    pub u: &'a [EF],
}

impl<SC: HashScheme> Opening<'_, SC> {
    /// Stacked columns of all commitments.
    pub fn total_width(&self) -> usize {
        self.commits.iter().map(|commit| commit.width).sum()
    }
}

/// Messages that the prover has sent, but for openings ([`QueryProofs`]).
pub(super) struct Sent<SC: HashScheme> {
    pub mu_pow_witness: F,
    pub sumcheck_polys: Vec<[EF; 2]>,
    pub codeword_commits: Vec<SC::Digest>,
    pub ood_values: Vec<EF>,
    pub folding_witnesses: Vec<F>,
    pub query_witnesses: Vec<F>,
    pub final_poly: Option<Vec<EF>>,
}

impl<SC: HashScheme> Default for Sent<SC> {
    fn default() -> Self {
        Self {
            mu_pow_witness: F::default(),
            sumcheck_polys: Vec::new(),
            codeword_commits: Vec::new(),
            ood_values: Vec::new(),
            folding_witnesses: Vec::new(),
            query_witnesses: Vec::new(),
            final_poly: None,
        }
    }
}

impl<SC: HashScheme> Sent<SC> {
    pub fn into_proof(
        self,
        opened: QueryProofs<SC::Digest>,
    ) -> Result<WhirProof<SC>, MetalProverError> {
        Ok(WhirProof {
            mu_pow_witness: self.mu_pow_witness,
            whir_sumcheck_polys: self.sumcheck_polys,
            codeword_commits: self.codeword_commits,
            ood_values: self.ood_values,
            folding_pow_witnesses: self.folding_witnesses,
            query_phase_pow_witnesses: self.query_witnesses,
            initial_round_opened_rows: opened.initial_rows,
            initial_round_merkle_proofs: opened.initial_paths,
            codeword_opened_values: opened.codeword_values,
            codeword_merkle_proofs: opened.codeword_paths,
            final_poly: self.final_poly.ok_or_else(|| {
                MetalProverError::Parameters("WHIR needs at least one round".into())
            })?,
        })
    }
}

/// Encodes the message at the beginning of `codeword`, `2^log_len` coefficients, and the tree over it, `2^k` rows per query.
pub(super) fn encode_codeword<SC: HashScheme>(
    s: &CommandStream,
    mut codeword: MetalBuffer<EF>,
    log_len: usize,
    k: usize,
) -> Result<MerkleTreeMetal<EF, SC>, MetalProverError> {
    let log_domain = codeword.len().trailing_zeros() as usize;
    rs_encode_ext(s, &mut codeword, log_len, log_domain - log_len, 1)?;
    let matrix = MetalMatrix::from_buffer(codeword, 1 << log_domain, 1);
    Ok(MerkleTreeMetal::encode(s, matrix, 1 << k)?)
}

pub(super) fn internal(detail: &str) -> MetalProverError {
    MetalProverError::internal(PHASE, detail)
}
