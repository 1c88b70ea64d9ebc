//! Results of an AIR's programs: nodes of its graph with their sinks, in groups that stay together.

use std::collections::{BTreeMap, BTreeSet};

use openvm_stark_backend::air_builders::symbolic::SymbolicConstraintsDag;

use super::{
    error::ProgramError,
    graph::{Graph, NodeId},
    program::Sink,
    select::Root,
};
use crate::prelude::F;

/// One summand `eq_3b[interaction] * beta^power` of a coefficient of the LogUp program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogupTerm {
    pub interaction: u32,
    pub power: u32,
}

/// The groups of roots of each program.
pub(super) struct Roots {
    /// One group for each constraint.
    pub zerocheck: Vec<Vec<Root>>,
    /// One group for each node that is a message field or a count.
    pub logup: Vec<Vec<Root>>,
    /// Terms of each coefficient of `logup`.
    pub logup_coefficients: Vec<Vec<LogupTerm>>,
    /// One group for each interaction.
    pub leaves: Vec<Vec<Root>>,
}

impl Roots {
    /// The roots of an AIR's constraints and interactions; `air` names it in errors.
    pub fn new(
        graph: &mut Graph,
        air: &str,
        symbolic: &SymbolicConstraintsDag<F>,
    ) -> Result<Self, ProgramError> {
        let mut node = |what: &dyn Fn() -> String, node: usize| {
            graph.root(node).ok_or_else(|| ProgramError::NoNode {
                air: air.to_string(),
                what: what(),
                node,
            })
        };
        let mut zerocheck = Vec::new();
        for (k, &idx) in symbolic.constraints.constraint_idx.iter().enumerate() {
            let root = node(&|| format!("constraint {k}"), idx)?;
            zerocheck.push(vec![Root {
                node: root,
                sink: Sink::Accumulate0(k as u32),
            }]);
        }
        let mut leaves = Vec::new();
        let mut terms = InteractionTerms::default();
        for (i, interaction) in symbolic.interactions.iter().enumerate() {
            let what = || format!("interaction {i}");
            let i = i as u32;
            let mut group = Vec::new();
            for (j, &field) in interaction.message.iter().enumerate() {
                let (root, power) = (node(&what, field)?, j as u32);
                terms.messages.entry(root).or_default().push(LogupTerm {
                    interaction: i,
                    power,
                });
                group.push(Root {
                    node: root,
                    sink: Sink::Accumulate0(power),
                });
            }
            let root = node(&what, interaction.count)?;
            terms.counts.entry(root).or_default().push(LogupTerm {
                interaction: i,
                power: 0,
            });
            group.push(Root {
                node: root,
                sink: Sink::Emit(i),
            });
            leaves.push(group);
        }
        let (logup, logup_coefficients) = terms.roots();
        Ok(Self {
            zerocheck,
            logup,
            logup_coefficients,
            leaves,
        })
    }
}

/// In which interactions each node is a message field or a count.
#[derive(Default)]
struct InteractionTerms {
    messages: BTreeMap<NodeId, Vec<LogupTerm>>,
    counts: BTreeMap<NodeId, Vec<LogupTerm>>,
}

impl InteractionTerms {
    /// The roots of the LogUp program, each node once, and the terms of their coefficients.
    fn roots(mut self) -> (Vec<Vec<Root>>, Vec<Vec<LogupTerm>>) {
        let mut nodes: BTreeSet<NodeId> = self.messages.keys().copied().collect();
        nodes.extend(self.counts.keys());
        let (mut roots, mut coefficients) = (Vec::new(), Vec::new());
        for node in nodes {
            let mut group = Vec::new();
            if let Some(terms) = self.messages.remove(&node) {
                let sink = Sink::Accumulate0(coefficients.len() as u32);
                group.push(Root { node, sink });
                coefficients.push(terms);
            }
            if let Some(terms) = self.counts.remove(&node) {
                let sink = Sink::Accumulate1(coefficients.len() as u32);
                group.push(Root { node, sink });
                coefficients.push(terms);
            }
            roots.push(group);
        }
        (roots, coefficients)
    }
}
