//! Estimate of the peak memory of a proof, phase by phase, and its refusal.
