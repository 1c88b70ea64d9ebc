//! Directed graphs with a reason for each step.

use std::collections::{BTreeMap, BTreeSet};

/// For each node the nodes that it depends on, with the first reason.
#[derive(Default)]
pub struct Graph(BTreeMap<String, BTreeMap<String, String>>);

impl Graph {
    /// Adds a step; none from a node to itself.
    pub fn add(&mut self, from: &str, to: &str, reason: &str) {
        if from != to {
            let steps = self.0.entry(from.to_owned()).or_default();
            steps
                .entry(to.to_owned())
                .or_insert_with(|| reason.to_owned());
        }
    }

    /// Everything that a node reaches in one step or more.
    fn reached<'a>(&'a self, from: &'a str) -> BTreeSet<&'a str> {
        let mut reached = BTreeSet::new();
        let mut next = vec![from];
        while let Some(node) = next.pop() {
            let steps = self.0.get(node).into_iter().flatten();
            next.extend(
                steps
                    .map(|(to, _)| to.as_str())
                    .filter(|to| reached.insert(*to)),
            );
        }
        reached
    }

    /// Largest sets of nodes that reach each other, sorted.
    pub fn circles(&self) -> Vec<Vec<String>> {
        let reached: BTreeMap<&str, BTreeSet<&str>> = self
            .0
            .keys()
            .map(|node| (node.as_str(), self.reached(node)))
            .collect();
        let mut circles = BTreeSet::new();
        for (node, all) in &reached {
            let back = |other: &&&str| reached.get(**other).is_some_and(|all| all.contains(node));
            let circle: Vec<String> = all.iter().filter(back).map(|&n| n.to_owned()).collect();
            if circle.len() > 1 {
                circles.insert(circle);
            }
        }
        circles.into_iter().collect()
    }

    /// The steps within a circle, a line each.
    pub fn explain(&self, circle: &[String]) -> String {
        let mut text = circle.join(", ");
        for from in circle {
            for (to, reason) in self.0.get(from).into_iter().flatten() {
                if circle.contains(to) {
                    text += &format!("\n    {from} -> {to}: {reason}");
                }
            }
        }
        text
    }
}
