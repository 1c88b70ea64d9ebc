//! All rounds with challenges that the device samples: they are encoded one after the other and waited for once, before the coefficients
//! of the last one are observed, which the host does quicker, and once more after its queries.
//!
//! The host's transcript is shown what the device observed, and compares what it samples.

mod first_round;
mod messages;
mod replay;

use openvm_metal_common::{Grid, MemCopyD2D, MetalBuffer};
use openvm_stark_backend::{proof::WhirProof, FiatShamirTranscript, WhirConfig};
use p3_field::{PrimeCharacteristicRing, TwoAdicField};

use self::{
    first_round::{first_round, Folded},
    messages::{DeviceMessages, Lengths},
    replay::{replay, replay_queries},
};
use super::{
    opening::{encode_codeword, internal, Opening},
    queries::OpenedQueries,
    tables::DeviceTables,
    weights::{halves, UpdateTables},
};
use crate::{
    config::MetalProverConfig,
    error::MetalProverError,
    grind::MOST_BITS,
    hash::{read_words, HashScheme, MerkleCell, MerkleTreeMetal},
    kernels,
    params::{TranscriptState, WhirQueryParams, WhirTermParams},
    prelude::{D_EF, EF, F},
    tensor,
    transcript::sponge_for_device,
};

/// Queries of a round that are drawn by one dispatch at most.
const MOST_QUERIES: usize = 1 << 19;
/// Inputs of a block of the first fold at most, as a logarithm.
const MOST_LOG_BLOCK: usize = 15;
/// Weights of its `2^k` outputs at most, as a logarithm: they are made on the host.
const MOST_LOG_WEIGHTS: usize = 18;

/// Proves the opening if the transcript can go on on the device and all that is asked for is in its range. Not if a search finds no witness,
/// whose candidates hold one with probability `1 - e^-16`: the transcript is where it was then, and the fallback is counted.
pub(super) fn prove<SC: HashScheme, TS: FiatShamirTranscript<SC> + 'static>(
    opening: &Opening<'_, SC>,
    config: &MetalProverConfig,
    transcript: &mut TS,
) -> Result<Option<WhirProof<SC>>, MetalProverError> {
    let fits = first_fold_fits(opening.shape.l_skip, opening.config.k);
    let folds = opening.config.rounds.len() * opening.config.k <= opening.u.len();
    if !folds || !fits || !in_range(opening.config) {
        return Ok(None);
    }
    let mut shown = transcript.clone();
    let Some(sponge) = sponge_for_device(opening.s, config, transcript) else {
        return Ok(None);
    };
    let proof = prove_from(opening, config, sponge, &mut shown)?;
    match proof.is_some() {
        true => *transcript = shown,
        false => opening.s.count_host_fallback("whir", 1 << opening.u.len()),
    }
    Ok(proof)
}

/// True if the tables of the first fold by `k` variables are small enough.
fn first_fold_fits(l_skip: usize, k: usize) -> bool {
    let log_block = l_skip.max(k);
    log_block <= MOST_LOG_BLOCK && k + log_block <= MOST_LOG_WEIGHTS
}

/// True if kernels have room for the work and the queries.
fn in_range(config: &WhirConfig) -> bool {
    let work = [
        config.mu_pow_bits,
        config.folding_pow_bits,
        config.query_phase_pow_bits,
    ];
    let mut queries = config.rounds.iter().map(|round| round.num_queries);
    config.k > 0
        && !config.rounds.is_empty()
        && work.into_iter().all(|bits| bits <= MOST_BITS)
        && queries.all(|count| (1..MOST_QUERIES).contains(&count))
}

fn prove_from<SC: HashScheme, TS: FiatShamirTranscript<SC> + 'static>(
    opening: &Opening<'_, SC>,
    prover_config: &MetalProverConfig,
    sponge: TranscriptState,
    transcript: &mut TS,
) -> Result<Option<WhirProof<SC>>, MetalProverError> {
    let (s, config) = (opening.s, opening.config);
    let mut opened = OpenedQueries::<SC>::default();
    let Encoded {
        messages,
        coefficients,
        tree,
        log_leaves,
    } = encode(opening, sponge, &mut opened)?;
    let mut slices = vec![
        messages.log().as_slice().cast()?,
        coefficients.as_slice().cast()?,
        messages.drawn().as_slice(),
    ];
    slices.extend(opened.slices()?);
    let mut read = read_words(s, &slices)?.into_iter();
    let mut next = || read.next().unwrap_or_default();
    let [log, coefficients, drawn] = [next(), next(), next()];
    opened.take(read.collect());
    let (log, coefficients) = (EF::from_words(log), EF::from_words(coefficients));
    let Some(mut sent) = replay(transcript, config, log, drawn, coefficients)? else {
        return Ok(None);
    };

    let Some(sponge) = sponge_for_device(s, prover_config, transcript) else {
        return Err(internal("a transcript that was there"));
    };
    let (count, bits) = (last_queries(config), config.query_phase_pow_bits);
    let mut messages = DeviceMessages::new(
        s,
        sponge,
        lengths(0, 0, 1, [count], config),
        opening.candidates,
    )?;
    let queries = Queries::draw(opening, &mut messages, count, log_leaves)?;
    opened.open(opening, tree.as_ref(), &queries.indices)?;
    let mut slices = vec![messages.drawn().as_slice()];
    slices.extend(opened.slices()?);
    let mut read = read_words(s, &slices)?.into_iter();
    let drawn = read.next().unwrap_or_default();
    opened.take(read.collect());
    let Some(witness) = replay_queries(transcript, count, bits, drawn)? else {
        return Ok(None);
    };
    sent.query_witnesses.push(witness);
    Ok(Some(sent.into_proof(opened.join())?))
}

fn last_queries(config: &WhirConfig) -> usize {
    config.rounds.last().map_or(0, |round| round.num_queries)
}

/// All but the queries of the last round.
struct Encoded<SC: HashScheme> {
    messages: DeviceMessages,
    /// Coefficients of the last round.
    coefficients: MetalBuffer<EF>,
    /// Tree that the last queries open, if it is not the commitment's, and its leaves, as a logarithm.
    tree: Option<MerkleTreeMetal<EF, SC>>,
    log_leaves: usize,
}

fn encode<SC: HashScheme>(
    opening: &Opening<'_, SC>,
    sponge: TranscriptState,
    opened: &mut OpenedQueries<SC>,
) -> Result<Encoded<SC>, MetalProverError> {
    let &Opening {
        s,
        config,
        shape,
        u,
        ..
    } = opening;
    let (k, bits) = (config.k, config.folding_pow_bits);
    let rounds = config.rounds.len();
    let queries = config.rounds.iter().map(|round| round.num_queries);
    let queries = queries.take(rounds - 1);
    let lengths = lengths(rounds, rounds - 1, 1 + rounds * (k + 1), queries, config);
    let mut messages = DeviceMessages::new(s, sponge, lengths, opening.candidates)?;
    let mut log_len = shape.log_height;
    let mut log_domain = log_len + shape.log_blowup;
    let mut tree: Option<MerkleTreeMetal<EF, SC>> = None;
    // Of the later rounds.
    let mut tables: Option<DeviceTables> = None;
    for (round, round_config) in config.rounds.iter().enumerate() {
        log_len -= k;
        let log_leaves = log_domain - k;
        let (coefficients, weights, product) = match tables.take() {
            None => {
                let Folded {
                    coefficients,
                    scale,
                } = first_round(opening, &mut messages)?;
                (coefficients, None, Some((&u[k..], scale)))
            }
            Some(mut tables) => {
                messages.sumcheck(s, &mut tables, k, bits)?;
                (tables.c, Some(tables.w), None)
            }
        };
        if round + 1 == rounds {
            return Ok(Encoded {
                messages,
                coefficients,
                tree,
                log_leaves,
            });
        }
        let mut codeword = MetalBuffer::<EF>::uninit(s.context(), 1 << (log_domain - 1))?;
        coefficients.copy_to(codeword.slice_mut(..1 << log_len), s)?;
        let committed = encode_codeword(s, codeword, log_len, k)?;
        let point = messages.commit(s, &committed, &coefficients)?;
        let queries = Queries::draw(opening, &mut messages, round_config.num_queries, log_leaves)?;
        opened.open(opening, tree.as_ref(), &queries.indices)?;
        tree = Some(committed);

        let update = queries.update(opening, &messages, point, log_len, product)?;
        let accumulate = weights.is_some();
        let mut weights = match weights {
            Some(weights) => weights,
            None => MetalBuffer::uninit(s.context(), 1 << log_len)?,
        };
        update.encode(s, &mut weights, accumulate)?;
        tables = Some(DeviceTables::new(coefficients, weights));
        log_domain -= 1;
    }
    Err(internal("no last round"))
}

/// Numbers of elements that sumchecks of these rounds, commitments and queries observe and sample.
fn lengths(
    sumchecks: usize,
    commitments: usize,
    searches: usize,
    queries: impl IntoIterator<Item = usize>,
    config: &WhirConfig,
) -> Lengths {
    let work = usize::from(config.query_phase_pow_bits > 0);
    let words = queries.into_iter().map(|count| 1 + work + count + D_EF);
    Lengths {
        log: 2 + sumchecks * 4 * config.k + commitments * 4,
        searches,
        words: words.sum(),
    }
}

/// The queries of a round on the device: leaves, points and factors.
struct Queries {
    indices: MetalBuffer<u32>,
    points: MetalBuffer<F>,
    gammas: MetalBuffer<EF>,
    /// Place of the words of gamma among those that were drawn.
    gamma: usize,
}

impl Queries {
    /// Draws them, behind the work that is asked for.
    fn draw<SC: HashScheme>(
        opening: &Opening<'_, SC>,
        messages: &mut DeviceMessages,
        count: usize,
        log_leaves: usize,
    ) -> Result<Self, MetalProverError> {
        let (s, context) = (opening.s, opening.s.context());
        let words = count + D_EF;
        let first = messages.draw(s, words, opening.config.query_phase_pow_bits)?;
        let drawn = messages.drawn().slice(first..first + words);
        let mut indices = MetalBuffer::uninit(context, count)?;
        let mut points = MetalBuffer::uninit(context, count)?;
        let mut gammas = MetalBuffer::uninit(context, count)?;
        let params = WhirQueryParams {
            omega: F::two_adic_generator(log_leaves),
            queries: count as u32,
            log_leaves: log_leaves as u32,
        };
        let grid = Grid::threads(count);
        let (to, points_to, gammas_to) = (&mut indices, &mut points, &mut gammas);
        kernels::whir_query_points(s, grid, drawn, to, points_to, gammas_to, &params)?;
        Ok(Self {
            indices,
            points,
            gammas,
            gamma: first + count,
        })
    }

    /// Summands of the `2^log_len` weights: these queries, `gamma` times the powers of the point at `point` of the log, and in the
    /// first round the product of `eq` of the rest of `u` and a scale.
    fn update<SC: HashScheme>(
        self,
        opening: &Opening<'_, SC>,
        messages: &DeviceMessages,
        point: usize,
        log_len: usize,
        product: Option<(&[EF], MetalBuffer<EF>)>,
    ) -> Result<UpdateTables, MetalProverError> {
        let (s, log) = (opening.s, messages.log());
        let gamma = messages.drawn().slice(self.gamma..self.gamma + D_EF);
        let [log_low, log_high] = halves(log_len);
        let terms = 1 + usize::from(product.is_some());
        let mut term_low = MetalBuffer::uninit(s.context(), terms << log_low)?;
        let mut term_high = MetalBuffer::uninit(s.context(), terms << log_high)?;
        let params = WhirTermParams {
            log_low: log_low as u32,
            log_high: log_high as u32,
            z: point as u32,
            product: u32::from(product.is_some()),
        };
        let grid = Grid::threads(1 << log_low.max(log_high));
        let (low, high) = (&mut term_low, &mut term_high);
        match product {
            Some((rest, scale)) => {
                let bits = tensor::eq_bits(rest);
                let mut eq = tensor::expand(&bits[..log_low], EF::ONE);
                eq.extend(tensor::expand(&bits[log_low..], EF::ONE));
                let eq = MetalBuffer::from_host(s, &eq)?;
                kernels::whir_term_tables(s, grid, log, gamma, &eq, &scale, low, high, &params)?;
            }
            // Where there is nothing to read, anything stands.
            None => kernels::whir_term_tables(s, grid, log, gamma, log, log, low, high, &params)?,
        }
        Ok(UpdateTables {
            points: self.points,
            gammas: self.gammas,
            terms,
            term_low,
            term_high,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::first_fold_fits;

    #[test]
    fn large_first_folds_stay_on_the_host() {
        let fits = [(4, 4), (0, 9), (6, 9), (15, 3)];
        let large = [(0, 10), (10, 9), (15, 4), (16, 1)];
        assert!(fits.iter().all(|&(l_skip, k)| first_fold_fits(l_skip, k)));
        assert!(!large.iter().any(|&(l_skip, k)| first_fold_fits(l_skip, k)));
    }
}
