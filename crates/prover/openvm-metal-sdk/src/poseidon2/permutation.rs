//! The permutation, round by round, with someone who is told what the AIR has columns for.
//!
//! S-boxes are seventh powers. An external round adds constants, takes the powers of all words and mixes them with the circulant
//! of `M4`; an internal one does so with the first word only and mixes by a diagonal and the sum of all.

use openvm_poseidon2_air::{
    BABYBEAR_BEGIN_EXT_CONSTS, BABYBEAR_END_EXT_CONSTS, BABYBEAR_PARTIAL_CONSTS,
    INTERNAL_DIAG_MONTY_16,
};

use super::{lanes::Lanes, COLUMNS, WIDTH};
use crate::prelude::F;

/// External rounds on each side of the internal ones.
const HALF: usize = 4;
/// Internal rounds.
const INTERNAL: usize = 13;

/// Is told what happens in the rounds.
pub(super) trait Watch<L: Lanes> {
    /// The state before everything.
    fn input(&mut self, state: &[L; WIDTH]);
    /// Cubes of the S-boxes in an external round, from 0 to 7, and the state behind it.
    fn external(&mut self, round: usize, cubes: &[L; WIDTH], state: &[L; WIDTH]);
    /// The cube and the seventh power of the S-box in an internal round.
    fn internal(&mut self, round: usize, cube: L, power: L);
}

/// Ignores all.
pub(super) struct Nothing;

impl<L: Lanes> Watch<L> for Nothing {
    #[inline(always)]
    fn input(&mut self, _: &[L; WIDTH]) {}
    #[inline(always)]
    fn external(&mut self, _: usize, _: &[L; WIDTH], _: &[L; WIDTH]) {}
    #[inline(always)]
    fn internal(&mut self, _: usize, _: L, _: L) {}
}

/// Writes the AIR's row of each lane.
pub(super) struct Cells<'a> {
    cells: &'a mut [F],
    width: usize,
}

impl<'a> Cells<'a> {
    /// Rows of `width` cells, at least as many as lanes.
    pub fn new(cells: &'a mut [F], width: usize) -> Self {
        Self { cells, width }
    }

    #[inline(always)]
    fn put<L: Lanes>(&mut self, column: usize, words: L) {
        words.scatter(|lane, word| self.cells[lane * self.width + column] = word);
    }

    #[inline(always)]
    fn put_all<L: Lanes>(&mut self, column: usize, words: &[L; WIDTH]) {
        for (i, &words) in words.iter().enumerate() {
            self.put(column + i, words);
        }
    }
}

/// Columns: the constant 1, the input, cubes and states of four rounds, cubes and powers of the internal rounds, cubes and
/// states of four rounds.
impl<L: Lanes> Watch<L> for Cells<'_> {
    #[inline(always)]
    fn input(&mut self, state: &[L; WIDTH]) {
        self.put(0, state[0].splat(F::new(1)));
        self.put_all(1, state);
    }

    #[inline(always)]
    fn external(&mut self, round: usize, cubes: &[L; WIDTH], state: &[L; WIDTH]) {
        let internal = if round < HALF { 0 } else { 2 * INTERNAL };
        let column = 1 + WIDTH + 2 * WIDTH * round + internal;
        self.put_all(column, cubes);
        self.put_all(column + WIDTH, state);
    }

    #[inline(always)]
    fn internal(&mut self, round: usize, cube: L, power: L) {
        let column = 1 + WIDTH + 2 * WIDTH * HALF + 2 * round;
        self.put(column, cube);
        self.put(column + 1, power);
    }
}

const _: () = assert!(COLUMNS == 1 + WIDTH + 2 * HALF * 2 * WIDTH + 2 * INTERNAL);

/// Permutes states, and tells about it.
#[inline(always)]
pub(super) fn permute<L: Lanes>(state: &mut [L; WIDTH], watch: &mut impl Watch<L>) {
    watch.input(state);
    mix_external(state);
    external_rounds(state, 0, &BABYBEAR_BEGIN_EXT_CONSTS, watch);
    for (round, &constant) in BABYBEAR_PARTIAL_CONSTS.iter().enumerate() {
        let (cube, power) = s_box(state[0].plus(state[0].splat(constant)));
        watch.internal(round, cube, power);
        state[0] = power;
        mix_internal(state);
    }
    external_rounds(state, HALF, &BABYBEAR_END_EXT_CONSTS, watch);
}

#[inline(always)]
fn external_rounds<L: Lanes>(
    state: &mut [L; WIDTH],
    first: usize,
    constants: &[[F; WIDTH]; HALF],
    watch: &mut impl Watch<L>,
) {
    for (round, constants) in constants.iter().enumerate() {
        let mut cubes = *state;
        for i in 0..WIDTH {
            let (cube, power) = s_box(state[i].plus(state[i].splat(constants[i])));
            cubes[i] = cube;
            state[i] = power;
        }
        mix_external(state);
        watch.external(first + round, &cubes, state);
    }
}

/// The cube and the seventh power.
#[inline(always)]
fn s_box<L: Lanes>(x: L) -> (L, L) {
    let cube = x.times(x).times(x);
    (cube, cube.times(cube).times(x))
}

/// `M4` on each four words, and to each word the sum of those at its place in the fours.
#[inline(always)]
fn mix_external<L: Lanes>(state: &mut [L; WIDTH]) {
    for i in (0..WIDTH).step_by(4) {
        // Rows of M4: 2 3 1 1, 1 2 3 1, 1 1 2 3, 3 1 1 2.
        let [a, b, c, d] = [state[i], state[i + 1], state[i + 2], state[i + 3]];
        let (ab, cd) = (a.plus(b), c.plus(d));
        let sum = ab.plus(cd);
        let (with_b, with_d) = (sum.plus(b), sum.plus(d));
        state[i] = with_b.plus(ab);
        state[i + 1] = with_b.plus(c.twice());
        state[i + 2] = with_d.plus(cd);
        state[i + 3] = with_d.plus(a.twice());
    }
    for place in 0..4 {
        let sum = state[place]
            .plus(state[place + 4])
            .plus(state[place + 8].plus(state[place + 12]));
        for i in (place..WIDTH).step_by(4) {
            state[i] = state[i].plus(sum);
        }
    }
}

/// The sum of all words to each, times its entry of the diagonal, which begins with -2, 1, 2, 1/2, 3, 4, -1/2, -3, -4.
#[inline(always)]
fn mix_internal<L: Lanes>(state: &mut [L; WIDTH]) {
    let mut sums = *state;
    for half in [8, 4, 2, 1] {
        for i in 0..half {
            sums[i] = sums[i].plus(sums[i + half]);
        }
    }
    let sum = sums[0];
    for (i, word) in state.iter_mut().enumerate() {
        *word = match i {
            0 => sum.minus(word.twice()),
            1 => sum.plus(*word),
            2 => sum.plus(word.twice()),
            4 => sum.plus(word.twice().plus(*word)),
            5 => sum.plus(word.twice().twice()),
            7 => sum.minus(word.twice().plus(*word)),
            8 => sum.minus(word.twice().twice()),
            _ => sum.plus(word.times(word.splat(INTERNAL_DIAG_MONTY_16[i]))),
        };
    }
}
