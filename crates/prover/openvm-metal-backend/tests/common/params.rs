//! System parameters for tests.

use openvm_stark_backend::{
    interaction::LogUpSecurityParameters, SystemParams, WhirConfig, WhirParams,
    WhirProximityStrategy,
};

/// Parameters with little security and little grinding.
#[derive(Clone, Copy, Debug)]
pub struct Small {
    pub l_skip: usize,
    pub n_stack: usize,
    pub k_whir: usize,
    pub log_blowup: usize,
    pub max_degree: usize,
    pub log_final_poly_len: usize,
    pub list_decoding: bool,
}

impl Small {
    pub fn params(self) -> SystemParams {
        let log_height = self.l_skip + self.n_stack;
        let proximity = if self.list_decoding {
            WhirProximityStrategy::ListDecoding { m: 2 }
        } else {
            WhirProximityStrategy::SplitUniqueList {
                m: 3,
                list_start_round: 1,
            }
        };
        // Whole rounds only: what is left over is the final polynomial.
        let left = (log_height - self.log_final_poly_len) % self.k_whir;
        let whir = WhirParams {
            k: self.k_whir,
            log_final_poly_len: self.log_final_poly_len + left,
            query_phase_pow_bits: 1,
            folding_pow_bits: 2,
            mu_pow_bits: 3,
            proximity,
        };
        SystemParams {
            l_skip: self.l_skip,
            n_stack: self.n_stack,
            w_stack: 1 << 12,
            log_blowup: self.log_blowup,
            whir: WhirConfig::new(self.log_blowup, log_height, whir, 5),
            logup: LogUpSecurityParameters {
                max_interaction_count: 1 << 30,
                log_max_message_length: 7,
                pow_bits: 2,
            },
            max_constraint_degree: self.max_degree,
        }
    }
}

/// The shapes that byte equality is tested on.
pub const SMALL: [Small; 10] = [
    small(2, 8, 3, 1, 3, 1, false),
    small(4, 8, 4, 1, 3, 0, false),
    small(4, 9, 4, 2, 4, 1, false),
    small(2, 9, 4, 3, 4, 3, true),
    small(2, 10, 2, 4, 4, 2, true),
    small(5, 7, 3, 1, 2, 0, false),
    small(6, 7, 3, 1, 3, 1, false),
    small(1, 11, 4, 1, 4, 0, false),
    small(3, 10, 1, 1, 2, 9, false),
    small(2, 8, 2, 1, 1, 1, false),
];

const fn small(
    l_skip: usize,
    n_stack: usize,
    k_whir: usize,
    log_blowup: usize,
    max_degree: usize,
    log_final_poly_len: usize,
    list_decoding: bool,
) -> Small {
    Small {
        l_skip,
        n_stack,
        k_whir,
        log_blowup,
        max_degree,
        log_final_poly_len,
        list_decoding,
    }
}
