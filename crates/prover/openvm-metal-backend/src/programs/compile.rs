//! The programs of one AIR over shared variables and uniforms.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
    iter,
};

use openvm_stark_backend::keygen::types::StarkVerifyingKey;
use rayon::prelude::*;

use super::{
    allocate::allocate,
    degrees::{by_degree, degree_of, DegreePart},
    error::ProgramError,
    graph::{AirShape, Graph, Node, Uniform, Variable},
    program::{Program, Sink, MAX_REGISTERS},
    roots::{LogupTerm, Roots},
    rules::Rules,
    select::{reach, select, Marks, Root},
};
use crate::prelude::F;

/// Largest index of a sink (constraints, coefficients, interactions).
const MAX_SINKS: usize = 1 << 24;
/// Largest number of variables and uniforms.
const MAX_OPERANDS: usize = 1 << 28;
/// Operations a block aims for at first.
const BLOCK_OPERATIONS: usize = 96;
/// Registers up to which a program of the interpreter runs at full speed.
pub const FREE_REGISTERS: u32 = 8;

/// Kind of sum that a program's results are parts of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SumKind {
    /// Accumulator 0: `sum_k lambda^k C_k`; coefficient `k` is `lambda^k`.
    Zerocheck,
    /// Accumulator 1: `sum_i eq_3b[i] count_i`; accumulator 0: `sum_i eq_3b[i] sum_j beta^j m_ij`.
    Logup,
}

impl SumKind {
    /// Cosets of the skip domain from whose points round 0 knows a sum of this degree: constraints vanish on the domain and
    /// are divided by its zerofier.
    fn cosets(self, degree: usize) -> usize {
        match self {
            Self::Zerocheck => degree - 1,
            Self::Logup => degree,
        }
    }
}

/// A program whose results are summed over all rows: constraints or interaction fields up to a degree.
#[derive(Clone, Debug)]
pub struct SumProgram {
    pub kind: SumKind,
    /// The highest degree of what it sums, at least 1 (2 for constraints).
    pub degree: usize,
    /// 2 if it adds to accumulator 1, else 1.
    pub accumulators: u32,
    pub program: Program,
    /// The same as rules.
    pub rules: Rules,
}

impl SumProgram {
    /// Cosets of the skip domain from whose points round 0 knows the sum.
    pub fn cosets(&self) -> usize {
        self.kind.cosets(self.degree)
    }
}

/// The compiled constraints and interactions of one AIR.
#[derive(Clone, Debug)]
pub struct AirPrograms {
    /// The columns of the arena. Those that interactions use come first; among these, and among the others, those that
    /// are needed on more cosets.
    pub variables: Vec<Variable>,
    /// For each variable on how many cosets of the skip domain programs read it in round 0.
    pub variable_cosets: Vec<usize>,
    /// Number of variables that interactions use.
    pub logup_variables: usize,
    /// The uniform table.
    pub uniforms: Vec<Uniform>,
    /// Constraints and interaction fields, one program for each range of degrees. Constraints of degree 1 are in none: what is
    /// linear in the columns and vanishes on all rows is the zero polynomial.
    pub sums: Vec<SumProgram>,
    /// Terms of each coefficient of the LogUp programs.
    pub logup_coefficients: Vec<Vec<LogupTerm>>,
    /// Emits each interaction in turn; coefficient `j` is `beta^j`.
    pub leaves: Program,
    /// Number of constraints.
    pub constraints: usize,
    /// Per interaction: bus index and message length.
    pub interactions: Vec<(u32, u32)>,
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
    pub fn new<D>(air: &str, vk: &StarkVerifyingKey<F, D>) -> Result<Self, ProgramError> {
        Self::with_registers(air, vk, MAX_REGISTERS)
    }

    /// Does the work of [`new`](Self::new) with fewer registers.
    pub fn with_registers<D>(
        air: &str,
        vk: &StarkVerifyingKey<F, D>,
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
        check_sizes(air, &graph, &roots)?;
        let constraints = roots.zerocheck.len();
        let parts = parts(&graph, roots.zerocheck, roots.logup);
        let order = VariableOrder::new(&graph, &parts);
        let columns = graph.columns(&order.variables);
        let program = |groups: &[Vec<Root>]| assemble(&graph, &columns, groups, registers);
        let sum = |(kind, part): (SumKind, DegreePart)| {
            let program = program(&part.groups);
            // Rules that compute much more than the program are no gain, but for programs of few instructions.
            let most = program.code.len() + program.code.len() / 4 + 64;
            SumProgram {
                kind,
                degree: part.degree,
                accumulators: accumulators(&part.groups),
                rules: Rules::new(&graph, &columns, &part.groups, most),
                program,
            }
        };
        let (sums, leaves) = rayon::join(
            || parts.into_par_iter().with_max_len(1).map(sum).collect(),
            || program(&roots.leaves),
        );
        Ok(Self {
            sums,
            leaves,
            logup_variables: order.logup,
            variables: order.variables,
            variable_cosets: order.cosets,
            uniforms: graph.uniforms.clone(),
            constraints,
            logup_coefficients: roots.logup_coefficients,
            interactions: symbolic
                .interactions
                .iter()
                .map(|i| (i.bus_index as u32, i.message.len() as u32))
                .collect(),
            need_rot: vk.params.need_rot,
            part_widths,
            has_preprocessed,
            public_values: vk.params.num_public_values,
        })
    }

    /// All programs: those of the sums, then the one of the leaves.
    pub fn all(&self) -> impl Iterator<Item = &Program> {
        let sums = self.sums.iter().map(|sum| &sum.program);
        sums.chain([&self.leaves])
    }

    /// The rules of each sum.
    pub fn rules(&self) -> impl Iterator<Item = &Rules> {
        self.sums.iter().map(|sum| &sum.rules)
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

/// Constraints and interaction fields by degree, without the constraints that are linear.
fn parts(
    graph: &Graph,
    zerocheck: Vec<Vec<Root>>,
    logup: Vec<Vec<Root>>,
) -> Vec<(SumKind, DegreePart)> {
    let degrees = graph.degrees();
    let zerocheck = zerocheck.into_iter();
    let zerocheck = zerocheck.filter(|group| degree_of(&degrees, group) > 1);
    let zerocheck = by_degree(graph, &degrees, zerocheck);
    let logup = by_degree(graph, &degrees, logup);
    let of = |kind| move |part| (kind, part);
    let zerocheck = zerocheck.into_iter().map(of(SumKind::Zerocheck));
    let logup = logup.into_iter().map(of(SumKind::Logup));
    zerocheck.chain(logup).collect()
}

fn accumulators(groups: &[Vec<Root>]) -> u32 {
    let mut roots = groups.iter().flatten();
    match roots.any(|root| matches!(root.sink, Sink::Accumulate1(_))) {
        true => 2,
        false => 1,
    }
}

/// The variables of an AIR in the order of their columns.
struct VariableOrder {
    variables: Vec<Variable>,
    /// Cosets on which each is read.
    cosets: Vec<usize>,
    /// Number of variables that interactions read.
    logup: usize,
}

impl VariableOrder {
    fn new(graph: &Graph, parts: &[(SumKind, DegreePart)]) -> Self {
        // Whether interactions read it, and on how many cosets it is read.
        let mut found: BTreeMap<Variable, (bool, usize)> = BTreeMap::new();
        for (kind, part) in parts {
            let cosets = kind.cosets(part.degree);
            for variable in variables(graph, &part.groups) {
                let (logup, most) = found.entry(variable).or_default();
                *logup |= *kind == SumKind::Logup;
                *most = cosets.max(*most);
            }
        }
        let mut found: Vec<_> = found.into_iter().collect();
        found.sort_by_key(|&(_, (logup, cosets))| (!logup, Reverse(cosets)));
        Self {
            logup: found.iter().filter(|&&(_, (logup, _))| logup).count(),
            cosets: found.iter().map(|&(_, (_, cosets))| cosets).collect(),
            variables: found.into_iter().map(|(variable, _)| variable).collect(),
        }
    }
}

/// Nothing exceeds what instructions and kernels can number.
fn check_sizes(air: &str, graph: &Graph, roots: &Roots) -> Result<(), ProgramError> {
    for (what, count, limit) in [
        ("constraints", roots.zerocheck.len(), MAX_SINKS),
        (
            "interaction fields",
            roots.logup_coefficients.len(),
            MAX_SINKS,
        ),
        ("interactions", roots.leaves.len(), MAX_SINKS),
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

/// Cost of a program at a point: its instructions, slower the fewer points fit into the memory for registers. Up to
/// [`FREE_REGISTERS`] registers something else limits the threads of a GPU; each eight registers and spills beyond cost
/// half of the program again.
fn cost(program: &Program) -> usize {
    let values = (program.registers + program.spills).max(FREE_REGISTERS) as usize;
    program.code.len() * (FREE_REGISTERS as usize + values)
}

/// The program of `groups`: small blocks need few registers and can run side by side, but compute shared values again. The
/// smallest blocks that cost no more than an eighth above the best.
fn assemble(graph: &Graph, columns: &[u32], groups: &[Vec<Root>], registers: u32) -> Program {
    if groups.is_empty() {
        return Program::default();
    }
    let mut marks = [Marks::new(graph), Marks::new(graph), Marks::new(graph)];
    let mut block = |groups: &[Vec<Root>]| {
        let roots: Vec<Root> = groups.iter().flatten().copied().collect();
        allocate(&select(graph, columns, &roots, &mut marks), registers)
    };
    let mut candidates: Vec<Program> = Vec::new();
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
        candidates.push(program);
        if cuts.len() == 1 {
            break;
        }
        target *= 4;
    }
    let best = candidates.iter().map(cost).min().unwrap_or(0);
    let mut candidates = candidates.into_iter();
    let good = candidates.find(|program| cost(program) <= best + best / 8);
    good.unwrap_or_default()
}
