//! Roots that are computed together: those that share costly nodes.

use rustc_hash::FxHashMap;

use super::{
    graph::{Graph, NodeId},
    select::{reach, Marks, Root},
};

/// Most operations of a cluster of several groups.
const MAX_OPERATIONS: usize = 256;
/// Greatest repetition of operations by separate groups for which clusters are searched.
const MAX_REPEATED: usize = 16;
/// A shared value of fewer operations is computed again by each group.
const WORTH_SHARING: usize = 3;

/// Each group by itself, or united with others where together they compute less; `None` if that is more than `most`
/// operations in all. Clusters are in the order of their first groups, and so are the groups of each.
pub fn clusters(graph: &Graph, groups: &[Vec<Root>], most: usize) -> Option<Vec<Vec<usize>>> {
    let mut seen = Marks::new(graph);
    // Of each operation the last group that needs it, and all pairs of groups that follow each other so.
    let mut last: Vec<Option<u32>> = vec![None; graph.nodes.len()];
    let mut shared: Vec<(NodeId, u32, u32)> = Vec::new();
    let mut operations = vec![0; groups.len()];
    let mut repeated = 0;
    for (g, group) in groups.iter().enumerate() {
        seen.clear();
        operations[g] = reach(graph, group, &mut seen);
        // So many times as much is shared that it never fits into clusters.
        repeated += operations[g];
        if repeated > MAX_REPEATED * most {
            return None;
        }
        for &id in seen.marked() {
            if graph.nodes[id as usize].children().next().is_none() {
                continue;
            }
            if let Some(before) = last[id as usize].replace(g as u32) {
                shared.push((id, before, g as u32));
            }
        }
    }
    let mut weights: FxHashMap<NodeId, usize> = FxHashMap::default();
    let mut weight = |id: NodeId| {
        *weights.entry(id).or_insert_with(|| {
            seen.clear();
            reach(graph, &[Root::of(id)], &mut seen)
        })
    };
    let mut shared: Vec<(usize, NodeId, u32, u32)> = shared
        .into_iter()
        .map(|(id, a, b)| (weight(id), id, a, b))
        .filter(|&(operations, ..)| operations >= WORTH_SHARING)
        .collect();
    // The largest first; ties in the order of the graph.
    shared.sort_by_key(|&(operations, id, a, b)| (std::cmp::Reverse(operations), id, a, b));
    let mut sets = Sets((0..groups.len() as u32).collect());
    for (saved, _, a, b) in shared {
        let (a, b) = (sets.find(a), sets.find(b));
        let sum = operations[a as usize] + operations[b as usize];
        if a != b && sum - saved.min(sum) <= MAX_OPERATIONS {
            let (low, high) = (a.min(b), a.max(b));
            sets.0[high as usize] = low;
            operations[low as usize] = sum - saved;
        }
    }
    let mut clusters: Vec<Vec<usize>> = vec![Vec::new(); groups.len()];
    for g in 0..groups.len() {
        clusters[sets.find(g as u32) as usize].push(g);
    }
    clusters.retain(|cluster| !cluster.is_empty());
    let mut all = 0;
    for cluster in &clusters {
        seen.clear();
        all += cluster
            .iter()
            .map(|&g| reach(graph, &groups[g], &mut seen))
            .sum::<usize>();
    }
    (all <= most).then_some(clusters)
}

/// Disjoint sets; each is named by its smallest element.
struct Sets(Vec<u32>);

impl Sets {
    fn find(&mut self, mut x: u32) -> u32 {
        while self.0[x as usize] != x {
            let up = self.0[self.0[x as usize] as usize];
            self.0[x as usize] = up;
            x = up;
        }
        x
    }
}
