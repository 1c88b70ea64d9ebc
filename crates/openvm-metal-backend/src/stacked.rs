//! The stacked matrix of a commitment: layout, segments, prover data.
