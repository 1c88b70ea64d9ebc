//! Layers whose challenges the device samples: none is waited for, the host reads them all at the end.
//!
//! The log of the device has a section for each layer: lambda; `s(1), s(2), s(3), r` for each round; the four claims;
//! mu. The host begins it with the section of the last layer that it proved.

use openvm_metal_common::{CommandStream, Grid, MemCopyH2D, MetalBuffer};
use openvm_stark_backend::{proof::GkrLayerClaims, FiatShamirTranscript};
use p3_field::PrimeCharacteristicRing;

use super::device_rounds::{Challenges, DeviceRounds};
use super::rounds::{observe_claims, observe_round};
use super::sizes::LOG_TAIL_ROWS;
use super::tree::FracTree;
use crate::error::MetalProverError;
use crate::hash::HashScheme;
use crate::kernels;
use crate::params::{GkrFinishParams, GkrStartParams, GkrTailParams, TranscriptState};
use crate::prelude::{EF, F};
use crate::transcript::replayed;

/// Layers of at most `2^n` fractions that are on the host in any case: the others have a round to begin with, a round that
/// folds their nodes to columns, and columns to finish in a round or more.
pub(super) const LEAST_HOST_LOG_LAYER: usize = 3;
/// Threads of the threadgroups that end a round or a layer, and of those that begin the first layer.
const THREADS: u32 = 256;
const START_THREADS: u32 = 32;
const PHASE: &str = "gkr";

/// A layer between the host and the device.
pub(super) struct LayerMessages<SC: HashScheme> {
    pub polys: Vec<[EF; 3]>,
    pub claims: GkrLayerClaims<SC>,
    /// mu and the challenges of all rounds: the point of the next layer.
    pub xi: Vec<EF>,
}

/// Places of the parts of the section of a layer with `rounds` rounds.
#[derive(Clone, Copy)]
struct Section {
    start: usize,
    rounds: usize,
}

impl Section {
    fn lambda(&self) -> usize {
        self.start
    }

    fn round(&self, i: usize) -> usize {
        self.start + 1 + 4 * i
    }

    fn claims(&self) -> usize {
        self.round(self.rounds)
    }

    fn end(&self) -> usize {
        self.claims() + 5
    }

    /// Coordinate `i` of the point of the next layer.
    fn coordinate(&self, i: usize) -> usize {
        match i {
            0 => self.claims() + 4,
            _ => self.round(i - 1) + 3,
        }
    }

    fn next(&self) -> Self {
        Self {
            start: self.end(),
            rounds: self.rounds + 1,
        }
    }
}

/// Layers whose messages the host has not read.
pub(super) struct SentLayers {
    log: MetalBuffer<EF>,
    sections: Vec<Section>,
}

impl SentLayers {
    /// Reads what was observed and sampled with one wait, lets the device begin with `meanwhile`, and brings the host's transcript to where
    /// the device's was.
    pub fn read<SC: HashScheme, TS: FiatShamirTranscript<SC>, A>(
        self,
        s: &CommandStream,
        transcript: &mut TS,
        meanwhile: impl FnOnce() -> Result<A, MetalProverError>,
    ) -> Result<(Vec<LayerMessages<SC>>, A), MetalProverError> {
        let log = self.log.to_host(s)?;
        let meanwhile = meanwhile()?;
        let sections = self.sections.iter();
        let layers = sections.map(|section| replay(transcript, section, &log));
        Ok((layers.collect::<Result<_, _>>()?, meanwhile))
    }
}

/// Encodes layers `first..=tree.log_len()`; the device's transcript begins as `sponge`. `above` is the layer before `first`, which is at
/// least 3. The memory of the tree is free afterwards, in the order of the stream.
pub(super) fn send_layers<SC: HashScheme>(
    s: &CommandStream,
    (mut device, mut tree): (DeviceRounds, FracTree),
    sponge: TranscriptState,
    first: usize,
    above: (&GkrLayerClaims<SC>, &[EF]),
) -> Result<SentLayers, MetalProverError> {
    let above_section = Section {
        start: 0,
        rounds: first - 2,
    };
    let sections: Vec<Section> =
        std::iter::successors(Some(above_section.next()), |s| Some(s.next()))
            .take(tree.log_len() + 1 - first)
            .collect();
    let end = sections.last().map_or(0, Section::end);
    let mut log = MetalBuffer::uninit(s.context(), end)?;
    first_section(above_section, above).copy_to(log.slice_mut(..above_section.end()), s)?;
    let mut layers = Layers {
        device: &mut device,
        log,
        state: MetalBuffer::from_host(s, &[sponge])?,
        work: MetalBuffer::uninit(s.context(), 2 + tree.log_len())?,
        scratch: MetalBuffer::uninit(s.context(), 12 << LOG_TAIL_ROWS)?,
    };
    layers.begin(s, above_section)?;
    let mut previous = above_section;
    for (m, &section) in (first..).zip(&sections) {
        layers.encode(s, &mut tree, m, previous, section)?;
        previous = section;
    }
    let log = layers.log;
    Ok(SentLayers { log, sections })
}

/// The part of the log that the host knows.
fn first_section<SC: HashScheme>(
    section: Section,
    (claims, xi): (&GkrLayerClaims<SC>, &[EF]),
) -> Vec<EF> {
    let mut log = EF::zero_vec(section.end());
    let at = section.claims();
    log[at..at + 4].copy_from_slice(&[claims.p_xi_0, claims.q_xi_0, claims.p_xi_1, claims.q_xi_1]);
    for (i, &x) in xi.iter().enumerate() {
        log[section.coordinate(i)] = x;
    }
    log
}

/// Device memory of the layers.
struct Layers<'a> {
    device: &'a mut DeviceRounds,
    log: MetalBuffer<EF>,
    state: MetalBuffer<TranscriptState>,
    /// Claim, scale, inverses of the coordinates.
    work: MetalBuffer<EF>,
    /// Columns of the last rounds.
    scratch: MetalBuffer<F>,
}

impl Layers<'_> {
    /// Begins the first layer; each begins the one below.
    fn begin(&mut self, s: &CommandStream, above: Section) -> Result<(), MetalProverError> {
        let start = GkrStartParams {
            previous: above.start as u32,
            rounds: above.next().rounds as u32,
            pad: [0; 2],
        };
        kernels::gkr_start_layer(
            s,
            Grid::groups(1, START_THREADS),
            &mut self.state,
            &mut self.log,
            &mut self.work,
            &start,
        )?;
        Ok(())
    }

    /// Encodes layer `m`: its eq tables, two dispatches for each round on large tables, one for the rest.
    fn encode(
        &mut self,
        s: &CommandStream,
        tree: &mut FracTree,
        m: usize,
        previous: Section,
        section: Section,
    ) -> Result<(), MetalProverError> {
        let rounds = section.rounds;
        self.device
            .start_layer(s, self.log.as_slice(), [previous.start, 4], rounds - 1)?;
        let log_rows = LOG_TAIL_ROWS.min(rounds - 1);
        for i in 0..=rounds - log_rows {
            let challenges = Challenges {
                memory: self.log.as_slice(),
                lambda: section.lambda(),
                r: section.round(i.max(1) - 1) + 3,
                xi: previous.coordinate(i),
            };
            let groups = self.device.encode(s, tree, m, i, &challenges)?;
            let finish = GkrFinishParams {
                partials: groups as u32,
                xi: previous.coordinate(i) as u32,
                inverse: 2 + i as u32,
                at: section.round(i) as u32,
            };
            kernels::gkr_finish_round(
                s,
                Grid::groups(1, THREADS),
                self.device.partials(groups),
                &mut self.state,
                &mut self.log,
                &mut self.work,
                &finish,
            )?;
        }
        let (eq, heap) = self.device.eq();
        let tail = GkrTailParams {
            previous: previous.start as u32,
            rounds: rounds as u32,
            log_rows: log_rows as u32,
            eq: heap as u32,
            next: (m < tree.log_len()) as u32,
            pad: [0; 3],
        };
        kernels::gkr_finish_layer(
            s,
            Grid::groups(1, THREADS),
            tree.slot(log_rows + 1),
            &mut self.scratch,
            eq,
            &mut self.state,
            &mut self.log,
            &mut self.work,
            &tail,
        )?;
        Ok(())
    }
}

/// Shows the host's transcript what the device's has seen.
fn replay<SC: HashScheme, TS: FiatShamirTranscript<SC>>(
    transcript: &mut TS,
    section: &Section,
    log: &[EF],
) -> Result<LayerMessages<SC>, MetalProverError> {
    replayed(PHASE, transcript.sample_ext(), log[section.lambda()])?;
    let mut polys = Vec::with_capacity(section.rounds);
    let mut challenges = Vec::with_capacity(section.rounds);
    for i in 0..section.rounds {
        let at = section.round(i);
        let evals = [log[at], log[at + 1], log[at + 2]];
        let r = observe_round(transcript, &evals);
        replayed(PHASE, r, log[at + 3])?;
        polys.push(evals);
        challenges.push(r);
    }
    let at = section.claims();
    let claims = GkrLayerClaims::<SC> {
        p_xi_0: log[at],
        q_xi_0: log[at + 1],
        p_xi_1: log[at + 2],
        q_xi_1: log[at + 3],
    };
    let mu = observe_claims(transcript, &claims);
    replayed(PHASE, mu, log[at + 4])?;
    Ok(LayerMessages {
        polys,
        claims,
        xi: std::iter::once(mu).chain(challenges).collect(),
    })
}

#[cfg(test)]
mod tests {
    use openvm_stark_sdk::config::baby_bear_poseidon2::default_duplex_sponge;

    use super::*;
    use crate::prelude::SC;
    use crate::selftest::CheckRng;

    /// The log of a device whose transcript is the host's.
    fn log_of(section: &Section, rng: &mut CheckRng) -> Vec<EF> {
        let mut transcript = default_duplex_sponge();
        let mut log = rng.efs(section.end());
        log[section.lambda()] = FiatShamirTranscript::<SC>::sample_ext(&mut transcript);
        for i in 0..section.rounds {
            let at = section.round(i);
            let evals = [log[at], log[at + 1], log[at + 2]];
            log[at + 3] = observe_round::<SC, _>(&mut transcript, &evals);
        }
        let at = section.claims();
        let claims = GkrLayerClaims::<SC> {
            p_xi_0: log[at],
            q_xi_0: log[at + 1],
            p_xi_1: log[at + 2],
            q_xi_1: log[at + 3],
        };
        log[at + 4] = observe_claims(&mut transcript, &claims);
        log
    }

    /// The host's transcript notices each difference of a layer on the device, observed or sampled.
    #[test]
    fn every_element_of_a_layer_is_compared() {
        let section = Section {
            start: 3,
            rounds: 4,
        };
        let log = log_of(&section, &mut CheckRng::new(1));
        let replayed = |log: &[EF]| replay::<SC, _>(&mut default_duplex_sponge(), &section, log);
        let layer = replayed(&log).expect("the same transcript");
        assert_eq!((layer.polys.len(), layer.xi.len()), (4, 5));
        for at in section.start..section.end() {
            let mut log = log.clone();
            log[at] += EF::ONE;
            let error = replayed(&log).err().expect("another transcript");
            assert!(
                matches!(error, MetalProverError::TranscriptsDiffer { phase: PHASE }),
                "{at}: {error}"
            );
        }
    }
}
