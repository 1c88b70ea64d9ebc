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

/// Every form that this processor can run, by name.
fn forms() -> Vec<(&'static str, HostPoseidon2)> {
    let chosen = [("chosen", HostPoseidon2::new())].into_iter();
    #[cfg(target_arch = "x86_64")]
    let chosen = {
        let wide = super::ifma::Permuter::new().map(|form| ("wide", HostPoseidon2::Wide(form)));
        let narrow =
            super::avx512::Permuter::new().map(|form| ("narrow", HostPoseidon2::Narrow(form)));
        chosen.chain(wide).chain(narrow)
    };
    chosen.collect()
}

/// Forms that this processor cannot run are not tested, which this says.
#[test]
#[cfg(target_arch = "x86_64")]
fn vectors_are_used_where_the_processor_has_them() {
    let narrow = is_x86_feature_detected!("avx512f");
    let wide = narrow && is_x86_feature_detected!("avx512ifma");
    let new = HostPoseidon2::new();
    assert_eq!(matches!(new, HostPoseidon2::Wide(_)), wide);
    assert_eq!(matches!(new, HostPoseidon2::Narrow(_)), narrow && !wide);
    assert_eq!(forms().len(), 1 + usize::from(wide) + usize::from(narrow));
    for (has, form) in [(wide, "products of 52 bits"), (narrow, "AVX-512")] {
        if !has {
            eprintln!("left out: permutations by {form}, which this processor has not");
        }
    }
}

#[test]
fn the_same_as_plonky3() {
    for (name, form) in forms() {
        for state in states() {
            let expected = poseidon2_perm().permute(state);
            assert_eq!(form.permute(state), expected, "{name}: {state:?}");
        }
    }
}

/// Each image is the next state, as in a transcript.
#[test]
fn the_same_as_plonky3_in_a_chain() {
    for (name, form) in forms() {
        let mut state = [F::ZERO; WIDTH];
        let mut expected = state;
        for _ in 0..20_000 {
            form.permute_mut(&mut state);
            poseidon2_perm().permute_mut(&mut expected);
            assert_eq!(state, expected, "{name}");
        }
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
