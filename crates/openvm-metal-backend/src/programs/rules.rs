//! Programs as rules: expressions of the same shape over other columns stand once, with a row of operands for each
//! time that they are met. Kernels are written from the shapes; the rows are data.

use std::{
    collections::{BTreeMap, HashMap},
    ops::Range,
};

use super::{
    clusters::clusters,
    graph::{Graph, Variable},
    program::{Operand, Operation, Sink},
    select::{select, Marks, Root, Virtual},
    Uniform,
};
use crate::prelude::F;

/// Where a statement of a shape reads an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// The value of an earlier statement.
    Value(u32),
    /// The variable that the row names in this place among its variables.
    Variable(u32),
    /// The uniform that the row names in this place among its uniforms.
    Uniform(u32),
}

/// Where the result of a statement goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// It is this value.
    Value(u32),
    /// To an accumulator, times the coefficient that the row names in this place among its coefficients.
    Accumulator(u32, u32),
}

/// One operation; operands beyond its arity repeat the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Statement {
    pub operation: Operation,
    pub operands: [Place; 3],
    pub target: Target,
}

/// A rule without what it reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    pub statements: Vec<Statement>,
    pub variables: u32,
    /// For each uniform its value, if it is a constant and the same in all rows.
    pub uniforms: Vec<Option<F>>,
    pub coefficients: u32,
    /// Words of a row: variables, uniforms, coefficients.
    pub words: u32,
    /// First word of row 0.
    pub first: u32,
    /// How often the rule is met.
    pub rows: u32,
}

impl Shape {
    /// Base-field products of a row at a point.
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

    /// What a row costs beside another: statements and loads.
    pub fn weight(&self) -> u64 {
        self.statements.len() as u64 + u64::from(self.variables) + 2 * u64::from(self.coefficients)
    }
}

/// The rules of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    pub shapes: Vec<Shape>,
    /// The rows of all shapes.
    pub operands: Vec<u32>,
    /// Accumulators that are used: 1 or 2.
    pub accumulators: u32,
}

/// Some rows of a shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    pub shape: u32,
    pub rows: Range<u32>,
}

/// A shape as a key, and what one of its rows names.
struct Row {
    statements: Vec<Statement>,
    variables: Vec<u32>,
    uniforms: Vec<u32>,
    coefficients: Vec<u32>,
}

impl Rules {
    /// The rules of `groups` of roots that are summed up; `columns` numbers the variables. There are none where rules
    /// would compute more than `most` operations, because values are shared between too many roots.
    pub(super) fn new(
        graph: &Graph,
        columns: &HashMap<Variable, u32>,
        groups: &[Vec<Root>],
        most: usize,
    ) -> Self {
        let Some(clusters) = clusters(graph, groups, most) else {
            return Self::default();
        };
        let mut marks = [Marks::new(graph), Marks::new(graph), Marks::new(graph)];
        let mut shapes: BTreeMap<usize, Vec<Row>> = BTreeMap::new();
        let mut known: HashMap<Vec<Statement>, usize> = HashMap::new();
        let mut accumulators = 1;
        for cluster in clusters {
            let roots: Vec<Root> = cluster
                .iter()
                .flat_map(|&g| groups[g].iter().copied())
                .collect();
            let row = Row::new(&select(graph, columns, &roots, &mut marks));
            for statement in &row.statements {
                if let Target::Accumulator(accumulator, _) = statement.target {
                    accumulators = accumulators.max(accumulator + 1);
                }
            }
            let next = known.len();
            let shape = *known.entry(row.statements.clone()).or_insert(next);
            shapes.entry(shape).or_default().push(row);
        }
        let mut rules = Self {
            accumulators,
            ..Self::default()
        };
        for rows in shapes.into_values() {
            rules.add(graph, rows);
        }
        rules
    }

    fn add(&mut self, graph: &Graph, rows: Vec<Row>) {
        let one = &rows[0];
        let constant = |slot: usize| {
            let index = one.uniforms[slot];
            let same = rows.iter().all(|row| row.uniforms[slot] == index);
            match graph.uniforms[index as usize] {
                Uniform::Constant(c) if same => Some(c),
                _ => None,
            }
        };
        self.shapes.push(Shape {
            variables: one.variables.len() as u32,
            uniforms: (0..one.uniforms.len()).map(constant).collect(),
            coefficients: one.coefficients.len() as u32,
            words: (one.variables.len() + one.uniforms.len() + one.coefficients.len()) as u32,
            first: self.operands.len() as u32,
            rows: rows.len() as u32,
            statements: one.statements.clone(),
        });
        for row in rows {
            self.operands.extend(row.variables);
            self.operands.extend(row.uniforms);
            self.operands.extend(row.coefficients);
        }
    }

    /// True if there is nothing to evaluate.
    pub fn is_empty(&self) -> bool {
        self.shapes.is_empty()
    }

    /// Most statements of a shape.
    pub fn longest(&self) -> usize {
        let lengths = self.shapes.iter().map(|shape| shape.statements.len());
        lengths.max().unwrap_or(0)
    }

    /// Cuts the rows of some shapes into at most `most` sections of about equal weight, none empty.
    pub fn sections(&self, shapes: Range<usize>, most: usize) -> Vec<Vec<Run>> {
        let chosen = || self.shapes[shapes.clone()].iter().zip(shapes.clone());
        let total: u64 = chosen().map(|(s, _)| u64::from(s.rows) * s.weight()).sum();
        let target = total.div_ceil(most.max(1) as u64).max(1);
        let (mut sections, mut section, mut room) = (Vec::new(), Vec::new(), target);
        for (shape, index) in chosen() {
            let mut done = 0;
            while done < shape.rows {
                let take = room.div_ceil(shape.weight());
                let take = take.min(u64::from(shape.rows - done)) as u32;
                section.push(Run {
                    shape: index as u32,
                    rows: done..done + take,
                });
                done += take;
                room = room.saturating_sub(u64::from(take) * shape.weight());
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

    /// Cuts the shapes into neighbours of at most `most` statements together, but for single shapes that have more.
    pub fn parts(&self, most: usize) -> Vec<Range<usize>> {
        let (mut parts, mut begin, mut statements) = (Vec::new(), 0, 0);
        for (i, shape) in self.shapes.iter().enumerate() {
            if i > begin && statements + shape.statements.len() > most {
                parts.push(begin..i);
                (begin, statements) = (i, 0);
            }
            statements += shape.statements.len();
        }
        if begin < self.shapes.len() {
            parts.push(begin..self.shapes.len());
        }
        parts
    }
}

impl Row {
    fn new(code: &[Virtual]) -> Self {
        let mut row = Self {
            statements: Vec::with_capacity(code.len()),
            variables: Vec::new(),
            uniforms: Vec::new(),
            coefficients: Vec::new(),
        };
        for v in code {
            let mut operands = [Place::Value(0); 3];
            for (place, operand) in operands.iter_mut().zip(v.operands) {
                *place = row.place(operand);
            }
            for k in v.operation.arity()..3 {
                operands[k] = operands[0];
            }
            let target = match v.sink {
                Sink::Register(value) => Target::Value(value),
                Sink::Accumulate1(c) => Target::Accumulator(1, slot(&mut row.coefficients, c)),
                Sink::Accumulate0(c) => Target::Accumulator(0, slot(&mut row.coefficients, c)),
                Sink::Emit(_) | Sink::Spill(_) => unreachable!("rules are sums over few values"),
            };
            row.statements.push(Statement {
                operation: v.operation,
                operands,
                target,
            });
        }
        row
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
