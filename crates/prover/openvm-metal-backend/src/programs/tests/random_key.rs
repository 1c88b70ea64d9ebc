//! Keys with random constraints and interactions.

use openvm_stark_backend::{
    air_builders::symbolic::{
        symbolic_variable::{Entry, SymbolicVariable},
        SymbolicConstraintsDag, SymbolicExpressionDag, SymbolicExpressionNode as Node,
    },
    interaction::Interaction,
    keygen::types::{
        StarkVerifyingKey, StarkVerifyingParams, TraceWidth, VerifierSinglePreprocessedData,
    },
};
use p3_field::PrimeCharacteristicRing;
use rand::{rngs::StdRng, Rng};

use crate::prelude::{Digest, F};

pub const PREPROCESSED: usize = 3;
pub const CACHED: usize = 2;
pub const COMMON: usize = 9;
pub const PUBLIC: usize = 4;

/// A DAG of `size` nodes; every operation picks operands near (`reach`) or anywhere.
pub fn random_key(rng: &mut StdRng, size: usize, reach: usize) -> StarkVerifyingKey<F, Digest> {
    let mut nodes = Vec::new();
    for i in 0..size {
        let mut pick = |i: usize| {
            let low = if rng.random_bool(0.8) {
                i.saturating_sub(reach)
            } else {
                0
            };
            rng.random_range(low..i)
        };
        let node = if i < 4 {
            0
        } else {
            [0, 4, 4, 5, 5, 6, 6, 6, 7][i % 9]
        };
        let degree_multiple = 1;
        let node = match node {
            4 => Node::Add {
                left_idx: pick(i),
                right_idx: pick(i),
                degree_multiple,
            },
            5 => Node::Sub {
                left_idx: pick(i),
                right_idx: pick(i),
                degree_multiple,
            },
            6 => Node::Mul {
                left_idx: pick(i),
                right_idx: pick(i),
                degree_multiple,
            },
            7 => Node::Neg {
                idx: pick(i),
                degree_multiple,
            },
            _ => {
                let offset = rng.random_range(0..2);
                let (entry, width) = match rng.random_range(0..9) {
                    0 => (Entry::Public, PUBLIC),
                    1 => (Entry::Preprocessed { offset }, PREPROCESSED),
                    2 => (
                        Entry::Main {
                            part_index: 0,
                            offset,
                        },
                        CACHED,
                    ),
                    3..6 => (
                        Entry::Main {
                            part_index: 1,
                            offset,
                        },
                        COMMON,
                    ),
                    6 => (Entry::Challenge, 0),
                    7 => (Entry::Challenge, 1),
                    _ => (Entry::Challenge, 2),
                };
                match (entry, width) {
                    (Entry::Challenge, 0) => Node::IsFirstRow,
                    (Entry::Challenge, 1) => [Node::IsLastRow, Node::IsTransition][i % 2].clone(),
                    (Entry::Challenge, _) => {
                        let c = [
                            F::ZERO,
                            F::ONE,
                            F::NEG_ONE,
                            F::TWO,
                            F::from_u32(rng.random()),
                        ];
                        Node::Constant(c[rng.random_range(0..5)])
                    }
                    _ => Node::Variable(SymbolicVariable::new(entry, rng.random_range(0..width))),
                }
            }
        };
        nodes.push(node);
    }
    let mut constraint_idx: Vec<usize> = (0..size / 5).map(|_| rng.random_range(0..size)).collect();
    constraint_idx.sort_unstable();
    constraint_idx.dedup();
    let interactions = (0..size / 16)
        .map(|_| Interaction {
            message: (0..rng.random_range(1..6))
                .map(|_| rng.random_range(0..size))
                .collect(),
            count: rng.random_range(0..size),
            bus_index: rng.random(),
            count_weight: 1,
        })
        .collect();
    StarkVerifyingKey {
        preprocessed_data: Some(VerifierSinglePreprocessedData {
            commit: Default::default(),
            hypercube_dim: 0,
            stacking_width: 1,
        }),
        params: StarkVerifyingParams {
            width: TraceWidth {
                preprocessed: Some(PREPROCESSED),
                cached_mains: vec![CACHED],
                common_main: COMMON,
            },
            num_public_values: PUBLIC,
            need_rot: true,
        },
        symbolic_constraints: SymbolicConstraintsDag {
            constraints: SymbolicExpressionDag {
                nodes,
                constraint_idx,
            },
            interactions,
        },
        max_constraint_degree: 3,
        is_required: false,
        unused_variables: vec![],
    }
}
