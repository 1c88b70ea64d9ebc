//! Rows that break constraints: traces checked on the host, one row after the other.
//!
//! A prover does not notice that a trace violates its constraints; the proof is merely not valid.
//! [`check_traces`] evaluates the symbolic constraints of the proving key on every row and adds up every
//! bus. It takes host memory for all traces and some microseconds per row and thousand operations.

mod buses;
mod expression;

use openvm_stark_backend::{
    air_builders::symbolic::{
        symbolic_variable::Entry, SymbolicConstraintsDag, SymbolicExpressionNode as Node,
    },
    prover::{
        AirProvingContext, DeviceMultiStarkProvingKey, DeviceStarkProvingKey, ProvingContext,
    },
};
use p3_field::PrimeCharacteristicRing;
use rayon::prelude::*;

use self::buses::Buses;
use crate::{
    backend::MetalBackend, device::MetalDevice, error::MetalProverError, hash::HashScheme,
    prelude::F, validate::check_shapes,
};

/// Checks that every row of every trace satisfies its constraints, and that the messages of every bus
/// balance.
///
/// # Errors
/// [`MetalProverError::ConstraintViolated`] for the first row of the first AIR that breaks a constraint,
/// [`MetalProverError::BusUnbalanced`] for the first message that does not balance, the errors of
/// [`prove`](openvm_stark_backend::StarkEngine::prove) for inputs of a wrong shape.
pub fn check_traces<SC: HashScheme>(
    device: &MetalDevice<SC>,
    mpk: &DeviceMultiStarkProvingKey<MetalBackend<SC>>,
    ctx: &ProvingContext<MetalBackend<SC>>,
) -> Result<(), MetalProverError> {
    check_shapes(device, mpk, ctx)?;
    let mut buses = Buses::default();
    for (air_id, air) in &ctx.per_trace {
        let pk = &mpk.per_air[*air_id];
        let trace = HostTrace::download(device, pk, air)?;
        trace.check_constraints(*air_id, pk)?;
        buses.add(*air_id, &pk.air_name, &trace, &pk.vk.symbolic_constraints);
    }
    buses.check()
}

/// The traces of one AIR on the host, column major.
struct HostTrace<'a> {
    height: usize,
    preprocessed: Vec<F>,
    /// Cached parts, then the common main trace.
    main: Vec<Vec<F>>,
    public: &'a [F],
}

impl<'a> HostTrace<'a> {
    fn download<SC: HashScheme>(
        device: &MetalDevice<SC>,
        pk: &DeviceStarkProvingKey<MetalBackend<SC>>,
        air: &'a AirProvingContext<MetalBackend<SC>>,
    ) -> Result<Self, MetalProverError> {
        let preprocessed = match &pk.preprocessed_data {
            Some(part) => device.download(&part.trace)?,
            None => vec![],
        };
        let cached = air.cached_mains.iter().map(|part| &part.trace);
        let parts = cached.chain([&air.common_main]);
        Ok(Self {
            height: air.common_main.height(),
            preprocessed,
            main: parts
                .map(|part| device.download(part))
                .collect::<Result<_, _>>()?,
            public: &air.public_values,
        })
    }

    /// The values of all nodes of a DAG in one row. A cell that does not exist is zero: keys are checked
    /// when they are brought to the device.
    fn evaluate(&self, dag: &SymbolicConstraintsDag<F>, row: usize, values: &mut Vec<F>) {
        let cell = |part: &[F], column: usize, offset: usize| {
            let row = (row + offset) % self.height;
            part.get(column * self.height + row).copied()
        };
        values.clear();
        for node in &dag.constraints.nodes {
            let value = match node {
                Node::Variable(var) => match var.entry {
                    Entry::Preprocessed { offset } => cell(&self.preprocessed, var.index, offset),
                    Entry::Main { part_index, offset } => self
                        .main
                        .get(part_index)
                        .and_then(|part| cell(part, var.index, offset)),
                    Entry::Public => self.public.get(var.index).copied(),
                    Entry::Challenge => None,
                }
                .unwrap_or_default(),
                Node::IsFirstRow => F::from_bool(row == 0),
                Node::IsLastRow => F::from_bool(row + 1 == self.height),
                Node::IsTransition => F::from_bool(row + 1 != self.height),
                Node::Constant(value) => *value,
                Node::Add {
                    left_idx,
                    right_idx,
                    ..
                } => values[*left_idx] + values[*right_idx],
                Node::Sub {
                    left_idx,
                    right_idx,
                    ..
                } => values[*left_idx] - values[*right_idx],
                Node::Neg { idx, .. } => -values[*idx],
                Node::Mul {
                    left_idx,
                    right_idx,
                    ..
                } => values[*left_idx] * values[*right_idx],
            };
            values.push(value);
        }
    }

    fn check_constraints<SC: HashScheme>(
        &self,
        air_id: usize,
        pk: &DeviceStarkProvingKey<MetalBackend<SC>>,
    ) -> Result<(), MetalProverError> {
        let dag = &pk.vk.symbolic_constraints;
        let broken = |values: &mut Vec<F>, row: usize| {
            self.evaluate(dag, row, values);
            let constraints = &dag.constraints.constraint_idx;
            let constraint = constraints.iter().position(|&i| values[i] != F::ZERO)?;
            let node = constraints[constraint];
            Some((row, constraint, node, values[node]))
        };
        let first = (0..self.height)
            .into_par_iter()
            .map_init(Vec::new, broken)
            .find_map_first(|violation| violation);
        match first {
            None => Ok(()),
            Some((row, constraint, node, value)) => Err(MetalProverError::ConstraintViolated {
                air_id,
                air: pk.air_name.clone(),
                row,
                constraint,
                expression: expression::render(&dag.constraints, node, self.main.len() - 1),
                value: value.to_string(),
            }),
        }
    }
}
