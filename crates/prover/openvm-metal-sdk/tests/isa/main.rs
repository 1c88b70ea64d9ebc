//! Random programs: executed in each mode and proved, they give what a reference executor gives.
//!
//! `cargo test` tries a sample. `cargo test -p openvm-metal-sdk --test isa -- --ignored --nocapture` is the campaign:
//!
//! | variable | meaning |
//! |---|---|
//! | `OPENVM_METAL_ISA_PROGRAMS` | number of programs that are executed, 10,000 if absent |
//! | `OPENVM_METAL_ISA_CHECKS` | number of programs whose constraints are checked as well, 100 if absent; those that fail have the same error |
//! | `OPENVM_METAL_ISA_PROOFS` | number of long programs that are proved, 10 if absent |
//! | `OPENVM_METAL_ISA_SEED` | seed of the first program, 0 if absent; the others follow |

mod campaign;
mod compare;
mod elf;
mod generate;
mod reference;
#[path = "../riscv/mod.rs"]
mod riscv;
