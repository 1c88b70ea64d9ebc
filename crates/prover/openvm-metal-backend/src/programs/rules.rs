//! Programs as rules: an expression that constraints repeat over other columns is one rule, and each time that it is met
//! is a *use* with operands of its own. Kernels are written from the rules; the operands are data.

use std::{collections::BTreeMap, ops::Range};

use rustc_hash::FxHashMap;

use super::{
    clusters::clusters,
    graph::{Graph, Uniform},
    program::{Operand, Operation, Sink},
    select::{select, Marks, Root, Virtual},
};
use crate::prelude::F;

/// Place from which a statement of a rule reads an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// The value of an earlier statement.
    Value(u32),
    /// The variable that the use names in this place among its variables.
    Variable(u32),
    /// The uniform that the use names in this place among its uniforms.
    Uniform(u32),
}

/// Destination of a statement's result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// It is this value.
    Value(u32),
    /// To an accumulator, times the coefficient that the use names in this place among its coefficients.
    Accumulator(u32, u32),
}

/// One operation; operands beyond its arity repeat the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Statement {
    pub operation: Operation,
    pub operands: [Place; 3],
    pub target: Target,
}

/// An expression that constraints repeat over other columns, without what each use reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    pub statements: Vec<Statement>,
    pub variables: u32,
    /// For each uniform its value, if it is a constant and the same in all uses.
    pub uniforms: Vec<Option<F>>,
    pub coefficients: u32,
    /// Words of the operands of a use: variables, uniforms, coefficients.
    pub words: u32,
    /// First word of the operands of use 0.
    pub first: u32,
    /// Number of uses of the rule.
    pub uses: u32,
}

impl Rule {
    /// Base-field products of a use at a point.
    pub fn products(&self) -> u64 {
        let of = |s: &Statement| {
            let product = !matches!(
                s.operation,
                Operation::Copy | Operation::Add | Operation::Sub
            );
            let sum = matches!(s.target, Target::Accumulator(..));
            u64::from(product) + 2 * u64::from(sum)
        };
        self.statements.iter().map(of).sum()
    }

    /// Products of a use at a point whose variables are extension-field elements: those of two such, and of one with a uniform.
    pub fn ext_products(&self) -> [u64; 2] {
        let count = |of: &dyn Fn(&Statement) -> bool| {
            let statements = self.statements.iter();
            statements.filter(|s| of(s)).count() as u64
        };
        use Operation::{Mul, MulAdd, MulAddU, MulSub, MulSubU, MulU, NegMulAdd, NegMulAddU};
        let full = |s: &Statement| matches!(s.operation, Mul | MulAdd | MulSub | NegMulAdd);
        let by_uniform =
            |s: &Statement| matches!(s.operation, MulU | MulAddU | MulSubU | NegMulAddU);
        let sum = |s: &Statement| matches!(s.target, Target::Accumulator(..));
        [count(&full) + count(&sum), count(&by_uniform)]
    }

    /// Relative cost of a use: statements and loads.
    pub fn weight(&self) -> u64 {
        self.statements.len() as u64 + u64::from(self.variables) + 2 * u64::from(self.coefficients)
    }
}

/// The rules of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    pub list: Vec<Rule>,
    /// The operands of all uses.
    pub operands: Vec<u32>,
    /// Accumulators that are used: 1 or 2.
    pub accumulators: u32,
}

/// Some uses of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UseRange {
    pub rule: u32,
    pub uses: Range<u32>,
}

/// A use: the statements of its rule, which are the rule's key, and what it reads.
struct Operands {
    statements: Vec<Statement>,
    variables: Vec<u32>,
    uniforms: Vec<u32>,
    coefficients: Vec<u32>,
}

impl Rules {
    /// The rules of `groups` of roots that are summed up; `columns` has the column of each node that is a variable. There are none where rules
    /// would compute more than `most` operations, because values are shared between too many roots.
    pub(super) fn new(graph: &Graph, columns: &[u32], groups: &[Vec<Root>], most: usize) -> Self {
        let Some(clusters) = clusters(graph, groups, most) else {
            return Self::default();
        };
        let mut marks = [Marks::new(graph), Marks::new(graph), Marks::new(graph)];
        let mut uses_of: BTreeMap<usize, Vec<Operands>> = BTreeMap::new();
        let mut known: FxHashMap<Vec<Statement>, usize> = FxHashMap::default();
        let mut accumulators = 1;
        for cluster in clusters {
            let roots: Vec<Root> = cluster
                .iter()
                .flat_map(|&g| groups[g].iter().copied())
                .collect();
            let operands = Operands::new(&select(graph, columns, &roots, &mut marks));
            for statement in &operands.statements {
                if let Target::Accumulator(accumulator, _) = statement.target {
                    accumulators = accumulators.max(accumulator + 1);
                }
            }
            let next = known.len();
            let rule = *known.entry(operands.statements.clone()).or_insert(next);
            uses_of.entry(rule).or_default().push(operands);
        }
        let mut rules = Self {
            accumulators,
            ..Self::default()
        };
        for uses in uses_of.into_values() {
            rules.add(graph, uses);
        }
        rules
    }

    fn add(&mut self, graph: &Graph, uses: Vec<Operands>) {
        let one = &uses[0];
        let constant = |slot: usize| {
            let index = one.uniforms[slot];
            let same = uses.iter().all(|of| of.uniforms[slot] == index);
            match graph.uniforms[index as usize] {
                Uniform::Constant(c) if same => Some(c),
                _ => None,
            }
        };
        self.list.push(Rule {
            variables: one.variables.len() as u32,
            uniforms: (0..one.uniforms.len()).map(constant).collect(),
            coefficients: one.coefficients.len() as u32,
            words: (one.variables.len() + one.uniforms.len() + one.coefficients.len()) as u32,
            first: self.operands.len() as u32,
            uses: uses.len() as u32,
            statements: one.statements.clone(),
        });
        for of in uses {
            self.operands.extend(of.variables);
            self.operands.extend(of.uniforms);
            self.operands.extend(of.coefficients);
        }
    }

    /// True if there is nothing to evaluate.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Most statements of a rule.
    pub fn longest(&self) -> usize {
        let lengths = self.list.iter().map(|rule| rule.statements.len());
        lengths.max().unwrap_or(0)
    }

    /// Cuts the uses of some rules into at most `most` sections of about equal weight, none empty.
    pub fn sections(&self, members: Range<usize>, most: usize) -> Vec<Vec<UseRange>> {
        let chosen = || self.list[members.clone()].iter().zip(members.clone());
        let total: u64 = chosen().map(|(r, _)| u64::from(r.uses) * r.weight()).sum();
        let target = total.div_ceil(most.max(1) as u64).max(1);
        let (mut sections, mut section, mut room) = (Vec::new(), Vec::new(), target);
        for (rule, index) in chosen() {
            let mut done = 0;
            while done < rule.uses {
                let take = room.div_ceil(rule.weight());
                let take = take.min(u64::from(rule.uses - done)) as u32;
                section.push(UseRange {
                    rule: index as u32,
                    uses: done..done + take,
                });
                done += take;
                room = room.saturating_sub(u64::from(take) * rule.weight());
                if room == 0 {
                    sections.push(std::mem::take(&mut section));
                    room = target;
                }
            }
        }
        if !section.is_empty() {
            sections.push(section);
        }
        sections
    }

    /// Cuts the rules into neighbours of at most `most` statements together, but for single rules that have more: each group
    /// is one kernel.
    pub fn kernel_groups(&self, most: usize) -> Vec<Range<usize>> {
        let (mut groups, mut begin, mut statements) = (Vec::new(), 0, 0);
        for (i, rule) in self.list.iter().enumerate() {
            if i > begin && statements + rule.statements.len() > most {
                groups.push(begin..i);
                (begin, statements) = (i, 0);
            }
            statements += rule.statements.len();
        }
        if begin < self.list.len() {
            groups.push(begin..self.list.len());
        }
        groups
    }
}

impl Operands {
    fn new(code: &[Virtual]) -> Self {
        let mut of = Self {
            statements: Vec::with_capacity(code.len()),
            variables: Vec::new(),
            uniforms: Vec::new(),
            coefficients: Vec::new(),
        };
        for v in code {
            let mut operands = [Place::Value(0); 3];
            for (place, operand) in operands.iter_mut().zip(v.operands) {
                *place = of.place(operand);
            }
            for k in v.operation.arity()..3 {
                operands[k] = operands[0];
            }
            let target = match v.sink {
                Sink::Register(value) => Target::Value(value),
                Sink::Accumulate1(c) => Target::Accumulator(1, slot(&mut of.coefficients, c)),
                Sink::Accumulate0(c) => Target::Accumulator(0, slot(&mut of.coefficients, c)),
                Sink::Emit(_) | Sink::Spill(_) => unreachable!("rules are sums over few values"),
            };
            of.statements.push(Statement {
                operation: v.operation,
                operands,
                target,
            });
        }
        of
    }

    fn place(&mut self, operand: Operand) -> Place {
        match operand {
            Operand::Register(value) | Operand::Spill(value) => Place::Value(value),
            Operand::Variable(index) => Place::Variable(slot(&mut self.variables, index)),
            Operand::Uniform(index) => Place::Uniform(slot(&mut self.uniforms, index)),
        }
    }
}

/// The place of `index` in a list, at its end if it is new.
fn slot(list: &mut Vec<u32>, index: u32) -> u32 {
    let known = list.iter().position(|&i| i == index);
    known.unwrap_or_else(|| {
        list.push(index);
        list.len() - 1
    }) as u32
}
