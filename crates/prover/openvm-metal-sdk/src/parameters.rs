//! Small parameters WITHOUT SECURITY, with which a proof is quick: to try things out and for tests.

use openvm_sdk::config::AggregationSystemParams;
use openvm_stark_backend::{
    interaction::LogUpSecurityParameters, SystemParams, WhirConfig, WhirParams,
    WhirProximityStrategy,
};

/// Rows of the application's stacked matrix, as a power of two: the lookup table of multiplication has 2^21 rows.
pub const TOY_APP_LOG_HEIGHT: usize = 21;
/// Rows of the aggregation's stacked matrices, as a power of two.
pub const TOY_AGGREGATION_LOG_HEIGHT: usize = 19;
/// Rows of the root circuit's stacked matrices, as a power of two.
pub const TOY_ROOT_LOG_HEIGHT: usize = 20;

/// Toy parameters of the application, whose stacked matrices have `2^log_height` rows.
pub fn toy_app(log_height: usize) -> SystemParams {
    toy(log_height, 3)
}

/// Toy parameters of the root circuit, whose stacked matrices have `2^log_height` rows.
pub fn toy_root(log_height: usize) -> SystemParams {
    toy(log_height, 4)
}

/// Toy parameters of the aggregation, whose stacked matrices have `2^log_height` rows.
pub fn toy_aggregation(log_height: usize) -> AggregationSystemParams {
    AggregationSystemParams {
        leaf: toy(log_height, 4),
        internal: toy(log_height, 4),
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
