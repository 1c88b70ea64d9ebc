//! One node of the tree, proved from the proofs below it.

use std::sync::Mutex;

use openvm_stark_backend::{keygen::types::MultiStarkVerifyingKey, proof::Proof};

use super::{
    layer::Below,
    shape::{layer_name, RECURSIVE},
    AggregationKeys,
};
use crate::{
    engine::SdkEngine,
    error::{SdkError, Stage},
    prelude::SC,
};

impl<E: SdkEngine> AggregationKeys<E> {
    /// Proves node `index` of `level`, from 1 on, over the proofs `below`. `device` is held while the proof is made, not while
    /// its traces are.
    pub(crate) fn prove_node(
        &self,
        level: usize,
        index: usize,
        below: &[Proof<SC>],
        device: &Mutex<()>,
    ) -> Result<Proof<SC>, SdkError> {
        let stage = Stage::Aggregate {
            layer: layer_name(level),
            node: index,
        };
        match level {
            1 => self.leaf.node(below, Below::App, device, &stage),
            2 => self
                .internal_for_leaf
                .node(below, Below::Layer, device, &stage),
            RECURSIVE => self
                .internal_recursive
                .node(below, Below::Layer, device, &stage),
            _ => self
                .internal_recursive
                .node(below, Below::Own, device, &stage),
        }
    }

    /// What verifies a node of `level`, from 1 on.
    pub(crate) fn node_vk(&self, level: usize) -> &MultiStarkVerifyingKey<SC> {
        match level {
            1 => self.leaf.vk(),
            2 => self.internal_for_leaf.vk(),
            _ => self.internal_recursive.vk(),
        }
    }
}
