//! Random sets of AIRs with traces that satisfy them and messages that balance.

use std::sync::Arc;

use openvm_stark_backend::{
    prover::{
        stacked_pcs::stacked_commit, AirProvingContext, ColMajorMatrix, CommittedTraceData,
        CpuColMajorBackend,
    },
    StarkProtocolConfig,
};
use openvm_stark_sdk::config::baby_bear_poseidon2::F;
use p3_field::PrimeCharacteristicRing;
use p3_matrix::dense::RowMajorMatrix;
use rand::{rngs::StdRng, seq::SliceRandom, Rng, SeedableRng};

use super::{
    expr::{Expr, Var},
    random_air::{Message, RandomAir},
    HostContext, Input,
};

/// One AIR with the cells of its trace, row by row.
struct Draft {
    air: RandomAir,
    height: usize,
    common: Vec<Vec<F>>,
    cached: Vec<Vec<Vec<F>>>,
    public: Vec<F>,
}

/// Shape limits of a random input.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub max_airs: usize,
    pub max_log_height: usize,
    pub max_width: usize,
    pub degree: usize,
    pub buses: usize,
}

/// A random input; the same for the same seed.
pub fn random_input<S: StarkProtocolConfig<F = F>>(
    seed: u64,
    config: &S,
    limits: Limits,
) -> Input<S> {
    let mut rng = StdRng::seed_from_u64(seed);
    let rng = &mut rng;
    let num_airs = rng.random_range(1..=limits.max_airs);
    let mut drafts: Vec<Draft> = (0..num_airs).map(|_| draft(rng, limits)).collect();
    let buses = rng.random_range(0..=limits.buses);
    for bus in 0..buses {
        let (sender, receiver) = (rng.random_range(0..num_airs), rng.random_range(0..num_airs));
        exchange(
            rng,
            &mut drafts,
            bus as u16,
            sender,
            receiver,
            limits.degree,
        );
    }
    let (airs, per_trace): (Vec<_>, Vec<_>) = drafts
        .into_iter()
        .enumerate()
        .map(|(i, draft)| {
            let (air, ctx) = finish(draft, config);
            (Arc::new(air) as _, (i, ctx))
        })
        .unzip();
    Input {
        airs,
        ctx: HostContext::new(per_trace),
    }
}

fn random_rows(rng: &mut StdRng, height: usize, width: usize) -> Vec<Vec<F>> {
    (0..height)
        .map(|_| (0..width).map(|_| rng.random()).collect())
        .collect()
}

fn draft(rng: &mut StdRng, limits: Limits) -> Draft {
    let height = 1usize << rng.random_range(0..=limits.max_log_height);
    let free = rng.random_range(1..=limits.max_width);
    let cached_widths: Vec<usize> = match rng.random_range(0..4) {
        0 => (0..rng.random_range(1..=2))
            .map(|_| rng.random_range(1..=3))
            .collect(),
        _ => vec![],
    };
    let preprocessed_width = if rng.random_bool(0.25) {
        rng.random_range(1..=3)
    } else {
        0
    };
    let preprocessed = random_rows(rng, height, preprocessed_width);
    let mut vars: Vec<Var> = (0..free).map(Var::Common).collect();
    for (part, &width) in cached_widths.iter().enumerate() {
        vars.extend((0..width).map(|j| Var::Cached(part, j)));
    }
    vars.extend((0..preprocessed_width).map(Var::Preprocessed));

    let mut air = RandomAir {
        preprocessed: (preprocessed_width > 0)
            .then(|| RowMajorMatrix::new(preprocessed.concat(), preprocessed_width)),
        common_width: free,
        ..RandomAir::default()
    };
    let mut draft_common = random_rows(rng, height, free);
    let cached: Vec<_> = cached_widths
        .iter()
        .map(|&width| random_rows(rng, height, width))
        .collect();
    air.cached_widths = cached_widths;
    let mut public = vec![];
    let value = |common: &[Vec<F>], public: &[F], row: usize, var: Var| match var {
        Var::Common(j) => common[row][j],
        Var::Cached(part, j) => cached[part][row][j],
        Var::Preprocessed(j) => preprocessed[row][j],
        Var::Public(j) => public[j],
    };

    // States first: their constraints may use each other. A transition costs a degree.
    let states = if limits.degree >= 2 {
        rng.random_range(0..=2)
    } else {
        0
    };
    for _ in 0..states {
        let column = air.common_width;
        air.common_width += 1;
        let degree = rng.random_range(1..limits.degree);
        let expr = Expr::random(rng, &vars, degree);
        let mut state: F = rng.random();
        public.push(state);
        for row in 0..height {
            draft_common[row].push(state);
            state = expr.eval(|x| x, |var| value(&draft_common, &public, row, var));
        }
        air.states.push((column, expr, public.len() - 1));
        if rng.random_bool(0.5) {
            public.push(draft_common[height - 1][column]);
            air.last.push((column, public.len() - 1));
        }
        vars.push(Var::Common(column));
    }
    for _ in 0..rng.random_range(1..=4) {
        let column = air.common_width;
        air.common_width += 1;
        let degree = rng.random_range(1..=limits.degree);
        let mut expr = Expr::random(rng, &vars, degree);
        if !public.is_empty() && rng.random_bool(0.3) {
            let var = Var::Public(rng.random_range(0..public.len()));
            expr.0.push((F::from_u32(7), vec![var]));
        }
        for row in 0..height {
            let cell = expr.eval(|x| x, |var| value(&draft_common, &public, row, var));
            draft_common[row].push(cell);
        }
        air.derived.push((column, expr));
        if rng.random_bool(0.5) {
            vars.push(Var::Common(column));
        }
    }
    air.num_public = public.len();
    Draft {
        air,
        height,
        common: draft_common,
        cached,
        public,
    }
}

/// A bus on which one AIR sends what another (or the same) receives, in another order.
fn exchange(
    rng: &mut StdRng,
    drafts: &mut [Draft],
    bus: u16,
    sender: usize,
    receiver: usize,
    degree: usize,
) {
    let rows = drafts[sender].height.min(drafts[receiver].height);
    let length = rng.random_range(1..=4);
    let messages: Vec<(Vec<F>, F)> = (0..rows)
        .map(|_| {
            let fields = (0..length).map(|_| rng.random()).collect();
            (fields, F::from_u32(rng.random_range(0..5)))
        })
        .collect();
    let products = degree >= 2 && rng.random_bool(0.5);
    for (air, send) in [(sender, true), (receiver, false)] {
        let draft = &mut drafts[air];
        let mut order: Vec<usize> = (0..draft.height).collect();
        order.shuffle(rng);
        let base = draft.air.common_width;
        // The sender may split its first field into two factors.
        let split = send && products;
        let width = length + 1 + usize::from(split);
        draft.air.common_width += width;
        for (i, &row) in order.iter().enumerate() {
            let random: Vec<F> = (0..length).map(|_| rng.random()).collect();
            let (mut fields, count) = messages.get(i).cloned().unwrap_or((random, F::ZERO));
            if split {
                let factor = F::from_u32(rng.random_range(1..1 << 20));
                fields[0] *= p3_field::Field::inverse(&factor);
                fields.push(factor);
            }
            draft.common[row].extend(fields);
            draft.common[row].push(count);
        }
        let mut fields: Vec<Expr> = (0..length)
            .map(|j| Expr::var(Var::Common(base + j)))
            .collect();
        if split {
            fields[0].0[0].1.push(Var::Common(base + length));
        }
        let count = Expr::var(Var::Common(base + width - 1));
        draft.air.messages.push(Message {
            bus,
            fields,
            count,
            send,
        });
    }
}

fn matrix(rows: &[Vec<F>], width: usize) -> ColMajorMatrix<F> {
    ColMajorMatrix::from_row_major(&RowMajorMatrix::new(rows.concat(), width))
}

fn finish<S: StarkProtocolConfig<F = F>>(
    draft: Draft,
    config: &S,
) -> (RandomAir, AirProvingContext<CpuColMajorBackend<S>>) {
    let Draft {
        air,
        common,
        cached,
        public,
        ..
    } = draft;
    let params = config.params();
    let cached_mains = cached
        .iter()
        .zip(&air.cached_widths)
        .map(|(rows, &width)| {
            let trace = matrix(rows, width);
            let (commitment, data) = stacked_commit(
                config.hasher(),
                params.l_skip,
                params.n_stack,
                params.log_blowup,
                params.k_whir(),
                &[&trace],
            )
            .expect("a cached trace that fits");
            CommittedTraceData {
                commitment,
                trace,
                data: Arc::new(data),
            }
        })
        .collect();
    let ctx = AirProvingContext::new(cached_mains, matrix(&common, air.common_width), public);
    (air, ctx)
}
