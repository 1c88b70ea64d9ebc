//! `NodeCheck`: whether a proof is that of a node over given proofs.

use std::borrow::Borrow;

use openvm_stark_backend::{
    keygen::types::MultiStarkVerifyingKey, p3_field::PrimeCharacteristicRing, proof::Proof,
};
use openvm_verify_stark_host::{
    pvs::{VerifierBasePvs, VkCommit, VERIFIER_PVS_AIR_ID},
    vk::VerificationBaseline,
};

use crate::{
    parallel_verification::accepts,
    prelude::{F, SC},
    span::{Span, LACKS},
};

/// Verifies proofs of one node with OpenVM's verifier, on the host.
///
/// A valid proof of another node is refused too: of another part of the execution, or over proofs of other keys.
pub(crate) struct NodeCheck<'a> {
    /// The key of its proofs.
    pub vk: &'a MultiStarkVerifyingKey<SC>,
    /// The keys of the proofs below it.
    pub baseline: &'a VerificationBaseline,
    /// From 1 on.
    pub level: usize,
    /// The span of the proofs below it.
    pub whole: Span,
}

impl NodeCheck<'_> {
    /// Verifies a proof of the node. Gives its span, which is that of the proofs below it.
    ///
    /// # Errors
    /// The first difference, in words.
    pub fn check(&self, proof: &Proof<SC>) -> Result<Span, String> {
        accepts(self.vk, proof)?;
        let values = proof.public_values.get(VERIFIER_PVS_AIR_ID);
        if !has_keys_below(self.baseline, self.level, values) {
            return Err("what it verifies was made with other keys".into());
        }
        match Span::of_node(proof) {
            Some(span) if span == self.whole => Ok(span),
            Some(_) => Err("it is of another part of the execution".into()),
            None => Err(LACKS.into()),
        }
    }
}

/// The span of the proofs below a node of `level`. Nothing if one lacks public values of its circuit, or two do not join.
pub(super) fn span_below(level: usize, below: &[Proof<SC>]) -> Option<Span> {
    let span = match level {
        1 => Span::of_segment,
        _ => Span::of_node,
    };
    let spans: Option<Vec<Span>> = below.iter().map(span).collect();
    Span::whole(&spans?)
}

/// True if a node's public values name these keys for the proofs below it: its own verifying key does
/// not fix them.
fn has_keys_below(expected: &VerificationBaseline, level: usize, values: Option<&Vec<F>>) -> bool {
    let Some(values) = values.and_then(|v| v.get(..size_of::<VerifierBasePvs<u8>>())) else {
        return false;
    };
    let found: &VerifierBasePvs<F> = values.borrow();
    let same = |from: usize, a: &VkCommit<F>, b: &VkCommit<F>| level < from || a == b;
    found.internal_flag == F::from_usize((level - 1).min(2))
        && same(1, &found.app_vk_commit, &expected.app_vk_commit)
        && same(2, &found.leaf_vk_commit, &expected.leaf_vk_commit)
        && same(
            3,
            &found.internal_for_leaf_vk_commit,
            &expected.internal_for_leaf_vk_commit,
        )
        && same(
            4,
            &found.internal_recursive_vk_commit,
            &expected.internal_recursive_vk_commit,
        )
}

#[cfg(test)]
mod tests {
    use openvm_circuit::system::memory::dimensions::MemoryDimensions;

    use super::*;
    use crate::prelude::Digest;

    /// Words of a commitment to a verifying key, and where they stand among the public values.
    const WORDS: usize = size_of::<VkCommit<u8>>();
    const COMMITS: [usize; 4] = [
        std::mem::offset_of!(VerifierBasePvs<u8>, app_vk_commit),
        std::mem::offset_of!(VerifierBasePvs<u8>, leaf_vk_commit),
        std::mem::offset_of!(VerifierBasePvs<u8>, internal_for_leaf_vk_commit),
        std::mem::offset_of!(VerifierBasePvs<u8>, internal_recursive_vk_commit),
    ];

    /// A baseline of four different keys, and the public values of a node of `level` above them.
    fn node(level: usize) -> (VerificationBaseline, Vec<F>) {
        let flag = (level - 1).min(2);
        let count = size_of::<VerifierBasePvs<u8>>();
        let mut values: Vec<F> = (100..).take(count).map(F::from_usize).collect();
        values[0] = F::from_usize(flag);
        let found: &VerifierBasePvs<F> = values.as_slice().borrow();
        let baseline = VerificationBaseline {
            app_exe_commit: Digest::default(),
            memory_dimensions: MemoryDimensions {
                addr_space_height: 1,
                address_height: 1,
            },
            num_user_pvs: 0,
            app_vk_commit: found.app_vk_commit,
            leaf_vk_commit: found.leaf_vk_commit,
            internal_for_leaf_vk_commit: found.internal_for_leaf_vk_commit,
            internal_recursive_vk_commit: found.internal_recursive_vk_commit,
            expected_def_hook_commit: None,
        };
        (baseline, values)
    }

    /// Every word of every key below a node is compared, and its layer.
    #[test]
    fn a_node_names_the_keys_below_it() {
        for level in 1..=6 {
            let (baseline, values) = node(level);
            assert!(has_keys_below(&baseline, level, Some(&values)), "{level}");
            let changed = |at: usize| {
                let mut values = values.clone();
                values[at] += F::ONE;
                has_keys_below(&baseline, level, Some(&values))
            };
            assert!(!changed(0), "the layer of a node of level {level}");
            for (key, start) in COMMITS.into_iter().enumerate() {
                for at in start..start + WORDS {
                    assert_eq!(changed(at), level <= key, "level {level}, key {key}");
                }
            }
            let short = values[..values.len() - 1].to_vec();
            assert!(!has_keys_below(&baseline, level, Some(&short)), "{level}");
            assert!(!has_keys_below(&baseline, level, None), "{level}");
        }
    }
}
