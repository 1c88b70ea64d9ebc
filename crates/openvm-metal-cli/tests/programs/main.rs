//! Programs through the command: run, keys, proofs, files, and what users get wrong.

mod execution;
mod guests;
mod proofs;
mod support;
mod trust;
