//! The phase on keccakf, at a small height.

use openvm_stark_backend::{
    keygen::types::StarkVerifyingKey,
    p3_matrix::Matrix,
    prover::{AirProvingContext, ColMajorMatrix},
    PartitionedBaseAir,
};
use p3_air::{Air, AirBuilder, BaseAir, BaseAirWithPublicValues};
use p3_keccak_air::{generate_trace_rows, KeccakAir};
use rand::{rngs::StdRng, Rng, SeedableRng};

use super::*;
use crate::programs::SumProgram;

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

/// The key of keccakf.
pub fn keccak_key() -> StarkVerifyingKey<F, Digest> {
    let engine = Engine::new(test_system_params_small(4, 8, 3));
    let (pk, _) = engine.keygen(&[Arc::new(Keccak(KeccakAir {})) as AirRef<SC>]);
    pk.per_air[0].vk.clone()
}

#[test]
fn programs_are_compact() {
    let engine = Engine::new(test_system_params_small(4, 8, 3));
    let (pk, _) = engine.keygen(&[Arc::new(Keccak(KeccakAir {})) as AirRef<SC>]);
    let programs = crate::programs::AirPrograms::new("keccak", &pk.per_air[0].vk).unwrap();
    let of = |sum: &SumProgram| (sum.degree, sum.program.code.len());
    let lengths: Vec<(usize, usize)> = programs.sums.iter().map(of).collect();
    println!("degrees and instructions: {lengths:?}");
    let all: usize = lengths.iter().map(|(_, length)| length).sum();
    assert!(all < 36_000, "{all} instructions");
    assert_eq!(programs.sums.last().map(|sum| sum.degree), Some(3));
    for SumProgram { program, .. } in &programs.sums {
        let (blocks, registers) = (program.blocks.len(), program.registers);
        assert!(blocks > program.code.len() / 300, "{blocks} blocks");
        assert_eq!(program.spills, 0);
        assert!(registers <= 8, "{registers} registers");
    }
}

#[test]
fn few_rules_stand_for_all_constraints() {
    let programs = crate::programs::AirPrograms::new("keccak", &keccak_key()).unwrap();
    let all = || programs.rules().flat_map(|rules| &rules.list);
    for rule in all() {
        println!(
            "{} uses, {} statements, {} variables, {} uniforms",
            rule.uses,
            rule.statements.len(),
            rule.variables,
            rule.uniforms.len()
        );
    }
    let statements: usize = all().map(|rule| rule.statements.len()).sum();
    let products: u64 = all().map(|r| u64::from(r.uses) * r.products()).sum();
    let loads: u32 = all().map(|r| r.uses * r.variables).sum();
    println!("{statements} statements, {products} products, {loads} loads");
    assert!(all().count() < 110, "{} rules", all().count());
    assert!(statements < 3000, "{statements} statements");
}

#[test]
fn keccak_equals_the_reference() {
    let (airs, ctx) = keccak(2);
    compare(test_system_params_small(4, 14, 3), airs, ctx);
}

#[test]
fn keccak_equals_the_reference_with_generated_kernels() {
    let (airs, ctx) = keccak(2);
    let params = test_system_params_small(4, 14, 3);
    compare_on(&stream(), &generated(), params, airs, ctx);
}

/// Enough pairs of rows for the vectors of a processor, so that rounds over the hypercube run by kernels too.
#[test]
fn rounds_over_the_hypercube_run_by_generated_kernels() {
    let (airs, ctx) = keccak(4);
    let params = test_system_params_small(1, 17, 3);
    let s = stream();
    s.context().set_profiling(true);
    compare_on(&s, &generated(), params, airs, ctx);
    let profile = s.context().profile().unwrap().to_string();
    let launched = |round: &str| {
        let mut lines = profile.lines();
        lines.any(|line| line.contains("rules_") && line.contains(round))
    };
    assert!(launched("round0") && launched("mle_rounds"), "{profile}");
}
