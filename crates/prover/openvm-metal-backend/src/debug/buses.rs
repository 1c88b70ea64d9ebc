//! The messages of all buses, added up.

use std::collections::BTreeMap;

use openvm_stark_backend::air_builders::symbolic::SymbolicConstraintsDag;
use p3_field::PrimeCharacteristicRing;

use super::HostTrace;
use crate::{error::MetalProverError, prelude::F};

/// Senders and receivers that an error lists.
const MAX_LISTED: usize = 8;

/// Balance of one message.
#[derive(Default)]
struct Balance {
    sum: F,
    /// AIR, row and count of each time, in order.
    times: Vec<(usize, usize, F)>,
}

/// Messages by bus and fields.
#[derive(Default)]
pub(super) struct Buses {
    messages: BTreeMap<u16, BTreeMap<Vec<F>, Balance>>,
    names: BTreeMap<usize, String>,
}

impl Buses {
    /// Adds the interactions of a trace.
    pub fn add(
        &mut self,
        air_id: usize,
        name: &str,
        trace: &HostTrace<'_>,
        dag: &SymbolicConstraintsDag<F>,
    ) {
        if dag.interactions.is_empty() {
            return;
        }
        self.names.insert(air_id, name.to_owned());
        let mut values = Vec::new();
        for row in 0..trace.height {
            trace.evaluate(dag, row, &mut values);
            for interaction in &dag.interactions {
                let count = values[interaction.count];
                if count == F::ZERO {
                    continue;
                }
                let fields = interaction.message.iter().map(|&i| values[i]).collect();
                let bus = self.messages.entry(interaction.bus_index).or_default();
                let balance: &mut Balance = bus.entry(fields).or_default();
                balance.sum += count;
                balance.times.push((air_id, row, count));
            }
        }
    }

    /// Every message must have been received as often as it was sent.
    pub fn check(self) -> Result<(), MetalProverError> {
        for (bus, messages) in &self.messages {
            let Some((fields, balance)) = messages.iter().find(|(_, b)| b.sum != F::ZERO) else {
                continue;
            };
            let mut listed: Vec<String> = balance
                .times
                .iter()
                .take(MAX_LISTED)
                .map(|(air_id, row, count)| {
                    let name = self.names.get(air_id).map_or("", String::as_str);
                    format!("AIR {air_id} ({name}) row {row}: {count}")
                })
                .collect();
            if balance.times.len() > MAX_LISTED {
                listed.push(format!("{} more", balance.times.len() - MAX_LISTED));
            }
            return Err(MetalProverError::BusUnbalanced {
                bus: *bus,
                message: fields.iter().map(F::to_string).collect(),
                sum: balance.sum.to_string(),
                counts: listed.join(", "),
            });
        }
        Ok(())
    }
}
