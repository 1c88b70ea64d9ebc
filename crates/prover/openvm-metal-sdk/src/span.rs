//! `Span`: the part of an execution that a proof is about.

use std::borrow::Borrow;

use openvm_circuit::{
    arch::{CONNECTOR_AIR_ID, MERKLE_AIR_ID, PROGRAM_AIR_ID, PROGRAM_CACHED_TRACE_INDEX},
    system::{
        connector::VmConnectorPvs,
        memory::{merkle::MemoryMerklePvs, CHUNK},
    },
};
use openvm_stark_backend::{p3_field::PrimeField32, proof::Proof};
use openvm_verify_stark_host::pvs::{VmPvs, VM_PVS_AIR_ID};

use crate::prelude::{Digest, F, SC};

/// Errors of reading a span.
pub(crate) const LACKS: &str = "it lacks public values of its circuit";

/// From where to where of which program: what a proof of a segment or of a node makes public.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    pub(crate) program_commit: Digest,
    pub(crate) initial_pc: u32,
    pub(crate) final_pc: u32,
    pub(crate) exit_code: u32,
    pub(crate) terminates: bool,
    pub(crate) initial_root: Digest,
    pub(crate) final_root: Digest,
}

impl Span {
    /// Span of a segment's proof; `None` if the proof lacks a part of it.
    pub(crate) fn of_segment(proof: &Proof<SC>) -> Option<Self> {
        let values = |air: usize| proof.public_values.get(air).map(Vec::as_slice);
        let program = proof.trace_vdata.get(PROGRAM_AIR_ID)?.as_ref()?;
        let connector = values(CONNECTOR_AIR_ID)?;
        let memory = values(MERKLE_AIR_ID)?;
        if connector.len() != size_of::<VmConnectorPvs<u8>>()
            || memory.len() != size_of::<MemoryMerklePvs<u8, CHUNK>>()
        {
            return None;
        }
        let connector: &VmConnectorPvs<F> = connector.borrow();
        let memory: &MemoryMerklePvs<F, CHUNK> = memory.borrow();
        Some(Self {
            program_commit: *program.cached_commitments.get(PROGRAM_CACHED_TRACE_INDEX)?,
            initial_pc: connector.initial_pc.as_canonical_u32(),
            final_pc: connector.final_pc.as_canonical_u32(),
            exit_code: connector.exit_code.as_canonical_u32(),
            terminates: connector.is_terminate.as_canonical_u32() != 0,
            initial_root: memory.initial_root,
            final_root: memory.final_root,
        })
    }

    /// Span of a node's proof; `None` if the proof lacks a part of it.
    pub(crate) fn of_node(proof: &Proof<SC>) -> Option<Self> {
        let values = proof.public_values.get(VM_PVS_AIR_ID)?;
        if values.len() != size_of::<VmPvs<u8>>() {
            return None;
        }
        let values: &VmPvs<F> = values.as_slice().borrow();
        Some(Self {
            program_commit: values.program_commit,
            initial_pc: values.initial_pc.as_canonical_u32(),
            final_pc: values.final_pc.as_canonical_u32(),
            exit_code: values.exit_code.as_canonical_u32(),
            terminates: values.is_terminate.as_canonical_u32() != 0,
            initial_root: values.initial_root,
            final_root: values.final_root,
        })
    }

    /// True if `next` begins where this span ends.
    pub fn joins(&self, next: &Self) -> bool {
        self.program_commit == next.program_commit
            && self.final_pc == next.initial_pc
            && self.final_root == next.initial_root
            && !self.terminates
    }

    /// Spans in a row as one. Nothing if there is none, or two do not join.
    pub(crate) fn whole(spans: &[Self]) -> Option<Self> {
        let (first, last) = (spans.first()?, spans.last()?);
        spans
            .windows(2)
            .all(|pair| pair[0].joins(&pair[1]))
            .then_some(Self {
                program_commit: first.program_commit,
                initial_pc: first.initial_pc,
                initial_root: first.initial_root,
                ..*last
            })
    }
}

#[cfg(test)]
mod tests {
    use openvm_stark_backend::p3_field::PrimeCharacteristicRing;

    use super::*;

    /// Number `index` of three segments in a row, of which the last terminates.
    fn span(index: u32) -> Span {
        let root = |index: u32| [F::from_u32(index); 8];
        Span {
            program_commit: root(7),
            initial_pc: 100 * index,
            final_pc: 100 * index + 100,
            exit_code: 0,
            terminates: index == 2,
            initial_root: root(index),
            final_root: root(index + 1),
        }
    }

    #[test]
    fn spans_join_where_one_begins_as_the_other_ends() {
        let (first, second) = (span(0), span(1));
        assert!(first.joins(&second) && second.joins(&span(2)));
        assert!(!second.joins(&first) && !first.joins(&span(2)));
        let changes: [fn(&mut Span); 3] = [
            |next| next.program_commit[3] += F::ONE,
            |next| next.initial_pc += 4,
            |next| next.initial_root[5] += F::ONE,
        ];
        for (number, change) in changes.into_iter().enumerate() {
            let mut next = second;
            change(&mut next);
            assert!(!first.joins(&next), "change {number}");
        }
    }

    /// Nothing follows the end of the program, even what begins exactly there.
    #[test]
    fn no_span_joins_after_the_end() {
        let last = span(2);
        let mut after = span(3);
        assert!(!last.joins(&after));
        assert_eq!(Span::whole(&[last, after]), None);
        after.terminates = true;
        assert_eq!(Span::whole(&[last, after]), None);
    }

    #[test]
    fn spans_in_a_row_are_one() {
        let all = [span(0), span(1), span(2)];
        let whole = Span::whole(&all).expect("three in a row");
        let ends = Span {
            initial_pc: 0,
            initial_root: all[0].initial_root,
            ..all[2]
        };
        assert_eq!(whole, ends);
        assert_eq!(Span::whole(&all[1..2]), Some(all[1]));
        assert_eq!(Span::whole(&[]), None);
        assert_eq!(Span::whole(&[all[0], all[2]]), None, "one is missing");
        assert_eq!(Span::whole(&[all[1], all[0]]), None, "another order");
        assert_eq!(Span::whole(&[all[0], all[1], all[1]]), None, "one is twice");
    }
}
