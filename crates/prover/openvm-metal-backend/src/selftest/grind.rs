//! Proof-of-work witnesses against the reference's transcript.

use openvm_stark_backend::FiatShamirTranscript;
use openvm_stark_sdk::config::baby_bear_poseidon2::{default_duplex_sponge, DuplexSponge};
use p3_field::{PrimeCharacteristicRing, PrimeField32};

use super::{compare, refused, Check, CheckEnv, CheckFailure};
use crate::grind::grind_smallest;
use crate::prelude::{F, SC};

pub(super) const CHECKS: &[Check] = &[
    Check {
        group: "grind",
        name: "smallest_witness",
        run: smallest_witness,
    },
    Check {
        group: "grind",
        name: "bad_requests",
        run: bad_requests,
    },
];

fn accepts(sponge: &DuplexSponge, bits: usize, witness: F) -> bool {
    FiatShamirTranscript::<SC>::check_witness(&mut sponge.clone(), bits, witness)
}

/// Every absorb position, after observations and after samples, on the host (7 bits) and on the device.
fn smallest_witness(env: &mut CheckEnv) -> Result<(), CheckFailure> {
    let bits_list: &[usize] = if env.conformance() {
        &[7, 8]
    } else {
        &[1, 7, 8, 11, 13]
    };
    for &bits in bits_list {
        for observed in 0..9 {
            let mut sponge = default_duplex_sponge();
            for _ in 0..observed {
                FiatShamirTranscript::<SC>::observe(&mut sponge, env.rng.f());
            }
            if observed % 3 == 2 {
                let _: F = FiatShamirTranscript::<SC>::sample(&mut sponge);
            }
            let witness = grind_smallest(env.s, sponge.state(), sponge.absorb_idx(), bits)?;
            let what = || format!("{bits} bits, absorb position {}", sponge.absorb_idx());
            let expected = (0..F::ORDER_U32)
                .map(F::from_u32)
                .find(|&w| accepts(&sponge, bits, w));
            compare(what, &[Some(witness)], &[expected])?;
        }
    }
    Ok(())
}

fn bad_requests(env: &mut CheckEnv) -> Result<(), CheckFailure> {
    let state = [F::ZERO; 16];
    refused("absorb position 8", grind_smallest(env.s, &state, 8, 10))?;
    refused("31 bits", grind_smallest(env.s, &state, 0, 31))?;
    compare(
        || "0 bits".to_owned(),
        &[grind_smallest(env.s, &state, 0, 0)?],
        &[F::ZERO],
    )
}
