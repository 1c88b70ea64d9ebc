//! The passes of a transform.

/// Most stages of a pass: a tile has `2^8` rows.
pub(super) const MAX_STAGES: u32 = 8;
/// Most stages that a thread does on registers at once.
const MAX_RADIX: u32 = 4;
/// Words in a row of a tile, log2; a pass needs as many below its rows, and the last pass above.
const LOG_TILE_WORDS: u32 = 4;

/// Stages `first .. first + stages` of a transform.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pass {
    pub first: u32,
    pub stages: u32,
    /// Leading stages that change nothing, because they meet only zeros.
    pub skipped: u32,
    /// True for the pass that ends the transform.
    pub last: bool,
}

impl Pass {
    /// log2 of the radix of each round, 4 bits each, lowest first.
    pub fn radices(&self) -> u32 {
        let mut left = self.stages - self.skipped;
        let rounds = left.div_ceil(MAX_RADIX);
        let mut radices = 0;
        for round in 0..rounds {
            let radix = left.div_ceil(rounds - round);
            radices |= radix << (4 * round);
            left -= radix;
        }
        radices
    }
}

/// Cuts the `log_n` stages of a zero-padded transform into passes of about equal length.
pub(super) fn plan(log_n: u32, log_message: u32, log_cells: u32) -> Vec<Pass> {
    let padded = log_n - log_message;
    if log_n <= MAX_STAGES {
        let skipped = padded.min(log_n);
        return vec![Pass {
            first: 0,
            stages: log_n,
            skipped,
            last: true,
        }];
    }
    // The last pass needs 2^4 words above it, all others 2^4 words below.
    let least = LOG_TILE_WORDS - log_cells;
    let passes = log_n.div_ceil(MAX_STAGES).max(2);
    let mut plan = Vec::with_capacity(passes as usize);
    let mut first = 0;
    for i in 0..passes {
        let last = i + 1 == passes;
        let left = log_n - first;
        let mut stages = left.div_ceil(passes - i).min(MAX_STAGES);
        if !last && left - stages < least {
            stages = left - least;
        }
        if i == 0 {
            stages = stages.max(least);
        }
        let skipped = padded.saturating_sub(first).min(stages);
        plan.push(Pass {
            first,
            stages,
            skipped,
            last,
        });
        first += stages;
    }
    plan
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passes_cover_all_stages() {
        for log_n in 1..=27 {
            for log_cells in [0, 2] {
                for padded in 0..=log_n {
                    let passes = plan(log_n, log_n - padded, log_cells);
                    let mut next = 0;
                    for pass in &passes {
                        assert_eq!(pass.first, next);
                        assert!(pass.stages >= 1 && pass.stages <= MAX_STAGES);
                        let radices: u32 = (0..8).map(|i| (pass.radices() >> (4 * i)) & 15).sum();
                        assert_eq!(radices + pass.skipped, pass.stages);
                        if !pass.last {
                            assert!(log_n - next - pass.stages + log_cells >= LOG_TILE_WORDS);
                        } else if pass.first > 0 {
                            assert!(pass.first + log_cells >= LOG_TILE_WORDS);
                        }
                        next += pass.stages;
                    }
                    assert_eq!(next, log_n);
                    assert_eq!(passes.iter().map(|pass| pass.skipped).sum::<u32>(), padded);
                }
            }
        }
    }
}
