use openvm_stark_sdk::config::baby_bear_poseidon2::poseidon2_perm;
use p3_baby_bear::Poseidon2BabyBear;
use p3_field::{PrimeCharacteristicRing, PrimeField32};
use p3_symmetric::Permutation;
use rand::{rngs::StdRng, Rng, SeedableRng};

use super::HostPoseidon2;
use crate::prelude::{F, WIDTH};

/// Words at the ends of the range and random ones.
fn states() -> impl Iterator<Item = [F; WIDTH]> {
    let mut rng = StdRng::seed_from_u64(1);
    let ends = [
        0,
        1,
        2,
        F::ORDER_U32 / 2,
        F::ORDER_U32 - 2,
        F::ORDER_U32 - 1,
    ];
    (0..20_000).map(move |i| {
        std::array::from_fn(|_| match i % 4 {
            0 => F::from_u32(ends[rng.random_range(0..ends.len())]),
            1 => F::from_u32(F::ORDER_U32 - 1 - rng.random_range(0..4u32)),
            _ => F::from_u32(rng.random_range(0..F::ORDER_U32)),
        })
    })
}

/// Without such a processor the other tests compare Plonky3 with itself, which this one says.
#[test]
#[cfg(target_arch = "x86_64")]
fn vectors_are_used_where_the_processor_has_them() {
    let has = is_x86_feature_detected!("avx512f");
    assert_eq!(
        matches!(HostPoseidon2::new(), HostPoseidon2::Vector(_)),
        has
    );
    if !has {
        eprintln!(
            "left out: this processor has no AVX-512, so permutations on vectors are not tested"
        );
    }
}

#[test]
fn the_same_as_plonky3() {
    let fast = HostPoseidon2::new();
    for state in states() {
        assert_eq!(
            fast.permute(state),
            poseidon2_perm().permute(state),
            "{state:?}"
        );
    }
}

/// Each image is the next state, as in a transcript.
#[test]
fn the_same_as_plonky3_in_a_chain() {
    let fast = HostPoseidon2::new();
    let mut state = [F::ZERO; WIDTH];
    let mut expected = state;
    for _ in 0..20_000 {
        fast.permute_mut(&mut state);
        poseidon2_perm().permute_mut(&mut expected);
        assert_eq!(state, expected);
    }
}

#[test]
fn other_constants_are_kept() {
    let given = Poseidon2BabyBear::<WIDTH>::new_from_rng_128(&mut StdRng::seed_from_u64(5));
    let state = [F::TWO; WIDTH];
    let other = HostPoseidon2::from(given.clone());
    assert!(matches!(other, HostPoseidon2::Scalar(_)));
    assert_eq!(other.permute(state), given.permute(state));
    let ours = HostPoseidon2::from(poseidon2_perm().clone());
    assert_eq!(ours.permute(state), poseidon2_perm().permute(state));
}
