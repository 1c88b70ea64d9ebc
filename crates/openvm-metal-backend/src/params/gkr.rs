//! Parameter structs of the GKR kernels.
