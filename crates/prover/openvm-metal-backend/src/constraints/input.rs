//! The phase's view of its input: traces as columns in device buffers.

use std::sync::Arc;

use openvm_metal_common::{MetalBuffer, MetalSlice};

use super::AirDataMetal;
use crate::{params::ConstraintColumn, prelude::F, programs::Variable};

/// A part of a trace: column `j`, row `i` is cell `offset + j * column_stride + (i << log_row_stride)`.
#[derive(Clone, Debug)]
pub struct PartInput {
    pub buffer: Arc<MetalBuffer<F>>,
    pub offset: u64,
    pub column_stride: u64,
    pub log_row_stride: u32,
}

/// The trace of one AIR.
#[derive(Clone, Debug)]
pub struct TraceInput {
    pub air_data: AirDataMetal,
    pub log_height: usize,
    /// Preprocessed (if the AIR has it), cached, common main.
    pub parts: Vec<PartInput>,
    pub public_values: Vec<F>,
}

/// All traces of a proof, in falling order of height.
#[derive(Clone, Debug)]
pub struct ConstraintInput {
    pub l_skip: usize,
    /// Over all AIRs of the key.
    pub max_constraint_degree: usize,
    pub logup_pow_bits: usize,
    pub traces: Vec<TraceInput>,
}

impl TraceInput {
    /// Variables of the hypercube after the skip: 0 for traces no taller than the skip domain.
    pub fn n_lift(&self, l_skip: usize) -> usize {
        self.log_height.saturating_sub(l_skip)
    }
}

/// A part of a trace, and the number of its buffer among the sources.
struct PartSource {
    index: usize,
    offset: u64,
    column_stride: u64,
    log_row_stride: u32,
}

/// The parts of one trace.
pub struct PartSources(Vec<PartSource>);

impl PartSources {
    /// The entry that reads `variable` into `column` of the arena, and the group of sources it belongs to.
    pub fn column(&self, variable: Variable, column: u32) -> (usize, ConstraintColumn) {
        let selector = |kind: u32| {
            let entry = ConstraintColumn {
                source: kind << 8,
                column,
                next_column: NO_COLUMN,
                ..Default::default()
            };
            (0, entry)
        };
        match variable {
            Variable::IsFirstRow => selector(1),
            Variable::IsTransition => selector(2),
            Variable::IsLastRow => selector(3),
            Variable::Column {
                part,
                column: of_part,
                next,
            } => {
                let part = &self.0[part as usize];
                let entry = ConstraintColumn {
                    first: part.offset + u64::from(of_part) * part.column_stride,
                    source: (part.index % SOURCES_PER_DISPATCH) as u32
                        | (u32::from(next) << 16)
                        | (part.log_row_stride << 24),
                    column,
                    next_column: NO_COLUMN,
                    unused: 0,
                };
                (part.index / SOURCES_PER_DISPATCH, entry)
            }
        }
    }
}

/// Sources a kernel over columns takes.
pub const SOURCES_PER_DISPATCH: usize = 8;
/// No destination column.
pub const NO_COLUMN: u32 = u32::MAX;

/// The distinct buffers of the traces.
#[derive(Default)]
pub struct Sources(pub Vec<Arc<MetalBuffer<F>>>);

impl Sources {
    fn index(&mut self, buffer: &Arc<MetalBuffer<F>>) -> usize {
        self.0
            .iter()
            .position(|known| Arc::ptr_eq(known, buffer))
            .unwrap_or_else(|| {
                self.0.push(buffer.clone());
                self.0.len() - 1
            })
    }

    /// The parts of a trace among the sources.
    pub fn parts(&mut self, trace: &TraceInput) -> PartSources {
        let of = |part: &PartInput| PartSource {
            index: self.index(&part.buffer),
            offset: part.offset,
            column_stride: part.column_stride,
            log_row_stride: part.log_row_stride,
        };
        PartSources(trace.parts.iter().map(of).collect())
    }

    /// Group `group` of the sources, for one dispatch; unused places repeat the first.
    pub fn group(&self, group: usize) -> [MetalSlice<'_, F>; SOURCES_PER_DISPATCH] {
        let first = group * SOURCES_PER_DISPATCH;
        std::array::from_fn(|k| self.0.get(first + k).unwrap_or(&self.0[first]).slice(..))
    }
}
