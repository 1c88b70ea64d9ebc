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

/// From where to where of which program: what a proof of a segment or of a node makes public.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    pub(super) program_commit: Digest,
    pub(super) initial_pc: u32,
    pub(super) final_pc: u32,
    pub(super) exit_code: u32,
    pub(super) terminates: bool,
    pub(super) initial_root: Digest,
    pub(super) final_root: Digest,
}

impl Span {
    /// Of a segment's proof. Nothing if the proof lacks a part of it.
    pub(super) fn of_segment(proof: &Proof<SC>) -> Option<Self> {
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

    /// Of a node's proof. Nothing if the proof lacks a part of it.
    pub(super) fn of_node(proof: &Proof<SC>) -> Option<Self> {
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
    pub(super) fn whole(spans: &[Self]) -> Option<Self> {
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
