//! The programs of one AIR over shared variables and uniforms.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    iter,
};

use openvm_stark_backend::keygen::types::StarkVerifyingKey;

use super::{
    allocate::allocate,
    graph::{AirShape, Graph, Node, NodeId, Variable},
    program::{Program, Sink, MAX_REGISTERS},
    rules::Rules,
    select::{reach, select, Marks, Root},
};
use crate::prelude::{Digest, F};

/// A value that is the same at all points: an entry of the uniform table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Uniform {
    /// Fixed by the key.
    Constant(F),
    /// Public value with this index.
    Public(u32),
}

/// One summand `eq_3b[interaction] * beta^power` of a coefficient of the LogUp program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogupTerm {
    pub interaction: u32,
    pub power: u32,
}

/// Why an AIR's symbolic constraints cannot be compiled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProgramError {
    #[error("AIR {air}: a constraint reads the preprocessed trace, which the AIR does not have")]
    NoPreprocessed { air: String },
    #[error("AIR {air}: a constraint reads trace part {part}, the AIR has {parts}")]
    NoPart {
        air: String,
        part: usize,
        parts: usize,
    },
    #[error(
        "AIR {air}: a constraint reads column {column} of part {part}, which has {width} columns"
    )]
    ColumnIndex {
        air: String,
        part: usize,
        column: usize,
        width: usize,
    },
    #[error("AIR {air}: a constraint reads public value {index}, the AIR has {len}")]
    PublicValueIndex {
        air: String,
        index: usize,
        len: usize,
    },
    #[error("AIR {air}: a constraint reads the row {offset} ahead; only 0 and 1 are supported")]
    Offset { air: String, offset: usize },
    #[error("AIR {air}: challenges in constraints are not supported")]
    Challenge { air: String },
    #[error("AIR {air}: node {node} of the DAG reads node {operand}, which does not precede it")]
    Order {
        air: String,
        node: usize,
        operand: usize,
    },
    #[error("AIR {air}: {what} refers to node {node}, which the DAG does not have")]
    NoNode {
        air: String,
        what: String,
        node: usize,
    },
    #[error("AIR {air}: {count} {what} exceed the limit {limit}")]
    TooLarge {
        air: String,
        what: &'static str,
        count: usize,
        limit: usize,
    },
}

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
        let mut node = |what: &dyn Fn() -> String, node: usize| {
            graph.root(node).ok_or_else(|| ProgramError::NoNode {
                air: air.to_string(),
                what: what(),
                node,
            })
        };

        let mut zerocheck_roots = Vec::new();
        for (k, &idx) in symbolic.constraints.constraint_idx.iter().enumerate() {
            let root = node(&|| format!("constraint {k}"), idx)?;
            zerocheck_roots.push(vec![Root {
                node: root,
                sink: Sink::Accumulate0(k as u32),
            }]);
        }
        let mut leaf_roots = Vec::new();
        let mut messages: BTreeMap<NodeId, Vec<LogupTerm>> = BTreeMap::new();
        let mut counts: BTreeMap<NodeId, Vec<LogupTerm>> = BTreeMap::new();
        for (i, interaction) in symbolic.interactions.iter().enumerate() {
            let what = || format!("interaction {i}");
            let i = i as u32;
            let mut group = Vec::new();
            for (j, &field) in interaction.message.iter().enumerate() {
                let root = node(&what, field)?;
                messages.entry(root).or_default().push(LogupTerm {
                    interaction: i,
                    power: j as u32,
                });
                group.push(Root {
                    node: root,
                    sink: Sink::Accumulate0(j as u32),
                });
            }
            let root = node(&what, interaction.count)?;
            counts.entry(root).or_default().push(LogupTerm {
                interaction: i,
                power: 0,
            });
            group.push(Root {
                node: root,
                sink: Sink::Emit(i),
            });
            leaf_roots.push(group);
        }
        let mut logup_roots = Vec::new();
        let mut logup_coefficients = Vec::new();
        let mut logup_nodes: BTreeSet<NodeId> = messages.keys().copied().collect();
        logup_nodes.extend(counts.keys());
        for id in logup_nodes {
            let mut group = Vec::new();
            if let Some(terms) = messages.remove(&id) {
                let sink = Sink::Accumulate0(logup_coefficients.len() as u32);
                group.push(Root { node: id, sink });
                logup_coefficients.push(terms);
            }
            if let Some(terms) = counts.remove(&id) {
                let sink = Sink::Accumulate1(logup_coefficients.len() as u32);
                group.push(Root { node: id, sink });
                logup_coefficients.push(terms);
            }
            logup_roots.push(group);
        }

        let logup_variables = variables(&graph, &logup_roots);
        let mut all = logup_variables.clone();
        let known: BTreeSet<Variable> = all.iter().copied().collect();
        all.extend(
            variables(&graph, &zerocheck_roots)
                .into_iter()
                .filter(|v| !known.contains(v)),
        );
        for (what, count, limit) in [
            ("constraints", zerocheck_roots.len(), MAX_SINKS),
            ("interaction fields", logup_coefficients.len(), MAX_SINKS),
            ("interactions", leaf_roots.len(), MAX_SINKS),
            ("variables", all.len(), MAX_OPERANDS),
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
        let (zerocheck, logup) = (program(&zerocheck_roots), program(&logup_roots));
        Ok(Self {
            zerocheck_rules: rules(&zerocheck_roots, &zerocheck),
            logup_rules: rules(&logup_roots, &logup),
            zerocheck,
            logup,
            leaves: program(&leaf_roots),
            logup_variables: logup_variables.len(),
            variables: all,
            uniforms: graph.uniforms.clone(),
            logup_coefficients,
            constraints: zerocheck_roots.len(),
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
