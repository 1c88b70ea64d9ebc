//! The phase on keccakf: equality at a small height, and its time at larger ones.

use openvm_stark_backend::{
    p3_matrix::Matrix,
    prover::{AirProvingContext, ColMajorMatrix},
    PartitionedBaseAir,
};
use p3_air::{Air, AirBuilder, BaseAir, BaseAirWithPublicValues};
use p3_keccak_air::{generate_trace_rows, KeccakAir};
use rand::{rngs::StdRng, Rng, SeedableRng};

use super::*;

struct Keccak(KeccakAir);
impl<T> BaseAir<T> for Keccak {
    fn width(&self) -> usize {
        BaseAir::<T>::width(&self.0)
    }
}
impl<T> BaseAirWithPublicValues<T> for Keccak {}
impl<T> PartitionedBaseAir<T> for Keccak {}
impl<AB: AirBuilder> Air<AB> for Keccak {
    fn eval(&self, builder: &mut AB) {
        self.0.eval(builder);
    }
}

fn keccak(permutations: usize) -> (Vec<AirRef<SC>>, CpuContext) {
    let mut rng = StdRng::seed_from_u64(1);
    let inputs: Vec<[u64; 25]> = (0..permutations).map(|_| rng.random()).collect();
    let trace = generate_trace_rows::<F>(inputs, 0);
    let (width, height) = (Matrix::width(&trace), Matrix::height(&trace));
    let mut values = Vec::with_capacity(trace.values.len());
    for column in 0..width {
        values.extend((0..height).map(|row| trace.values[row * width + column]));
    }
    let trace = ColMajorMatrix::new(values, width);
    let ctx = ProvingContext::new(vec![(0, AirProvingContext::simple_no_pis(trace))]);
    (vec![Arc::new(Keccak(KeccakAir {}))], ctx)
}

#[test]
fn rules_are_compact() {
    let engine = Engine::new(test_system_params_small(4, 8, 3));
    let (pk, _) = engine.keygen(&[Arc::new(Keccak(KeccakAir {})) as AirRef<SC>]);
    let rules = rules::AirRules::new("keccak", &pk.per_air[0].vk).unwrap();
    let program = &rules.zerocheck;
    assert!(
        program.code.len() < 35_000,
        "{} instructions",
        program.code.len()
    );
    assert!(
        program.blocks.len() > 100,
        "{} blocks",
        program.blocks.len()
    );
    assert_eq!(program.spills, 0);
    assert!(program.registers <= 8, "{} registers", program.registers);
}

#[test]
fn keccak_equals_the_reference() {
    let (airs, ctx) = keccak(2);
    compare(test_system_params_small(4, 14, 3), airs, ctx);
}

/// Time of the phase, for reading; permutations from `KECCAK_LOG` (default 2^5).
#[test]
#[ignore = "a measurement"]
fn keccak_time() {
    let log: usize = std::env::var("KECCAK_LOG")
        .ok()
        .and_then(|v| v.parse().ok())
        .unwrap_or(5);
    let (airs, ctx) = keccak(1 << log);
    let engine = Engine::new(test_system_params_small(4, 17, 3));
    let (pk, _) = engine.keygen(&airs);
    let s = stream();
    for scratch in [2, 4, 8, 16, 32, 64, 256] {
        let config = MetalProverConfig {
            constraint_scratch_bytes: scratch << 20,
            ..Default::default()
        };
        for _ in 0..2 {
            s.context().reset_profile();
            s.context().set_profiling(true);
            let start = std::time::Instant::now();
            prove(&s, &config, &pk, &ctx);
            println!("scratch {scratch} MiB: {:?}", start.elapsed());
        }
        if let Ok(profile) = s.context().profile() {
            println!("{profile:?}");
        }
    }
    println!("{:?}", s.counters());
}
