//! Captured profiles of real executions: the shapes of a segment's traces, without their contents.
//!
//! A profile is a file of JSON lines, one segment each (schema v2 of OpenVM's capture).

mod air;
mod trace;

use std::{
    fs::File,
    io::{BufRead, BufReader},
    path::Path,
};

use openvm_stark_backend::prover::ProvingContext;
use rand::{rngs::StdRng, SeedableRng};
use serde::Deserialize;

use self::air::ShapeAir;
use crate::{
    circuit::catalogue::{Circuit, SC},
    error::{CliError, Result},
};

/// The only schema that is read.
const SCHEMA: &str = "v2";

/// The shapes of one segment's traces.
#[derive(Clone, Debug, Deserialize)]
pub struct SegmentShape {
    schema: String,
    /// Number of the segment in its execution.
    pub segment_idx: usize,
    /// Highest degree of a constraint.
    pub global_max_constraint_degree: usize,
    airs: Vec<AirShape>,
}

/// The shape of one trace and of its AIR.
#[derive(Clone, Debug, Deserialize)]
pub struct AirShape {
    air_name: String,
    /// Rows, a power of two.
    height: usize,
    width: Widths,
    num_constraints: usize,
    max_constraint_degree: usize,
    /// Bus of each interaction.
    buses: Vec<u16>,
    /// Elements of each interaction's message.
    interaction_message_lens: Vec<usize>,
    interaction_count_weights: Vec<u32>,
}

/// Columns of a trace by partition.
#[derive(Clone, Debug, Deserialize)]
struct Widths {
    preprocessed: Option<usize>,
    cached_mains: Vec<usize>,
    common_main: usize,
}

impl SegmentShape {
    /// The `every`-th segments of a profile, traces cut to `2^max_log_height` rows.
    ///
    /// # Errors
    /// If the file cannot be read or holds something else.
    pub fn read(path: &Path, every: usize, max_log_height: u8) -> Result<Vec<Self>> {
        let cannot = |source| CliError::Read {
            path: path.display().to_string(),
            source,
        };
        let file = File::open(path).map_err(cannot)?;
        let mut shapes = Vec::new();
        for (number, line) in BufReader::new(file).lines().enumerate() {
            let line = line.map_err(cannot)?;
            if number % every != 0 || line.trim().is_empty() {
                continue;
            }
            let shape = Self::parse(&line, max_log_height).map_err(|reason| CliError::Corrupt {
                path: path.display().to_string(),
                what: "profile",
                reason: format!("line {}: {reason}", number + 1),
            })?;
            shapes.push(shape);
        }
        Ok(shapes)
    }

    fn parse(line: &str, max_log_height: u8) -> Result<Self, String> {
        let mut shape: Self = serde_json::from_str(line).map_err(|error| error.to_string())?;
        if shape.schema != SCHEMA {
            return Err(format!("schema {}, not {SCHEMA}", shape.schema));
        }
        for air in &mut shape.airs {
            air.check()?;
            air.height = air.height.min(1 << max_log_height);
        }
        Ok(shape)
    }

    /// Rows of the tallest trace.
    pub fn rows(&self) -> usize {
        self.airs.iter().map(|air| air.height).max().unwrap_or(1)
    }

    /// AIRs of these shapes with random traces that satisfy them.
    pub fn circuit(&self, seed: u64, config: &SC) -> Circuit {
        let mut rng = StdRng::seed_from_u64(seed ^ self.segment_idx as u64);
        let (airs, traces): (Vec<_>, Vec<_>) = self
            .airs
            .iter()
            .map(|shape| ShapeAir::new(shape.clone()).with_trace(&mut rng, config))
            .unzip();
        let traces = traces.into_iter().enumerate().collect();
        Circuit {
            airs,
            ctx: ProvingContext::new(traces).into_sorted(),
        }
    }
}

impl AirShape {
    fn check(&self) -> Result<(), String> {
        let what = |what: &str| Err(format!("{}: {what}", self.air_name));
        if !self.height.is_power_of_two() {
            return what("a height that is no power of two");
        }
        let interactions = self.buses.len();
        if self.interaction_message_lens.len() != interactions
            || self.interaction_count_weights.len() != interactions
        {
            return what("lists of different lengths for its interactions");
        }
        if self.width.common_main == 0 && self.num_constraints + interactions > 0 {
            return what("constraints without columns");
        }
        if self.max_constraint_degree < 2 && self.num_constraints > 0 {
            return what("constraints of degree 1");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use openvm_stark_backend::{prover::DeviceDataTransporter, StarkEngine};
    use openvm_stark_sdk::config::{
        app_params_with_100_bits_security,
        baby_bear_poseidon2::{BabyBearPoseidon2CpuEngine, DuplexSponge},
    };

    use super::*;

    const LINE: &str = r#"{"schema": "v2", "segment_idx": 3, "global_max_constraint_degree": 4, "airs": [
        {"air_name": "A", "height": 64, "width": {"preprocessed": 2, "cached_mains": [3], "common_main": 1},
         "num_constraints": 0, "max_constraint_degree": 1, "buses": [2], "interaction_message_lens": [5],
         "interaction_count_weights": [0]},
        {"air_name": "B", "height": 256, "width": {"preprocessed": null, "cached_mains": [], "common_main": 7},
         "num_constraints": 9, "max_constraint_degree": 4, "buses": [1, 1, 2, 3, 3],
         "interaction_message_lens": [2, 2, 9, 1, 1], "interaction_count_weights": [1, 1, 1, 1, 0]}]}"#;

    #[test]
    fn random_traces_satisfy_airs() {
        let shape = SegmentShape::parse(LINE, 7).unwrap();
        assert_eq!(shape.rows(), 128);
        let mut params = app_params_with_100_bits_security(14);
        params.max_constraint_degree = shape.global_max_constraint_degree;
        let engine = BabyBearPoseidon2CpuEngine::<DuplexSponge>::new(params);
        let circuit = shape.circuit(1, engine.config());
        let (pk, vk) = engine.keygen(&circuit.airs);
        let device_pk = engine.device().transport_pk_to_device(&pk);
        let ctx = engine
            .device()
            .transport_proving_ctx_to_device(&circuit.ctx);
        let proof = engine.prove(&device_pk, ctx).unwrap();
        engine.verify(&vk, &proof).unwrap();
    }

    #[test]
    fn invalid_profiles_are_refused() {
        for (from, to, message) in [
            ("v2", "v1", "schema v1"),
            ("\"height\": 256", "\"height\": 200", "power of two"),
            ("[2, 2, 9, 1, 1]", "[2, 2]", "different lengths"),
            (
                "\"common_main\": 7",
                "\"common_main\": 0",
                "without columns",
            ),
            (
                "\"max_constraint_degree\": 4, \"buses\"",
                "\"max_constraint_degree\": 1, \"buses\"",
                "degree 1",
            ),
            ("\"airs\"", "\"traces\"", "airs"),
        ] {
            let error = SegmentShape::parse(&LINE.replace(from, to), 20).unwrap_err();
            assert!(error.contains(message), "{error}");
        }
    }
}
