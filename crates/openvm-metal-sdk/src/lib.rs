//! OpenVM programs proved on Metal kernels: from an executable to one aggregated proof.
