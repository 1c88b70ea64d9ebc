//! `MetalDevice`: the prover phases behind the traits of `openvm-stark-backend`.
