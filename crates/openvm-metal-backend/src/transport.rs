//! Host to device: proving keys, matrices, committed traces.
