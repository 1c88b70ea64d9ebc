//! Parameter structs of the NTT kernels.

/// One pass of a batched NTT. Strides are in words of 4 bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct NttParams {
    /// Words between columns of the source.
    pub src_stride: u64,
    /// Words between columns of the destination.
    pub dst_stride: u64,
    /// log2 of the transform size, at most 27.
    pub log_n: u32,
    /// The source has `2^log_message` elements a column, standing for all `2^log_n`.
    pub log_message: u32,
    /// First stage of this pass.
    pub first: u32,
    /// Stages covered by this pass, at most 8: a tile has `2^stages` rows.
    pub stages: u32,
    /// Leading stages of the pass that change nothing (zero padding).
    pub skipped: u32,
    /// log2 of the radix of each round, 4 bits each, lowest first.
    pub radices: u32,
    /// log2 of the words of an element: 0 or 2.
    pub log_cells: u32,
    /// Columns of this launch.
    pub columns: u32,
    /// Factor of the results in Montgomery form, 0 for none.
    pub scale: u32,
    /// Small sizes: groups of 16 words wide columns per threadgroup.
    pub sets: u32,
}

/// One of the two passes of a transform on tall tiles. Strides are in words of 4 bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct NttTallParams {
    /// Words between columns of the source.
    pub src_stride: u64,
    /// Words between columns of the destination.
    pub dst_stride: u64,
    /// log2 of the transform size, at most 27.
    pub log_n: u32,
    /// Columns of the first pass's source have `2^log_message` words, or elements, standing for all `2^log_n`.
    pub log_message: u32,
    /// Stages of this pass: a tile has `2^stages` rows.
    pub stages: u32,
    /// log2 of the words of a row of the tile, or of its elements where threads have whole ones.
    pub log_words: u32,
    /// Factor of the results in Montgomery form, 0 for none.
    pub scale: u32,
    /// log2 of the words of an element where a pass counts elements: 0 or 2. The first pass on words has 0.
    pub log_cells: u32,
}

/// A matrix transposition: `out[c * rows + r] = in[r * cols + c]`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct TransposeParams {
    /// Rows of the input.
    pub rows: u64,
    /// Columns of the input.
    pub cols: u64,
    /// log2 of the columns of a tile, at most 5; it has 2^11 cells.
    pub log_tile: u32,
    /// Tiles side by side.
    pub tiles: u32,
}
