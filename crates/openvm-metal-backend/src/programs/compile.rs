//! The programs of one AIR over shared variables and uniforms.

use std::{
    collections::{BTreeSet, HashMap},
    iter,
};

use openvm_stark_backend::keygen::types::StarkVerifyingKey;

use super::{
    allocate::allocate,
    error::ProgramError,
    graph::{AirShape, Graph, Node, Uniform, Variable},
    program::{Program, MAX_REGISTERS},
    roots::{LogupTerm, Roots},
    rules::Rules,
    select::{reach, select, Marks, Root},
};
use crate::prelude::{Digest, F};

/// Largest index of a sink (constraints, coefficients, interactions).
const MAX_SINKS: usize = 1 << 24;
/// Largest number of variables and uniforms.
const MAX_OPERANDS: usize = 1 << 28;
/// Operations a block aims for at first.
const BLOCK_OPERATIONS: usize = 96;

/// The compiled constraints and interactions of one AIR.
#[derive(Clone, Debug)]
pub struct AirPrograms {
    /// The columns of the arena. Those that interactions use come first.
    pub variables: Vec<Variable>,
    /// How many variables interactions use.
    pub logup_variables: usize,
    /// The uniform table.
    pub uniforms: Vec<Uniform>,
    /// Accumulator 0: `sum_k lambda^k C_k`; coefficient `k` is `lambda^k`.
    pub zerocheck: Program,
    /// Accumulator 1: `sum_i eq_3b[i] count_i`; accumulator 0: `sum_i eq_3b[i] sum_j beta^j m_ij`.
    pub logup: Program,
    /// What each coefficient of `logup` is made of.
    pub logup_coefficients: Vec<Vec<LogupTerm>>,
    /// `zerocheck` and `logup` as rules.
    zerocheck_rules: Rules,
    logup_rules: Rules,
    /// Emits each interaction in turn; coefficient `j` is `beta^j`.
    pub leaves: Program,
    /// Number of constraints.
    pub constraints: usize,
    /// Per interaction: bus index and message length.
    pub interactions: Vec<(u32, u32)>,
    /// Largest degree of a constraint or interaction.
    pub degree: usize,
    /// True if some variable is of the next row; openings then come in pairs.
    pub need_rot: bool,
    /// Columns of each part: preprocessed (if any), cached, common main.
    pub part_widths: Vec<usize>,
    /// True if part 0 is preprocessed.
    pub has_preprocessed: bool,
    /// Number of public values.
    pub public_values: usize,
}

impl AirPrograms {
    /// Compiles the constraints and interactions of a key. `air` names the AIR in errors.
    pub fn new(air: &str, vk: &StarkVerifyingKey<F, Digest>) -> Result<Self, ProgramError> {
        Self::with_registers(air, vk, MAX_REGISTERS)
    }

    /// As [`new`](Self::new) with fewer registers.
    pub fn with_registers(
        air: &str,
        vk: &StarkVerifyingKey<F, Digest>,
        registers: u32,
    ) -> Result<Self, ProgramError> {
        let width = &vk.params.width;
        let has_preprocessed = width.preprocessed.is_some();
        let part_widths: Vec<usize> = width
            .preprocessed
            .iter()
            .chain(&width.cached_mains)
            .chain(iter::once(&width.common_main))
            .copied()
            .collect();
        let shape = AirShape {
            air,
            has_preprocessed,
            part_widths: &part_widths,
            public_values: vk.params.num_public_values,
        };
        let symbolic = &vk.symbolic_constraints;
        let mut graph = Graph::new(&symbolic.constraints, &shape)?;
        let roots = Roots::new(&mut graph, air, symbolic)?;
        let logup_variables = variables(&graph, &roots.logup);
        let mut all = logup_variables.clone();
        let known: BTreeSet<Variable> = all.iter().copied().collect();
        all.extend(
            variables(&graph, &roots.zerocheck)
                .into_iter()
                .filter(|v| !known.contains(v)),
        );
        check_sizes(air, &graph, &roots, all.len())?;
        let columns: HashMap<Variable, u32> = all
            .iter()
            .enumerate()
            .map(|(column, &v)| (v, column as u32))
            .collect();
        let program = |groups: &[Vec<Root>]| assemble(&graph, &columns, groups, registers);
        // Rules that compute much more than the program are no gain, but for programs of few instructions.
        let rules = |groups: &[Vec<Root>], program: &Program| {
            let most = program.code.len() + program.code.len() / 4 + 64;
            Rules::new(&graph, &columns, groups, most)
        };
        let (zerocheck, logup) = (program(&roots.zerocheck), program(&roots.logup));
        Ok(Self {
            zerocheck_rules: rules(&roots.zerocheck, &zerocheck),
            logup_rules: rules(&roots.logup, &logup),
            zerocheck,
            logup,
            leaves: program(&roots.leaves),
            logup_variables: logup_variables.len(),
            variables: all,
            uniforms: graph.uniforms.clone(),
            constraints: roots.zerocheck.len(),
            logup_coefficients: roots.logup_coefficients,
            interactions: symbolic
                .interactions
                .iter()
                .map(|i| (i.bus_index as u32, i.message.len() as u32))
                .collect(),
            degree: vk.max_constraint_degree as usize,
            need_rot: vk.params.need_rot,
            part_widths,
            has_preprocessed,
            public_values: vk.params.num_public_values,
        })
    }

    /// The rules of zerocheck and LogUp.
    pub fn rules(&self) -> [&Rules; 2] {
        [&self.zerocheck_rules, &self.logup_rules]
    }

    /// The uniform table of a proof.
    pub fn uniform_values(&self, public_values: &[F]) -> Vec<F> {
        self.uniforms
            .iter()
            .map(|uniform| match *uniform {
                Uniform::Constant(c) => c,
                Uniform::Public(i) => public_values[i as usize],
            })
            .collect()
    }
}

/// Nothing exceeds what instructions and kernels can number.
fn check_sizes(
    air: &str,
    graph: &Graph,
    roots: &Roots,
    variables: usize,
) -> Result<(), ProgramError> {
    for (what, count, limit) in [
        ("constraints", roots.zerocheck.len(), MAX_SINKS),
        (
            "interaction fields",
            roots.logup_coefficients.len(),
            MAX_SINKS,
        ),
        ("interactions", roots.leaves.len(), MAX_SINKS),
        ("variables", variables, MAX_OPERANDS),
        ("constants", graph.uniforms.len(), MAX_OPERANDS),
        ("nodes", graph.nodes.len(), MAX_OPERANDS),
    ] {
        if count > limit {
            return Err(ProgramError::TooLarge {
                air: air.to_string(),
                what,
                count,
                limit,
            });
        }
    }
    Ok(())
}

/// The variables that `groups` read, in order.
fn variables(graph: &Graph, groups: &[Vec<Root>]) -> Vec<Variable> {
    let mut seen = Marks::new(graph);
    for group in groups {
        reach(graph, group, &mut seen);
    }
    let found: BTreeSet<Variable> = seen
        .marked()
        .iter()
        .filter_map(|&id| match graph.nodes[id as usize] {
            Node::Variable(v) => Some(v),
            _ => None,
        })
        .collect();
    found.into_iter().collect()
}

/// Cuts the root groups into blocks of about `target` operations; the first group of each block.
fn cut(graph: &Graph, groups: &[Vec<Root>], target: usize) -> Vec<usize> {
    let mut cuts = vec![0];
    let (mut seen, mut block) = (Marks::new(graph), 0);
    for (i, group) in groups.iter().enumerate() {
        if block >= target {
            cuts.push(i);
            seen.clear();
            block = 0;
        }
        block += reach(graph, group, &mut seen) + group.len();
    }
    cuts
}

/// The program of `groups`: small blocks need few registers and can run side by side; larger ones
/// are taken if small ones would compute shared values too often.
fn assemble(
    graph: &Graph,
    columns: &HashMap<Variable, u32>,
    groups: &[Vec<Root>],
    registers: u32,
) -> Program {
    if groups.is_empty() {
        return Program::default();
    }
    let mut marks = [Marks::new(graph), Marks::new(graph), Marks::new(graph)];
    let mut block = |groups: &[Vec<Root>]| {
        let roots: Vec<Root> = groups.iter().flatten().copied().collect();
        allocate(&select(graph, columns, &roots, &mut marks), registers)
    };
    let least = block(groups).code.len();
    let mut target = BLOCK_OPERATIONS;
    loop {
        let cuts = cut(graph, groups, target);
        let mut program = Program::default();
        let ends = cuts[1..].iter().copied().chain([groups.len()]);
        for (begin, end) in cuts.iter().copied().zip(ends) {
            let block = block(&groups[begin..end]);
            program.blocks.push(program.code.len() as u32);
            program.code.extend(block.code);
            program.registers = program.registers.max(block.registers);
            program.spills = program.spills.max(block.spills);
        }
        if cuts.len() == 1 || program.code.len() <= least + least / 8 {
            return program;
        }
        target *= 4;
    }
}
