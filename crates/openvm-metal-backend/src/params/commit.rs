//! Parameter structs of the trace commitment kernels.
