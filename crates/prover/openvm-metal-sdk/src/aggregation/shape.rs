//! `Shape`: how many nodes each level of an aggregation has, and which proofs a node verifies.
//!
//! Level 0 are the proofs of segments. Node `i` of level `l + 1` verifies the proofs `i * c` to `(i + 1) * c` of level `l`,
//! where `c` is how many proofs a node verifies; the last node of a level may verify fewer. Level 1 are leaves, 2
//! internal-for-leaf, from 3 on internal-recursive. The first internal-recursive level of one node ends the tree, and one
//! more node over it makes the proof smaller.

use std::ops::Range;

use openvm_sdk::config::AggregationTreeConfig;

/// The first level whose nodes are internal-recursive.
pub(crate) const RECURSIVE: usize = 3;

/// Number of proofs that a node verifies: a leaf, an internal node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    children: [usize; 2],
    /// The tree ends in a node over the last one.
    is_wrapped: bool,
}

impl Shape {
    pub fn new(config: &AggregationTreeConfig) -> Self {
        Self {
            children: [config.num_children_leaf, config.num_children_internal],
            is_wrapped: true,
        }
    }

    /// The same tree without the node over the last one.
    pub fn unwrapped(self) -> Self {
        Self {
            is_wrapped: false,
            ..self
        }
    }

    /// True if the tree ends in a node over the last one.
    pub fn is_wrapped(&self) -> bool {
        self.is_wrapped
    }

    /// Most proofs of level `below` that a node verifies.
    pub fn children(&self, below: usize) -> usize {
        self.children[usize::from(below > 0)]
    }

    /// Number of nodes over `total` proofs of level `below`.
    pub fn above(&self, below: usize, total: usize) -> usize {
        total.div_ceil(self.children(below))
    }

    /// True if the node over a level of `total` proofs wraps the last one of the tree.
    pub fn wraps(below: usize, total: usize) -> bool {
        below >= RECURSIVE && total == 1
    }

    /// The proofs of the level below, which has `total`, that node `index` of `level` verifies.
    pub fn below(&self, level: usize, index: usize, total: usize) -> Range<usize> {
        let most = self.children(level - 1);
        index * most..((index + 1) * most).min(total)
    }

    /// Number of proofs of each level, from the segments to the wrapping node, if there is one. Nothing if there are no segments.
    pub fn levels(&self, segments: usize) -> Vec<usize> {
        let mut levels = Vec::new();
        let mut total = segments;
        while total > 0 {
            let below = levels.len();
            levels.push(total);
            if Self::wraps(below, total) {
                levels.extend(self.is_wrapped.then_some(1));
                break;
            }
            total = self.above(below, total);
        }
        levels
    }
}

/// Name of a level for users.
pub(crate) fn layer_name(level: usize) -> String {
    match level {
        0 => "segments".into(),
        1 => "leaf".into(),
        2 => "internal_for_leaf".into(),
        _ => format!("internal_recursive.{}", level - RECURSIVE),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_end_in_a_wrapped_node() {
        let shape = Shape {
            children: [4, 3],
            is_wrapped: true,
        };
        assert_eq!(shape.levels(0), Vec::<usize>::new());
        assert_eq!(shape.levels(1), [1, 1, 1, 1, 1]);
        assert_eq!(shape.levels(209), [209, 53, 18, 6, 2, 1, 1]);
        assert_eq!(shape.unwrapped().levels(209), [209, 53, 18, 6, 2, 1]);
        assert_eq!(shape.unwrapped().levels(0), Vec::<usize>::new());
        for segments in 1..100 {
            let levels = shape.levels(segments);
            for level in 1..levels.len() {
                let covered: Vec<usize> = (0..levels[level])
                    .flat_map(|index| shape.below(level, index, levels[level - 1]))
                    .collect();
                assert_eq!(covered, (0..levels[level - 1]).collect::<Vec<_>>());
            }
        }
    }
}
