use openvm_metal_common::{Device, DeviceProfile, MetalBuffer, MetalContext};
use openvm_stark_backend::{
    prover::{
        poly::eval_to_coeff_rs_message, stacked_pcs as reference, ColMajorMatrix, MatrixDimensions,
    },
    StarkProtocolConfig,
};
use openvm_stark_sdk::config::baby_bear_bn254_poseidon2::BabyBearBn254Poseidon2Config;
use p3_field::PrimeCharacteristicRing;
use rand::{rngs::StdRng, Rng, SeedableRng};

use super::{message::encode_messages, *};
use crate::{kernels, matrix::MetalSliceOwned, prelude::SC};

fn stream_on(device: Device) -> CommandStream {
    MetalContext::shared_on(device, &[&kernels::LIBRARY])
        .unwrap()
        .stream()
}

fn stream() -> CommandStream {
    stream_on(Device::from_env().unwrap())
}

/// Ranges of a stacked matrix that is cut at `cuts`, with arbitrary cells, always the same.
pub fn ranges_cut_at(s: &CommandStream, cuts: &[usize]) -> Vec<StackedRange> {
    let mut rng = StdRng::seed_from_u64(7);
    let mut range = |cut: &[usize]| {
        let cells: Vec<F> = (cut[0]..cut[1]).map(|_| rng.random()).collect();
        let len = cells.len();
        let cells = MetalBuffer::from_host(s, &cells).unwrap();
        StackedRange {
            start: cut[0] as u64,
            cells: MetalSliceOwned::new(cells.into(), 0, len),
        }
    };
    cuts.windows(2).map(&mut range).collect()
}

fn random_trace(rng: &mut StdRng, log_height: usize, width: usize) -> ColMajorMatrix<F> {
    let cells = (0..width << log_height).map(|_| rng.random()).collect();
    ColMajorMatrix::new(cells, width)
}

fn upload(s: &CommandStream, trace: &ColMajorMatrix<F>) -> MetalMatrix<F> {
    let buffer = MetalBuffer::from_host(s, &trace.values).unwrap();
    MetalMatrix::from_buffer(buffer, trace.height(), trace.width())
}

/// Shapes `(log_height, width)` of several sets of traces, sorted.
const SETS: &[&[(usize, usize)]] = &[
    &[(0, 1)],
    &[(9, 1)],
    &[(9, 7), (7, 3), (7, 1), (4, 33), (1, 2), (0, 5)],
    &[(8, 40), (5, 100), (3, 3), (2, 1), (0, 1)],
    &[(9, 1), (9, 160), (8, 300), (6, 1), (5, 2000), (0, 3)],
];

#[test]
fn messages_equal_the_reference() {
    let l_skips: Vec<usize> = (0..=MAX_L_SKIP).collect();
    check_messages(&stream(), &l_skips, SETS);
}

#[test]
fn messages_in_conformance_mode() {
    check_messages(
        &stream_on(Device::cpu_conformance()),
        &[0, 3, 6],
        &SETS[1..4],
    );
}

fn check_messages(s: &CommandStream, l_skips: &[usize], sets: &[&[(usize, usize)]]) {
    let mut rng = StdRng::seed_from_u64(1);
    for &l_skip in l_skips {
        for set in sets {
            let log_height = 9;
            let traces: Vec<_> = set
                .iter()
                .map(|&(h, w)| random_trace(&mut rng, h, w))
                .collect();
            let refs: Vec<_> = traces.iter().collect();
            let (expected, _) =
                reference::stacked_matrix(l_skip, log_height - l_skip, &refs).unwrap();

            let on_device: Vec<_> = traces.iter().map(|trace| upload(s, trace)).collect();
            let on_device: Vec<_> = on_device.iter().collect();
            let params = CommitParams {
                l_skip,
                log_height,
                log_blowup: 1,
                k_whir: 2,
                kept: KeptCodewords::All,
                memory_budget: None,
            };
            let shapes = trace_shapes(params, &on_device).unwrap();
            let sorted = shapes
                .iter()
                .map(|shape| (shape.width, shape.log_height))
                .collect();
            let layout = StackedLayout::new(l_skip, log_height, sorted).unwrap();
            let ranges = stack(s, params, &layout, &shapes, &on_device).unwrap();
            let mut at = 0;
            for range in &ranges {
                assert_eq!(range.start as usize, at);
                let cells = range.cells.slice().to_host(s).unwrap();
                assert!(
                    cells == expected.values[at..at + cells.len()],
                    "range at {at}"
                );
                at += cells.len();
            }
            assert_eq!(at, expected.values.len());

            let mut code = MetalBuffer::zeroed(s, layout.width() << 10).unwrap();
            let shape = CodeShape {
                l_skip,
                log_height,
                log_blowup: 1,
            };
            encode_messages(
                s,
                &ranges,
                &mut code.as_slice_mut(),
                0..layout.width(),
                shape,
                true,
            )
            .unwrap();
            let code = code.to_host(s).unwrap();
            for (j, column) in expected.columns().enumerate() {
                let message = eval_to_coeff_rs_message(l_skip, column);
                let got = &code[j << 10..(j + 1) << 10];
                assert!(
                    got[..512] == message,
                    "l_skip {l_skip}, set {set:?}, column {j}"
                );
                assert!(
                    got[512..].iter().all(|&x| x == F::ZERO),
                    "column {j} is written past its message"
                );
            }
        }
    }
}

#[test]
fn commitments_equal_the_reference() {
    let shapes = [(2, 1, 3), (4, 2, 4), (0, 1, 1), (6, 3, 2), (3, 4, 0)];
    check_commitments(&stream(), &shapes, SETS);
}

#[test]
fn commitments_in_conformance_mode() {
    let s = stream_on(Device::cpu_conformance());
    check_commitments(&s, &[(2, 1, 3), (4, 2, 4)], &SETS[1..4]);
}

/// Shapes are `(l_skip, log_blowup, k_whir)`.
fn check_commitments(
    s: &CommandStream,
    shapes: &[(usize, usize, usize)],
    sets: &[&[(usize, usize)]],
) {
    let mut rng = StdRng::seed_from_u64(2);
    for &(l_skip, log_blowup, k_whir) in shapes {
        for set in sets {
            let n_stack = 9 - l_skip;
            let traces: Vec<_> = set
                .iter()
                .map(|&(h, w)| random_trace(&mut rng, h, w))
                .collect();
            let refs: Vec<_> = traces.iter().collect();
            let config = SC::default_from_params(
                openvm_stark_backend::test_utils::default_test_params_small(),
            );
            let (root, data) = reference::stacked_commit(
                config.hasher(),
                l_skip,
                n_stack,
                log_blowup,
                k_whir,
                &refs,
            )
            .unwrap();
            let on_device: Vec<_> = traces.iter().map(|trace| upload(s, trace)).collect();
            let on_device: Vec<_> = on_device.iter().collect();
            let params = CommitParams {
                l_skip,
                log_height: 9,
                log_blowup,
                k_whir,
                kept: KeptCodewords::All,
                memory_budget: None,
            };
            let (got, ours) = stacked_commit::<SC>(s, params, &on_device).unwrap();
            let code = ours.tree.backing().slice().to_host(s).unwrap();
            assert!(
                code == data.tree.backing_matrix().values,
                "codewords of {set:?}"
            );
            assert_eq!(got, root, "l_skip {l_skip}, set {set:?}");
            assert_eq!(ours.layout.width(), data.layout.width());
        }
    }
}

/// Codewords that are hashed by windows have the root of those that exist all at once, and the first are kept.
#[test]
fn windows_change_no_commitment() {
    for device in [Device::Cpu, Device::cpu_conformance()] {
        check_windows::<SC>(&stream_on(device));
    }
    let s = stream();
    check_windows::<SC>(&s);
    check_windows::<BabyBearBn254Poseidon2Config>(&s);
    // A device without a cache, whose transforms have another scratch memory.
    let libraries = [&kernels::LIBRARY];
    let builder = MetalContext::builder(Device::Cpu).libraries(&libraries);
    let profile = DeviceProfile::named("h100-80gb").unwrap();
    check_windows::<SC>(&builder.profile(profile).open().unwrap().stream());
}

fn check_windows<C: HashScheme>(s: &CommandStream) {
    let mut rng = StdRng::seed_from_u64(3);
    let log_height = 7;
    for width in [1, 7, 16, 17, 40, 83, 160] {
        // The last stacked column is shared by two traces and padded.
        let shapes = [(log_height, width - 1), (log_height - 1, 1), (3, 2)];
        let traces: Vec<_> = shapes
            .iter()
            .filter(|(_, width)| *width > 0)
            .map(|&(h, w)| upload(s, &random_trace(&mut rng, h, w)))
            .collect();
        let traces: Vec<_> = traces.iter().collect();
        let commit = |kept| {
            let params = CommitParams {
                l_skip: 2,
                log_height,
                log_blowup: 1,
                k_whir: 3,
                kept,
                memory_budget: None,
            };
            let (root, data) = stacked_commit::<C>(s, params, &traces).unwrap();
            let code = data.tree.backing().slice().to_host(s).unwrap();
            (root, code)
        };
        let (root, code) = commit(KeptCodewords::All);
        for last in [0, 8, 32, 400] {
            let kept = KeptCodewords::Last(last);
            let (got, left) = commit(kept);
            assert_eq!(got, root, "{width} columns, {last} kept");
            let columns = kept.columns(width, C::RATE);
            assert!(left == code[columns.start << (log_height + 1)..]);
        }
        let (got, left) = commit(KeptCodewords::AllBut(5));
        assert_eq!(got, root, "{width} columns");
        assert!(left == code[..width.saturating_sub(5) << (log_height + 1)]);
    }
}

#[test]
fn bad_traces_are_refused() {
    let s = stream();
    let params = CommitParams {
        l_skip: 2,
        log_height: 4,
        log_blowup: 1,
        k_whir: 1,
        kept: KeptCodewords::All,
        memory_budget: None,
    };
    let matrix = |height: usize, width: usize| {
        MetalMatrix::from_buffer(
            MetalBuffer::zeroed(&s, height * width).unwrap(),
            height,
            width,
        )
    };
    let commit = |traces: &[MetalMatrix]| {
        let traces: Vec<_> = traces.iter().collect();
        stacked_commit::<SC>(&s, params, &traces)
            .map(|(root, _)| root)
            .unwrap_err()
            .to_string()
    };
    assert!(commit(&[]).contains("no AIR has a trace"));
    assert!(commit(&[matrix(0, 3)]).contains("trace 0: height 0 is not a power of two"));
    assert!(commit(&[matrix(4, 1), matrix(3, 2)]).contains("trace 1: height 3"));
    assert!(commit(&[matrix(32, 1)]).contains("height 32 exceeds the stacked height 2^4"));
    assert!(commit(&[matrix(2, 1), matrix(4, 1)]).contains("trace 1 is taller"));
    assert!(commit(&[matrix(4, 0)]).contains("no AIR has a trace"));
}
