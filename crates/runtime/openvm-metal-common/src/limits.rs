//! Limits of a kernel's arguments.

/// Number of buffer slots of a kernel, `[[buffer(0)]]` to `[[buffer(30)]]`, as on Apple GPUs.
pub const MAX_BUFFERS: usize = 31;

/// The slot that the builder keeps for the place of a slice in its grid: twelve words, the position of the first
/// threadgroup and of the first thread, and the number of threadgroups and of threads of the grid.
pub const SLICE_BUFFER: usize = 30;

/// Number of `[[threadgroup(n)]]` slots of a kernel.
pub const MAX_THREADGROUP_ARGS: usize = 8;

/// Most numbers of a `Given:` clause.
pub const MAX_GIVEN: usize = 4;
