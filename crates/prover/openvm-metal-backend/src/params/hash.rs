//! Parameter structs of the hash kernels.

/// Leaves of a Merkle tree. Thread `g`, with `T = g / query_stride` and `y = g % query_stride`,
/// hashes the rows `((T << log_fold) + u) * query_stride + y`, `u < 2^log_fold`, and combines their
/// digests pairwise.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct MerkleLeafParams {
    /// Rows of the matrix, at least the rows that are hashed.
    pub height: u64,
    /// Digests written.
    pub threads: u32,
    /// Columns.
    pub width: u32,
    /// log2 of the query stride.
    pub log_stride: u32,
    /// At most 4.
    pub log_fold: u32,
}

/// Rows of which some columns are absorbed. The matrix begins with them.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct MerkleAbsorbParams {
    /// Rows of the matrix.
    pub height: u64,
    /// Rows that are absorbed.
    pub rows: u32,
    /// Columns, a multiple of 8.
    pub width: u32,
    /// 0 for the first columns.
    pub resumes: u32,
}

/// Levels of a Merkle tree within blocks of `2^log_block` nodes of one layer.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct MerkleSubtreeParams {
    /// Index in `tree` of the first node of the lowest layer.
    pub first: u64,
    /// log2 of the nodes of that layer.
    pub log_nodes: u32,
    /// Layers to compute.
    pub levels: u32,
    /// log2 of the nodes of that layer for each threadgroup, at least `levels`.
    pub log_block: u32,
    pub unused: u32,
}

/// Openings of a Merkle tree.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct MerkleOpenParams {
    /// Rows of the matrix; rows beyond are zero.
    pub height: u64,
    /// `queries * rows_per_query * width`.
    pub cells: u64,
    /// Columns.
    pub width: u32,
    /// log2 of the rows per query.
    pub log_rows: u32,
    /// log2 of the query stride, the depth of a Merkle proof.
    pub log_stride: u32,
    /// `queries * depth`.
    pub siblings: u32,
}
