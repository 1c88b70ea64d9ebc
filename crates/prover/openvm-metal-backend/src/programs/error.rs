//! Errors of an AIR's symbolic constraints.

/// Errors of compiling an AIR's symbolic constraints.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProgramError {
    #[error("AIR {air}: a constraint reads the preprocessed trace, which the AIR does not have")]
    NoPreprocessed { air: String },
    #[error("AIR {air}: a constraint reads trace part {part}, the AIR has {parts}")]
    NoPart {
        air: String,
        part: usize,
        parts: usize,
    },
    #[error(
        "AIR {air}: a constraint reads column {column} of part {part}, which has {width} columns"
    )]
    ColumnIndex {
        air: String,
        part: usize,
        column: usize,
        width: usize,
    },
    #[error("AIR {air}: a constraint reads public value {index}, the AIR has {len}")]
    PublicValueIndex {
        air: String,
        index: usize,
        len: usize,
    },
    #[error("AIR {air}: a constraint reads the row {offset} ahead; only 0 and 1 are supported")]
    Offset { air: String, offset: usize },
    #[error("AIR {air}: challenges in constraints are not supported")]
    Challenge { air: String },
    #[error("AIR {air}: node {node} of the DAG reads node {operand}, which does not precede it")]
    Order {
        air: String,
        node: usize,
        operand: usize,
    },
    #[error("AIR {air}: {what} refers to node {node}, which the DAG does not have")]
    NoNode {
        air: String,
        what: String,
        node: usize,
    },
    #[error("AIR {air}: {count} {what} exceed the limit {limit}")]
    TooLarge {
        air: String,
        what: &'static str,
        count: usize,
        limit: usize,
    },
}
