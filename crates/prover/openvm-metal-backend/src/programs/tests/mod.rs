//! The compiler against direct evaluation of random DAGs, and figures for a real AIR.

mod degrees;
mod random_key;
mod repeats;

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
};

use openvm_stark_backend::{
    air_builders::symbolic::{
        symbolic_variable::{Entry, SymbolicVariable},
        SymbolicExpressionDag, SymbolicExpressionNode as Node,
    },
    keygen::types::StarkVerifyingKey,
};
use p3_field::PrimeCharacteristicRing;
use rand::{rngs::StdRng, Rng, SeedableRng};

use self::random_key::{random_key, COMMON, PUBLIC};
use super::{
    interpret::Value,
    program::{Sink, MAX_REGISTERS},
    *,
};
use crate::prelude::{Digest, EF, F};

fn random_ext(rng: &mut StdRng) -> EF {
    let mut x = EF::ZERO;
    for _ in 0..4 {
        x = x * EF::from_u32(0x1234_5677) + EF::from(F::from_u32(rng.random()));
    }
    x * x + EF::from(F::from_u32(rng.random()))
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

    // Constraints, also from sections of blocks; those that are linear are left out.
    let lambdas: Vec<EF> = (0..programs.constraints).map(|_| random_ext(rng)).collect();
    let evaluated = evaluated_constraints(rng, &programs, &dag.constraints);
    let expected: EF = evaluated
        .iter()
        .map(|&k| lambdas[k] * nodes[dag.constraints.constraint_idx[k]].into())
        .sum();
    for most in [1, 3, 1000] {
        let sum = sums_of(
            &programs,
            SumKind::Zerocheck,
            most,
            fetch,
            &uniforms,
            &lambdas,
        );
        assert_eq!(
            sum,
            [expected, EF::ZERO],
            "{most} sections, {registers} registers"
        );
    }

    // The same as rules, cut and in one piece.
    for (most, statements) in [(1, usize::MAX), (4, 50), (1000, 1)] {
        for sum in of_kind(&programs, SumKind::Zerocheck) {
            if sum.rules.is_empty() {
                continue;
            }
            let expected = run(&sum.program, 1, fetch, &uniforms, &lambdas);
            let sum = sum_of(&sum.rules, statements, most, fetch, &uniforms, &lambdas);
            assert_eq!(sum, expected, "{most} sections of rules");
        }
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
    let logup = sums_of(
        &programs,
        SumKind::Logup,
        1,
        fetch,
        &uniforms,
        &coefficients,
    );
    assert_eq!(logup, expected);
    for sum in of_kind(&programs, SumKind::Logup) {
        if !sum.rules.is_empty() {
            let expected = run(&sum.program, 1, fetch, &uniforms, &coefficients);
            let sum = sum_of(&sum.rules, 50, 3, fetch, &uniforms, &coefficients);
            assert_eq!(sum, expected);
        }
    }
    let ruled = programs.rules().all(|rules| !rules.is_empty());
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
    for program in programs.all() {
        assert!(program.registers <= registers);
        for instruction in &program.code {
            assert_eq!(Instruction::decode(instruction.encode()), *instruction);
        }
    }
    ruled
}

fn of_kind(programs: &AirPrograms, kind: SumKind) -> impl Iterator<Item = &SumProgram> {
    programs.sums.iter().filter(move |sum| sum.kind == kind)
}

/// The accumulators of a program that is cut into at most `most` sections.
fn run<V: Value>(
    program: &Program,
    most: usize,
    fetch: impl Fn(u32) -> V + Copy,
    uniforms: &[F],
    coefficients: &[EF],
) -> [EF; 2] {
    let sections = program.sections(most);
    assert!(sections.len() <= most);
    let mut sum = [EF::ZERO; 2];
    for section in sections {
        let of = program.evaluate(section, fetch, uniforms, coefficients);
        sum = [sum[0] + of.accumulators[0], sum[1] + of.accumulators[1]];
    }
    sum
}

/// The accumulators of all programs of a kind.
fn sums_of<V: Value>(
    programs: &AirPrograms,
    kind: SumKind,
    most: usize,
    fetch: impl Fn(u32) -> V + Copy,
    uniforms: &[F],
    coefficients: &[EF],
) -> [EF; 2] {
    let of = |sum: &SumProgram| run(&sum.program, most, fetch, uniforms, coefficients);
    of_kind(programs, kind)
        .map(of)
        .fold([EF::ZERO; 2], |sum, of| [sum[0] + of[0], sum[1] + of[1]])
}

/// The constraints that programs evaluate. Those that they leave out are linear: `f(x) + f(y) = f(x + y) + f(0)`.
fn evaluated_constraints(
    rng: &mut StdRng,
    programs: &AirPrograms,
    dag: &SymbolicExpressionDag<F>,
) -> BTreeSet<usize> {
    let code = of_kind(programs, SumKind::Zerocheck).flat_map(|sum| &sum.program.code);
    let sinks = code.filter_map(|instruction| match instruction.sink {
        Sink::Accumulate0(k) => Some(k as usize),
        _ => None,
    });
    let evaluated: BTreeSet<usize> = sinks.collect();
    let rows = RefCell::new(BTreeMap::new());
    let rng = RefCell::new(rng);
    let values = |of: fn([F; 2]) -> F| {
        let random = || F::from_u32(rng.borrow_mut().random());
        let at = |v: Variable| {
            of(*rows
                .borrow_mut()
                .entry(v)
                .or_insert_with(|| [random(), random()]))
        };
        direct(dag, &at, &[F::TWO; PUBLIC])
    };
    let (x, y) = (values(|row| row[0]), values(|row| row[1]));
    let (sum, zero) = (values(|row| row[0] + row[1]), values(|_| F::ZERO));
    for (k, &idx) in dag.constraint_idx.iter().enumerate() {
        if !evaluated.contains(&k) {
            assert_eq!(x[idx] + y[idx], sum[idx] + zero[idx], "constraint {k}");
        }
    }
    evaluated
}

/// The accumulators of rules in groups of at most `statements`, each cut into at most `most` sections.
fn sum_of<V: Value>(
    rules: &Rules,
    statements: usize,
    most: usize,
    fetch: impl Fn(u32) -> V + Copy,
    uniforms: &[F],
    coefficients: &[EF],
) -> [EF; 2] {
    let mut sum = [EF::ZERO; 2];
    let mut uses = 0;
    for group in rules.kernel_groups(statements) {
        let sections = rules.sections(group, most);
        assert!(sections.len() <= most);
        for section in sections {
            assert!(!section.is_empty());
            uses += section.iter().map(|range| range.uses.len()).sum::<usize>();
            let of = rules.evaluate(&section, fetch, uniforms, coefficients);
            sum = [sum[0] + of[0], sum[1] + of[1]];
        }
    }
    let all: u32 = rules.list.iter().map(|rule| rule.uses).sum();
    assert_eq!(uses, all as usize);
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
    assert!(programs.all().any(|program| program.spills > 0));
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
