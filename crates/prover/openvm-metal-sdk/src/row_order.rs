//! `RowOrder`: in which order traces have those rows whose order the constraints leave open.

/// Order of rows that OpenVM's libraries make in another order in every run.
///
/// Some traces are written in the order of a hash map, or of threads that add to one list: Poseidon2's of a
/// segment, two of an aggregation node. Any order satisfies the constraints, but proofs differ with it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RowOrder {
    /// By their contents: the bytes of every proof are a function of the job alone, whatever the number of
    /// threads, machines and devices.
    #[default]
    Sorted,
    /// The order in which OpenVM's libraries make them. Proofs of segments then are those of the stock SDK where its traces are
    /// deterministic: on one thread.
    AsMade,
}
