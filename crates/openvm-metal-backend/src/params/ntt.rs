//! Parameter structs of the NTT kernels.
