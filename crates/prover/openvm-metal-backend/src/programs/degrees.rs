//! Roots by degree: a sum of low degree is known from fewer points of evaluation.

use super::{
    graph::Graph,
    select::{reach, Marks, Root},
};

/// Cost of a separate program besides its operations: jobs, sums, accumulators.
const PROGRAM_COST: usize = 8;

/// Groups of roots of one program, with the highest degree among them.
pub struct DegreePart {
    pub degree: usize,
    pub groups: Vec<Vec<Root>>,
}

impl DegreePart {
    /// Operations times points of evaluation.
    fn cost(&self, graph: &Graph, marks: &mut Marks) -> usize {
        marks.clear();
        let operations: usize = self
            .groups
            .iter()
            .map(|group| reach(graph, group, marks) + group.len())
            .sum();
        (operations + PROGRAM_COST).saturating_mul(self.degree)
    }
}

/// The highest degree in a group; `degrees` are those of all nodes.
pub fn degree_of(degrees: &[usize], group: &[Root]) -> usize {
    let of_roots = group.iter().map(|root| degrees[root.node as usize]);
    of_roots.max().unwrap_or(0)
}

/// Distributes the groups by degree, lowest first. Degrees stay together where values that they share would cost more if they
/// were computed for each of them than the points of evaluation that are saved.
pub fn by_degree(
    graph: &Graph,
    degrees: &[usize],
    groups: impl IntoIterator<Item = Vec<Root>>,
) -> Vec<DegreePart> {
    let mut parts: Vec<DegreePart> = Vec::new();
    for group in groups {
        // What is constant is evaluated at one point.
        let degree = degree_of(degrees, &group).max(1);
        match parts.iter_mut().find(|part| part.degree == degree) {
            Some(part) => part.groups.push(group),
            None => parts.push(DegreePart {
                degree,
                groups: vec![group],
            }),
        }
    }
    parts.sort_by_key(|part| part.degree);
    let mut marks = Marks::new(graph);
    let mut kept: Vec<DegreePart> = Vec::new();
    for mut part in parts {
        while let Some(lower) = kept.pop() {
            let together = DegreePart {
                degree: part.degree,
                groups: lower.groups.iter().chain(&part.groups).cloned().collect(),
            };
            let [lower_cost, cost, together_cost] =
                [&lower, &part, &together].map(|part| part.cost(graph, &mut marks));
            if together_cost > lower_cost.saturating_add(cost) {
                kept.push(lower);
                break;
            }
            part = together;
        }
        kept.push(part);
    }
    kept
}
