//! A layer whose challenges the host samples: one wait for each round on the device.

use openvm_metal_common::{CommandStream, MetalBuffer};
use openvm_stark_backend::FiatShamirTranscript;
use p3_field::PrimeCharacteristicRing;

use super::device_rounds::{Challenges, DeviceRounds};
use super::host::{self, HostTable};
use super::round::RoundSums;
use super::rounds::Rounds;
use super::tree::FracTree;
use crate::error::MetalProverError;
use crate::hash::HashScheme;
use crate::prelude::EF;

/// Runs rounds of layer `m` as long as their tables have more than `2^log_host_rows` rows (round 0
/// has), and folds the last of these tables on the host.
pub(super) fn prove_on_device<SC: HashScheme, TS: FiatShamirTranscript<SC>>(
    s: &CommandStream,
    device: &mut DeviceRounds,
    tree: &mut FracTree,
    m: usize,
    lambda: EF,
    rounds: &mut Rounds<'_, SC, TS>,
    log_host_rows: usize,
) -> Result<HostTable, MetalProverError> {
    let xi = rounds.xi();
    let point = MetalBuffer::from_host(s, xi)?;
    device.start_layer(s, point.as_slice(), [0, 1], xi.len() - 1)?;
    let (mut i, mut r) = (0, EF::ZERO);
    loop {
        let memory = MetalBuffer::from_host(s, &[lambda, r, xi[i]])?;
        let challenges = Challenges {
            memory: memory.as_slice(),
            lambda: 0,
            r: 1,
            xi: 2,
        };
        let groups = device.encode(s, tree, m, i, &challenges)?;
        let log_rows_after = m - 2 - i;
        if log_rows_after <= log_host_rows {
            s.count_host_work("gkr: rounds of small tables", 1 << log_rows_after);
            let (sums, mut table) =
                finish_with_table(s, device, tree, (m, i), groups, lambda, &xi[i..])?;
            table.fold(rounds.next(sums));
            return Ok(table);
        }
        let partials = device.partials(groups).to_host(s)?;
        r = rounds.next(add_up(&partials));
        i += 1;
    }
}

/// Sums and table of round `i` of layer `m`, with one wait.
fn finish_with_table(
    s: &CommandStream,
    device: &DeviceRounds,
    tree: &FracTree,
    (m, i): (usize, usize),
    groups: usize,
    lambda: EF,
    xi: &[EF],
) -> Result<(RoundSums, HostTable), MetalProverError> {
    let partials = device.partials(groups).cast()?;
    if i == 0 {
        let (sums, p, q) = tree.layer(m).read_with(s, partials)?;
        let table = HostTable::from_nodes(&p, &q, lambda, xi);
        return Ok((add_up(&host::from_words(&sums)), table));
    }
    let read = s.read_many(&[partials, tree.slot(m - i).as_slice()])?;
    let [sums, columns] = &read[..] else {
        return Err(MetalProverError::internal("gkr", "a read of two slices"));
    };
    Ok((
        add_up(&host::from_words(sums)),
        HostTable::from_columns(columns, xi),
    ))
}

/// The sums of all threadgroups.
fn add_up(partials: &[EF]) -> RoundSums {
    let mut sums = RoundSums {
        at: EF::ZERO,
        lead: EF::ZERO,
    };
    for partial in partials.chunks_exact(2) {
        sums.at += partial[0];
        sums.lead += partial[1];
    }
    sums
}
