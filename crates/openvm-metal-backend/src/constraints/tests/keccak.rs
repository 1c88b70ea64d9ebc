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
    let program = &programs.zerocheck;
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
fn few_rules_stand_for_all_constraints() {
    let programs = crate::programs::AirPrograms::new("keccak", &keccak_key()).unwrap();
    let [rules, _] = programs.rules();
    for shape in &rules.shapes {
        println!(
            "{} rows, {} statements, {} variables, {} uniforms",
            shape.rows,
            shape.statements.len(),
            shape.variables,
            shape.uniforms.len()
        );
    }
    let shapes = || rules.shapes.iter();
    let statements: usize = shapes().map(|shape| shape.statements.len()).sum();
    let products: u64 = shapes().map(|s| u64::from(s.rows) * s.products()).sum();
    let loads: u32 = shapes().map(|s| s.rows * s.variables).sum();
    println!("{statements} statements, {products} products, {loads} loads");
    assert!(rules.shapes.len() < 100, "{} shapes", rules.shapes.len());
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
