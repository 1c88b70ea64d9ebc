//! Estimate of the peak memory of a proof, phase by phase, so that a proof that cannot fit is refused
//! before it starts.

use std::fmt;

/// Parameters, small tables, results, and what rounding to allocation sizes adds.
const FIXED: u64 = 4 << 20;

/// Estimated device memory of one proof, in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryEstimate {
    /// Inputs: traces, and traces committed before with their codewords.
    pub inputs: u64,
    /// The commitment of the common main traces, kept to the end.
    pub commitment: u64,
    /// What each phase needs on top, by the name of its stage.
    pub phases: Vec<(&'static str, u64)>,
}

impl MemoryEstimate {
    /// Bytes at the peak.
    pub fn peak(&self) -> u64 {
        let phase = self
            .phases
            .iter()
            .map(|&(_, bytes)| bytes)
            .max()
            .unwrap_or(0);
        self.inputs + self.commitment + phase + FIXED
    }

    /// The stage at the peak.
    pub fn peak_phase(&self) -> &'static str {
        self.phases
            .iter()
            .max_by_key(|&&(_, bytes)| bytes)
            .map_or("inputs", |&(name, _)| name)
    }
}

impl fmt::Display for MemoryEstimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "inputs {}, commitment {}", self.inputs, self.commitment)?;
        self.phases
            .iter()
            .try_for_each(|(name, bytes)| write!(f, ", {name} {bytes}"))
    }
}
