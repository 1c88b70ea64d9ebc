//! The compiler against direct evaluation of random DAGs, and figures for a real AIR.

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
use rand::{rngs::StdRng, Rng, SeedableRng};

use super::{interpret::Value, program::MAX_REGISTERS, *};
use crate::prelude::{Digest, EF, F};

const PREPROCESSED: usize = 3;
const CACHED: usize = 2;
const COMMON: usize = 9;
const PUBLIC: usize = 4;

fn random_ext(rng: &mut StdRng) -> EF {
    let mut x = EF::ZERO;
    for _ in 0..4 {
        x = x * EF::from_u32(0x1234_5677) + EF::from(F::from_u32(rng.random()));
    }
    x * x + EF::from(F::from_u32(rng.random()))
}

/// A DAG of `size` nodes; every operation picks operands near (`reach`) or anywhere.
fn random_key(rng: &mut StdRng, size: usize, reach: usize) -> StarkVerifyingKey<F, Digest> {
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

/// Values of all nodes, in the order of the DAG.
fn direct<V: Value>(
    dag: &SymbolicExpressionDag<F>,
    variable: &dyn Fn(Variable) -> V,
    public_values: &[F],
) -> Vec<V> {
    let mut values: Vec<V> = Vec::new();
    for node in &dag.nodes {
        let column = |part: usize, column: usize, offset: usize| {
            variable(Variable::Column {
                part: part as u32,
                column: column as u32,
                next: offset == 1,
            })
        };
        values.push(match *node {
            Node::Variable(v) => match v.entry {
                Entry::Preprocessed { offset } => column(0, v.index, offset),
                Entry::Main { part_index, offset } => column(part_index + 1, v.index, offset),
                _ => public_values[v.index].into(),
            },
            Node::IsFirstRow => variable(Variable::IsFirstRow),
            Node::IsLastRow => variable(Variable::IsLastRow),
            Node::IsTransition => variable(Variable::IsTransition),
            Node::Constant(c) => c.into(),
            Node::Add {
                left_idx,
                right_idx,
                ..
            } => values[left_idx] + values[right_idx],
            Node::Sub {
                left_idx,
                right_idx,
                ..
            } => values[left_idx] - values[right_idx],
            Node::Mul {
                left_idx,
                right_idx,
                ..
            } => values[left_idx] * values[right_idx],
            Node::Neg { idx, .. } => -values[idx],
        });
    }
    values
}

fn check<V: Value + PartialEq + std::fmt::Debug>(
    rng: &mut StdRng,
    vk: &StarkVerifyingKey<F, Digest>,
    registers: u32,
    random: fn(&mut StdRng) -> V,
) -> bool {
    let programs = AirPrograms::with_registers("test", vk, registers).unwrap();
    let row: Vec<V> = programs.variables.iter().map(|_| random(rng)).collect();
    let public_values: Vec<F> = (0..PUBLIC).map(|_| F::from_u32(rng.random())).collect();
    let uniforms = programs.uniform_values(&public_values);
    let at = |v: Variable| {
        let row_of = programs.variables.iter().position(|&w| w == v);
        row_of.map_or_else(|| V::from(F::ZERO), |i| row[i])
    };
    let dag = &vk.symbolic_constraints;
    let nodes = direct(&dag.constraints, &at, &public_values);
    let fetch = |i: u32| row[i as usize];

    // Constraints, also from sections of blocks.
    let lambdas: Vec<EF> = (0..programs.constraints).map(|_| random_ext(rng)).collect();
    let expected: EF = dag
        .constraints
        .constraint_idx
        .iter()
        .zip(&lambdas)
        .map(|(&idx, &lambda)| lambda * nodes[idx].into())
        .sum();
    for most in [1, 3, 1000] {
        let sections = programs.zerocheck.sections(most);
        assert!(sections.len() <= most);
        let sum: EF = sections
            .into_iter()
            .map(|r| {
                programs
                    .zerocheck
                    .evaluate(r, fetch, &uniforms, &lambdas)
                    .accumulators[0]
            })
            .sum();
        assert_eq!(sum, expected, "{most} sections, {registers} registers");
    }

    // The same as rules, cut and in one piece.
    let rules = programs.rules()[0];
    for (most, statements) in [(1, usize::MAX), (4, 50), (1000, 1)] {
        if rules.is_empty() {
            break;
        }
        let sum = sum_of(rules, statements, most, fetch, &uniforms, &lambdas);
        assert_eq!(sum, [expected, EF::ZERO], "{most} sections of rules");
    }

    // Interactions: batched, and one by one.
    let beta = random_ext(rng);
    let eq: Vec<EF> = programs
        .interactions
        .iter()
        .map(|_| random_ext(rng))
        .collect();
    let coefficients: Vec<EF> = programs
        .logup_coefficients
        .iter()
        .map(|terms| {
            terms
                .iter()
                .map(|t| eq[t.interaction as usize] * beta.exp_u64(t.power as u64))
                .sum()
        })
        .collect();
    let mut expected = [EF::ZERO; 2];
    let mut fractions = Vec::new();
    for (i, (interaction, &eq)) in dag.interactions.iter().zip(&eq).enumerate() {
        let message: EF = interaction
            .message
            .iter()
            .enumerate()
            .map(|(j, &idx)| beta.exp_u64(j as u64) * nodes[idx].into())
            .sum();
        expected[0] += eq * message;
        expected[1] += eq * nodes[interaction.count].into();
        fractions.push((i as u32, nodes[interaction.count], message));
    }
    let len = programs.logup.code.len() as u32;
    let logup = programs
        .logup
        .evaluate(0..len, fetch, &uniforms, &coefficients);
    assert_eq!(logup.accumulators, expected);
    let rules = programs.rules()[1];
    if !rules.is_empty() {
        let sum = sum_of(rules, 50, 3, fetch, &uniforms, &coefficients);
        assert_eq!(sum, expected);
    }
    let ruled = programs.rules().iter().all(|rules| !rules.is_empty());
    let powers: Vec<EF> = beta.powers().take(8).collect();
    let mut emitted = Vec::new();
    for run in programs.leaves.sections(3) {
        emitted.extend(
            programs
                .leaves
                .evaluate(run, fetch, &uniforms, &powers)
                .fractions,
        );
    }
    assert_eq!(emitted, fractions);
    for program in [&programs.zerocheck, &programs.logup, &programs.leaves] {
        assert!(program.registers <= registers);
        for instruction in &program.code {
            assert_eq!(Instruction::decode(instruction.encode()), *instruction);
        }
    }
    ruled
}

/// The accumulators of rules in parts of at most `statements`, each cut into at most `most` sections.
fn sum_of<V: Value>(
    rules: &Rules,
    statements: usize,
    most: usize,
    fetch: impl Fn(u32) -> V + Copy,
    uniforms: &[F],
    coefficients: &[EF],
) -> [EF; 2] {
    let mut sum = [EF::ZERO; 2];
    let mut rows = 0;
    for part in rules.parts(statements) {
        let sections = rules.sections(part, most);
        assert!(sections.len() <= most);
        for section in sections {
            assert!(!section.is_empty());
            rows += section.iter().map(|run| run.rows.len()).sum::<usize>();
            let of = rules.evaluate(&section, fetch, uniforms, coefficients);
            sum = [sum[0] + of[0], sum[1] + of[1]];
        }
    }
    let all: u32 = rules.shapes.iter().map(|shape| shape.rows).sum();
    assert_eq!(rows, all as usize);
    sum
}

#[test]
fn random_dags_evaluate_as_the_dag_itself() {
    let mut rng = StdRng::seed_from_u64(7);
    let mut ruled = 0;
    for case in 0..120 {
        let size = [20, 60, 300, 2000][case % 4];
        let vk = random_key(&mut rng, size, [4, 40, 400][case % 3]);
        let registers = [1, 2, 3, 8, MAX_REGISTERS][case % 5];
        let with_rules = check::<F>(&mut rng, &vk, registers, |rng| F::from_u32(rng.random()));
        check::<EF>(&mut rng, &vk, registers, random_ext);
        ruled += usize::from(with_rules);
    }
    // Where everything is shared by everything there are no rules.
    assert!(ruled > 20, "{ruled} of 120 have rules");
}

#[test]
fn values_beyond_the_registers_are_spilled() {
    let mut rng = StdRng::seed_from_u64(8);
    let vk = random_key(&mut rng, 3000, 3000);
    let programs = AirPrograms::with_registers("test", &vk, 4).unwrap();
    assert!(programs.zerocheck.spills > 0);
    check::<F>(&mut rng, &vk, 4, |rng| F::from_u32(rng.random()));
}

#[test]
fn indices_out_of_range_are_typed_errors() {
    let mut rng = StdRng::seed_from_u64(9);
    let base = random_key(&mut rng, 40, 8);
    let with = |entry: Entry, index: usize| {
        let mut vk = base.clone();
        let nodes = &mut vk.symbolic_constraints.constraints.nodes;
        nodes[0] = Node::Variable(SymbolicVariable::new(entry, index));
        AirPrograms::new("test", &vk).err()
    };
    let air = || "test".to_string();
    assert_eq!(
        with(
            Entry::Main {
                part_index: 1,
                offset: 0
            },
            COMMON
        ),
        Some(ProgramError::ColumnIndex {
            air: air(),
            part: 2,
            column: COMMON,
            width: COMMON
        })
    );
    assert_eq!(
        with(
            Entry::Main {
                part_index: 2,
                offset: 0
            },
            0
        ),
        Some(ProgramError::NoPart {
            air: air(),
            part: 3,
            parts: 3
        })
    );
    assert_eq!(
        with(Entry::Public, PUBLIC),
        Some(ProgramError::PublicValueIndex {
            air: air(),
            index: PUBLIC,
            len: PUBLIC
        })
    );
    assert_eq!(
        with(Entry::Preprocessed { offset: 2 }, 0),
        Some(ProgramError::Offset {
            air: air(),
            offset: 2
        })
    );
    assert_eq!(
        with(Entry::Challenge, 0),
        Some(ProgramError::Challenge { air: air() })
    );
    let mut vk = base.clone();
    vk.symbolic_constraints.interactions[0].count = 40;
    assert!(matches!(
        AirPrograms::new("test", &vk),
        Err(ProgramError::NoNode { node: 40, .. })
    ));
}
