//! `MetalMatrix`: a column-major matrix in device memory.
