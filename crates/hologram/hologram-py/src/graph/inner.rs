//! Nodes that nobody needs but one graph.

use std::collections::HashMap;
use std::sync::Arc;

use super::node::Node;
use super::value::Value;

/// A node that nobody else sees, and the nodes below it that only such nodes refer to: no array, no other graph and no value of
/// Python holds one, so they are not needed once the node itself is computed.
pub fn inner(root: &Arc<Node>) -> Vec<*const Node> {
    let mut order = Vec::new();
    visit(root, &mut order);
    // Users stand before what they read.
    order.reverse();
    let mut found = Vec::new();
    let mut uses: HashMap<*const Node, usize> = HashMap::new();
    for node in &order {
        let name = Arc::as_ptr(node);
        // One more reference is `order`'s own.
        let from_inner = uses.get(&name).copied().unwrap_or_default() + 1;
        if !Arc::ptr_eq(node, root) && Arc::strong_count(node) != from_inner {
            continue;
        }
        found.push(name);
        for arg in node.args() {
            if let Value::Node(below) = arg {
                *uses.entry(Arc::as_ptr(&below)).or_default() += 1;
            }
        }
    }
    found
}

/// Appends the nodes of a graph, each behind those that it reads. Its depth is bounded: a graph is computed before it has many
/// steps.
fn visit(node: &Arc<Node>, order: &mut Vec<Arc<Node>>) {
    if order.iter().any(|known| Arc::ptr_eq(known, node)) {
        return;
    }
    for arg in node.args() {
        if let Value::Node(below) = arg {
            visit(&below, order);
        }
    }
    order.push(node.clone());
}
