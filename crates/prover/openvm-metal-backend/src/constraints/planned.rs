//! The plans of the whole phase. They follow from shapes and public values, so a helper makes them before the phase begins.

use openvm_metal_common::{CommandStream, DeviceProfile};

use super::{
    input::ConstraintInput,
    logup::LogupPlan,
    mle::MlePlan,
    next_openings::NextPlan,
    plan::{Plan, Resident},
    round0::Round0Plan,
    weights::WeightsPlan,
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
    /// Until they are joined.
    plans: Option<Later<Result<Plans, MetalProverError>>>,
    /// With the tables that were uploaded.
    ready: Option<(Plans, Resident)>,
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
            plans: Some(Later::new(move || Plans::new(&profile, &config, input))),
            ready: None,
        }
    }

    /// Uploads the tables that all steps share, once they are planned.
    pub fn upload(&mut self, s: &CommandStream) -> Result<(), MetalProverError> {
        if let Some(plans) = self.plans.take() {
            let plans = plans.join()?;
            let resident = plans.plan.upload(s)?;
            self.ready = Some((plans, resident));
        }
        Ok(())
    }

    /// The plans, and their tables on the device.
    pub(super) fn join(mut self, s: &CommandStream) -> Result<(Plans, Resident), MetalProverError> {
        self.upload(s)?;
        let missing = || MetalProverError::internal("rap_constraints", "plans after an error");
        self.ready.ok_or_else(missing)
    }
}
