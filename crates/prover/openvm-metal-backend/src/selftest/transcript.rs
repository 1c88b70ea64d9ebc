//! The device's transcript against the SDK's sponge.

use openvm_metal_common::{Grid, MetalBuffer};
use openvm_stark_backend::FiatShamirTranscript;
use openvm_stark_sdk::config::baby_bear_poseidon2::{default_duplex_sponge, DuplexSponge};
use p3_baby_bear::{
    BABYBEAR_RC16_EXTERNAL_FINAL, BABYBEAR_RC16_EXTERNAL_INITIAL, BABYBEAR_RC16_INTERNAL,
};
use p3_field::{Field, PrimeCharacteristicRing, PrimeField32};

use super::hash::table;
use super::{compare, Check, CheckEnv, CheckFailure};
use crate::kernels;
use crate::params::{TranscriptState, TranscriptStepParams};
use crate::prelude::{montgomery, F, SC, WIDTH};

pub(super) const CHECKS: &[Check] = &[
    Check {
        group: "transcript",
        name: "constants",
        run: constants,
    },
    Check {
        group: "transcript",
        name: "steps",
        run: steps,
    },
];

/// Header with the kernels' table.
const HEADER: &str = include_str!("../../metal/hash/spread.h");

/// The table of the kernels follows from Plonky3's constants.
fn constants(_: &mut CheckEnv) -> Result<(), CheckFailure> {
    let actual = table(HEADER, "SPREAD_ROWS[112]");
    compare(|| "SPREAD_ROWS".to_owned(), &actual, &rows().concat())
}

/// The row of each lane, as `spread.h` says what is in it.
fn rows() -> Vec<Vec<u32>> {
    const INTERNAL: usize = BABYBEAR_RC16_INTERNAL.len();
    let [two, three, four] = [2, 3, 4].map(F::from_u32);
    let fraction = |k: u64| two.exp_u64(k).inverse();
    let (tiny, small) = (fraction(27), fraction(8));
    let diagonal: [F; WIDTH] = [
        -two,
        F::ONE,
        two,
        fraction(1),
        three,
        four,
        -fraction(1),
        -three,
        -four,
        small,
        fraction(2),
        fraction(3),
        tiny,
        -small,
        -fraction(4),
        -tiny,
    ];
    // What the elements 1, .., 15 add up to before each internal round, from S-boxes of 0 but for the first.
    let tails = |mut s: [F; WIDTH], first: F| -> Vec<F> {
        let mut boxed = first;
        let round = |_| {
            let tail: F = s[1..].iter().copied().sum();
            for (x, &v) in s.iter_mut().zip(&diagonal).skip(1) {
                *x = v * *x + (tail + boxed);
            }
            boxed = F::ZERO;
            tail
        };
        (0..INTERNAL).map(round).collect()
    };
    let echo = tails([F::ZERO; WIDTH], F::ONE);
    let of_element: Vec<Vec<F>> = (0..WIDTH)
        .map(|i| tails(std::array::from_fn(|j| F::from_bool(i == j)), F::ZERO))
        .collect();
    // Of element 0 in the round after each internal one.
    let mut next = BABYBEAR_RC16_INTERNAL[1..].to_vec();
    next.push(BABYBEAR_RC16_EXTERNAL_FINAL[0][0]);

    let by_2_64 = |c: F| montgomery(c * F::from_u64(1 << 32));
    let signed = |c: F| {
        let word = by_2_64(c);
        word.wrapping_sub(F::ORDER_U32 * u32::from(word > F::ORDER_U32 / 2))
    };
    let row = |lane: usize| {
        let external = BABYBEAR_RC16_EXTERNAL_INITIAL.iter().map(|c| c[lane]);
        let internal = F::from_bool(lane == 0) * BABYBEAR_RC16_INTERNAL[0];
        let last = BABYBEAR_RC16_EXTERNAL_FINAL[1..].iter().map(|c| c[lane]);
        let mut row: Vec<u32> = external.chain([internal]).chain(last).map(signed).collect();
        // The constants in the sums, as the element has them after all rounds.
        let added = next
            .iter()
            .fold(F::ZERO, |sum, &c| diagonal[lane] * sum + c);
        row.push(match lane {
            0 => 0,
            _ => {
                montgomery(BABYBEAR_RC16_EXTERNAL_FINAL[0][lane] - added).wrapping_sub(F::ORDER_U32)
            }
        });
        row.push(montgomery(diagonal[lane]));
        row.push(echo.get(lane).map_or(0, |&c| montgomery(c)));
        row.push(next.get(lane).map_or(0, |&c| by_2_64(c)));
        row.extend(
            of_element
                .iter()
                .map(|tails| tails.get(lane).map_or(0, |&c| montgomery(c))),
        );
        row
    };
    (0..WIDTH).map(row).collect()
}

/// The words of a sponge that a later operation depends on.
fn state_of(sponge: &DuplexSponge) -> TranscriptState {
    TranscriptState {
        cells: *sponge.state(),
        absorb_idx: sponge.absorb_idx() as u32,
        sample_idx: sponge.sample_idx() as u32,
        pad: [0; 2],
    }
}

/// Words observed and sampled in turn, numbers that meet every position of the rate, by one SIMD-group and by several.
fn steps(env: &mut CheckEnv) -> Result<(), CheckFailure> {
    let rounds = if env.conformance() { 12 } else { 60 };
    for threads in [32, 64, 256] {
        let mut sponge = default_duplex_sponge();
        let mut state = MetalBuffer::from_host(env.s, &[state_of(&sponge)])?;
        for round in 0..rounds {
            let observed = [0, 1, 7, 8, 9, 12, 16, 65][env.rng.below(8)];
            let sampled = [0, 1, 4, 4, 8, 9, 17, 130][env.rng.below(8)];
            let mut words = env.rng.fs(observed);
            words.resize(observed + sampled + 1, F::default());
            let mut device = MetalBuffer::from_host(env.s, &words)?;
            let params = TranscriptStepParams {
                observed: observed as u32,
                sampled: sampled as u32,
            };
            let grid = Grid::groups(1, threads);
            kernels::transcript_step(env.s, grid, &mut state, &mut device, &params)?;
            for &word in &words[..observed] {
                FiatShamirTranscript::<SC>::observe(&mut sponge, word);
            }
            for word in &mut words[observed..observed + sampled] {
                *word = FiatShamirTranscript::<SC>::sample(&mut sponge);
            }
            let what = || format!("{threads} threads, step {round}: {observed}, then {sampled}");
            compare(what, &device.to_host(env.s)?, &words)?;
            compare(what, &state.to_host(env.s)?, &[state_of(&sponge)])?;
        }
    }
    Ok(())
}
