//! Symbolic expressions as text.

use openvm_stark_backend::air_builders::symbolic::{
    symbolic_variable::{Entry, SymbolicVariable},
    SymbolicExpressionDag, SymbolicExpressionNode as Node,
};

use crate::prelude::F;

/// Characters after which an expression is cut off.
const MAX_LENGTH: usize = 300;

/// The expression of a node: `main[2]` is a column of the common main trace in this row, `main'[2]` in
/// the next. `common` is the index of the common main part. Long expressions end in `...`.
pub(super) fn render(dag: &SymbolicExpressionDag<F>, node: usize, common: usize) -> String {
    let mut writer = Writer {
        dag,
        common,
        text: String::new(),
    };
    writer.write(node, 0);
    let mut text = writer.text;
    if let Some((end, _)) = text.char_indices().nth(MAX_LENGTH) {
        text.truncate(end);
        text.push_str("...");
    }
    text
}

struct Writer<'a> {
    dag: &'a SymbolicExpressionDag<F>,
    common: usize,
    text: String,
}

impl Writer<'_> {
    /// `level`: 0 as a sum, 1 as the right of a difference, 2 as a factor.
    fn write(&mut self, node: usize, level: u8) {
        if self.text.len() > MAX_LENGTH {
            return;
        }
        match &self.dag.nodes[node] {
            Node::Variable(var) => self.variable(var),
            Node::IsFirstRow => self.text += "is_first_row",
            Node::IsLastRow => self.text += "is_last_row",
            Node::IsTransition => self.text += "is_transition",
            Node::Constant(value) => self.text += &value.to_string(),
            Node::Add {
                left_idx,
                right_idx,
                ..
            } => self.sum(level, *left_idx, " + ", *right_idx, 0),
            Node::Sub {
                left_idx,
                right_idx,
                ..
            } => self.sum(level, *left_idx, " - ", *right_idx, 1),
            Node::Neg { idx, .. } => {
                self.text.push('-');
                self.write(*idx, 2);
            }
            Node::Mul {
                left_idx,
                right_idx,
                ..
            } => {
                self.write(*left_idx, 2);
                self.text += " * ";
                self.write(*right_idx, 2);
            }
        }
    }

    fn sum(&mut self, level: u8, left: usize, sign: &str, right: usize, right_level: u8) {
        if level > 0 {
            self.text.push('(');
        }
        self.write(left, 0);
        self.text += sign;
        self.write(right, right_level);
        if level > 0 {
            self.text.push(')');
        }
    }

    fn variable(&mut self, var: &SymbolicVariable<F>) {
        let (part, offset) = match var.entry {
            Entry::Preprocessed { offset } => ("preprocessed".to_owned(), offset),
            Entry::Main { part_index, offset } if part_index == self.common => {
                ("main".to_owned(), offset)
            }
            Entry::Main { part_index, offset } => (format!("cached{part_index}"), offset),
            Entry::Public => ("public".to_owned(), 0),
            Entry::Challenge => ("challenge".to_owned(), 0),
        };
        let next = if offset > 0 { "'" } else { "" };
        self.text += &format!("{part}{next}[{}]", var.index);
    }
}
