//! Decisions of the prover that follow from a device's profile, where the configuration does not make them.

use openvm_metal_common::{DeviceProfile, Execution};

/// Decisions of the prover for a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ProverProfile {
    /// Bytes of codewords that are kept from the commitment to the queries. All on a CPU, whose memory is large; a quarter of `budget`
    /// on a GPU: encoding some again is cheap where memory is short.
    pub max_kept_codewords: u64,
    /// Challenges are sampled by kernels and a phase is waited for once: on GPUs, where a host sync costs more than the transcript's
    /// work on the device.
    pub transcript_on_device: bool,
    /// Precompiled constraint kernels are used: where measurements show that they pay, on CUDA devices and CPUs.
    pub precompiled_kernels: bool,
}

impl ProverProfile {
    /// The decisions for a device whose proof may take `budget` bytes.
    pub fn new(profile: &DeviceProfile, budget: u64) -> Self {
        let many_core = profile.many_core();
        Self {
            max_kept_codewords: if many_core { budget / 4 } else { u64::MAX },
            transcript_on_device: many_core,
            precompiled_kernels: match profile.execution {
                // A CPU has SIMD-group matrices in conformance mode alone, where precompiled kernels do not run.
                Execution::MultiCore => !profile.matrix_units,
                Execution::ManyCore => !profile.unified,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decisions_by_device() {
        let of = |name: &str| {
            let profile = DeviceProfile::named(name).expect("a profile");
            ProverProfile::new(&profile, 400)
        };
        let gpu = |precompiled_kernels| ProverProfile {
            max_kept_codewords: 100,
            transcript_on_device: true,
            precompiled_kernels,
        };
        assert_eq!(of("m1-8gb"), gpu(false));
        assert_eq!(of("h100-80gb"), gpu(true));
        let cpu = ProverProfile {
            max_kept_codewords: u64::MAX,
            transcript_on_device: false,
            precompiled_kernels: true,
        };
        assert_eq!(of("cpu"), cpu);
    }
}
