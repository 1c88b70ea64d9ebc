//! `MetalProverConfig`: size gates and limits of the prover.
