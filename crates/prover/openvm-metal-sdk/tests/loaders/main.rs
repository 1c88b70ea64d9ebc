//! Damaged files: every loader gives an error, in bounded time and memory, and never panics.
//!
//! `cargo test` tries ten seconds for each kind of file. The compiled test needs no checkout and runs campaigns on other machines:
//!
//! | variable | meaning |
//! |---|---|
//! | `OPENVM_METAL_FUZZ_SECONDS` | seconds for each kind, 4 if absent |
//! | `OPENVM_METAL_FUZZ_CASES` | so many cases of all kinds together, whatever time they take |
//! | `OPENVM_METAL_FUZZ_ONLY` | one kind, by its name |
//! | `OPENVM_METAL_FUZZ_SEED` | another seed of the random numbers, 0 if absent |
//! | `OPENVM_METAL_FUZZ_REPLAY` | a file of a case that failed, tried alone, with `..._ONLY` |

mod campaign;
mod elves;
mod kinds;
mod known;
mod memory;
mod mutate;
mod seeds;

#[global_allocator]
static ALLOCATOR: memory::Counting = memory::Counting;
