//! Small parameters without security, with which a proof is quick.

use openvm_sdk::config::AggregationSystemParams;
use openvm_stark_backend::{
    interaction::LogUpSecurityParameters, SystemParams, WhirConfig, WhirParams,
    WhirProximityStrategy,
};

/// Of the application: the lookup table of multiplication has 2^21 rows.
pub fn app() -> SystemParams {
    toy(21, 3)
}

/// Of the aggregation.
pub fn aggregation() -> AggregationSystemParams {
    AggregationSystemParams {
        leaf: toy(19, 4),
        internal: toy(19, 4),
    }
}

fn toy(log_height: usize, max_constraint_degree: usize) -> SystemParams {
    let (log_blowup, k, security_bits) = (1, 4, 5);
    let whir = WhirParams {
        k,
        log_final_poly_len: log_height % k,
        query_phase_pow_bits: 1,
        folding_pow_bits: 2,
        mu_pow_bits: 3,
        proximity: WhirProximityStrategy::SplitUniqueList {
            m: 3,
            list_start_round: 1,
        },
    };
    SystemParams {
        l_skip: 4,
        n_stack: log_height - 4,
        w_stack: 1 << 12,
        log_blowup,
        whir: WhirConfig::new(log_blowup, log_height, whir, security_bits),
        logup: LogUpSecurityParameters {
            max_interaction_count: 1 << 30,
            log_max_message_length: 7,
            pow_bits: 2,
        },
        max_constraint_degree,
    }
}
