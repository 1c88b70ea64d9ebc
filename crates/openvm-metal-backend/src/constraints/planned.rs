//! The plans of the whole phase. They follow from shapes and public values, so a helper makes them before the phase begins.

use openvm_metal_common::DeviceProfile;

use super::{
    input::ConstraintInput, logup::LogupPlan, mle::MlePlan, next_openings::NextPlan, plan::Plan,
    round0::Round0Plan, weights::WeightsPlan,
};
use crate::{beside::Later, config::MetalProverConfig, error::MetalProverError};

/// All plans.
pub(super) struct Plans {
    pub plan: Plan,
    pub logup: LogupPlan,
    pub weights: WeightsPlan,
    pub round0: Round0Plan,
    pub mle: MlePlan,
    pub next: NextPlan,
}

impl Plans {
    fn new(
        profile: &DeviceProfile,
        config: &MetalProverConfig,
        input: ConstraintInput,
    ) -> Result<Self, MetalProverError> {
        let plan = Plan::new(profile, config, input)?;
        // The folded traces are not there yet: round 0 may use their memory.
        let scratch_words = (config.constraint_scratch_bytes / 4).max(plan.fold_words());
        let logup = LogupPlan::new(&plan, scratch_words)?;
        Ok(Self {
            weights: WeightsPlan::new(&plan, &logup),
            logup,
            round0: Round0Plan::new(&plan, scratch_words),
            mle: MlePlan::new(&plan),
            next: NextPlan::new(&plan),
            plan,
        })
    }
}

/// The phase, whose plans are being made.
pub struct PlannedConstraints {
    pub(super) logup_pow_bits: usize,
    pub(super) plans: Later<Result<Plans, MetalProverError>>,
}

impl PlannedConstraints {
    /// Lets a helper plan for a device. Extended columns take at most `config.constraint_scratch_bytes`, or as much as the folded traces if that
    /// is more.
    pub fn begin(
        profile: &DeviceProfile,
        config: &MetalProverConfig,
        input: ConstraintInput,
    ) -> Self {
        let (profile, config) = (profile.clone(), config.clone());
        Self {
            logup_pow_bits: input.logup_pow_bits,
            plans: Later::new(move || Plans::new(&profile, &config, input)),
        }
    }
}
