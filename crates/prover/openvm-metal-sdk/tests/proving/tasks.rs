//! One proof by single tasks, as many processes make it: any order, any worker, and nothing accepted but the task's proof.

use std::{
    fs,
    sync::{
        atomic::{AtomicBool, Ordering},
        Arc,
    },
    thread,
};

use openvm_metal_common::Device;
use openvm_metal_sdk::{
    parameters::toy_aggregation,
    tasks::{JobFolder, Plan, SegmentWorker, Span, Task, TaskVerifier},
    Event, MetalSdk, Progress, ProveOptions, SdkError,
};
use openvm_sdk::StdIn;
use openvm_stark_backend::{codec::Encode, proof::Proof};
use openvm_stark_sdk::config::baby_bear_poseidon2::BabyBearPoseidon2Config as SC;

use crate::{
    guest::{elf, sums},
    setup::{input, sdk, tree},
};

const N: u32 = 900;

fn plan() -> Arc<Plan> {
    let options = ProveOptions::default();
    let plan = sdk().plan(elf(&sums(N)), input(), &options).unwrap();
    assert!(plan.segments().len() >= 4);
    // As it reaches another process.
    let read = Plan::from_json(&plan.to_json()).unwrap();
    assert_eq!(read.job(), plan.job());
    Arc::new(read)
}

fn worker(plan: &Arc<Plan>) -> SegmentWorker<openvm_metal_sdk::engine::MetalEngine> {
    sdk()
        .segment_worker(elf(&sums(N)), input(), plan.clone())
        .unwrap()
}

fn bytes(proof: &impl Encode) -> Vec<u8> {
    proof.encode_to_vec().unwrap()
}

/// Proves all nodes over the segments; every proof is verified before it is used.
fn aggregate(
    sdk: &MetalSdk,
    plan: &Plan,
    verifier: &TaskVerifier<openvm_metal_sdk::engine::MetalEngine>,
    segments: Vec<(Proof<SC>, Span)>,
) -> Proof<SC> {
    let mut below = segments;
    for (level, &nodes) in plan.levels().iter().enumerate().skip(1) {
        below = (0..nodes)
            .map(|index| {
                let range = plan.below(level, index).unwrap();
                let (proofs, spans): (Vec<_>, Vec<_>) = below[range].iter().cloned().unzip();
                let proof = sdk.prove_node(plan, level, index, &proofs).unwrap();
                let span = verifier.node(plan, (level, index), &spans, &proof).unwrap();
                (proof, span)
            })
            .collect();
    }
    let [(last, _)] = <[_; 1]>::try_from(below).ok().unwrap();
    last
}

#[test]
fn tasks_in_any_order_become_one_proof() {
    let plan = plan();
    let verifier = sdk().task_verifier(elf(&sums(N))).unwrap();
    let options = ProveOptions::default();
    let count = plan.segments().len();

    // One worker goes backwards and starts again for each, another skips; a third makes the end.
    let (first, second) = (worker(&plan), worker(&plan));
    let mut segments: Vec<_> = (0..count)
        .rev()
        .map(|index| {
            let worker = if index % 2 == 0 { &first } else { &second };
            let proof = worker.prove(index, &options).unwrap();
            let span = verifier.segment(&plan, index, &proof).unwrap();
            (proof, span)
        })
        .collect();
    segments.reverse();
    for pair in segments.windows(2) {
        assert!(pair[0].1.joins(&pair[1].1));
        assert!(!pair[1].1.joins(&pair[0].1));
    }
    let values = worker(&plan).end().unwrap();
    verifier
        .end(&plan, &segments[count - 1].1, &values)
        .unwrap();
    let error = verifier.end(&plan, &segments[0].1, &values).unwrap_err();
    assert!(matches!(error, SdkError::WrongProof { .. }), "{error}");

    // Valid proofs of other tasks are refused.
    let refused = |index: usize, proof: &Proof<SC>, why: &str| {
        let error = verifier.segment(&plan, index, proof).unwrap_err();
        assert!(error.to_string().contains(why), "{error}");
    };
    refused(0, &segments[1].0, "does not begin where the program does");
    refused(count - 1, &segments[1].0, "does not end at its end");
    refused(1, &segments[count - 1].0, "ends at its end");
    let other = sdk()
        .prove_app(elf(&sums(N + 1)), input(), &options.with_in_flight(1))
        .unwrap();
    refused(0, &other.0.per_segment[0], "another program");
    let mut damaged = segments[1].0.clone();
    damaged.stacking_proof.stacking_openings[0].swap(0, 1);
    let error = verifier.segment(&plan, 1, &damaged).unwrap_err();
    assert!(matches!(error, SdkError::WrongProof { .. }), "{error}");

    // Children of another node.
    let leaf = |range: std::ops::Range<usize>, index| {
        let proofs: Vec<_> = segments[range].iter().map(|s| s.0.clone()).collect();
        sdk().prove_node(&plan, 1, index, &proofs)
    };
    let moved = leaf(2..4, 0).unwrap();
    let spans = [segments[0].1, segments[1].1];
    let error = verifier.node(&plan, (1, 0), &spans, &moved).unwrap_err();
    assert!(error.to_string().contains("another part"), "{error}");
    let error = leaf(0..1, 0).unwrap_err();
    assert!(matches!(error, SdkError::Plan(_)), "{error}");

    let last = aggregate(sdk(), &plan, &verifier, segments);
    let proof = verifier.assemble(last, values).unwrap();
    let baseline = sdk().baseline(elf(&sums(N))).unwrap();
    sdk().verify(&baseline, &proof).unwrap();
}

#[test]
fn plans_of_other_jobs_are_refused() {
    let plan = plan();
    let made = |n: u32, input: StdIn| sdk().segment_worker(elf(&sums(n)), input, plan.clone());
    assert!(made(N, input()).is_ok());
    for (n, given) in [(N + 1, input()), (N, StdIn::from_bytes(&[4, 3, 2, 1]))] {
        let error = made(n, given).err().unwrap();
        assert!(matches!(error, SdkError::Plan(_)), "{error}");
    }
    let error = worker(&plan)
        .prove(plan.segments().len(), &ProveOptions::default())
        .unwrap_err();
    assert!(error.to_string().contains("it has no segment"), "{error}");
    for bad in [
        "",
        "{}",
        &plan.to_json().replace("\"format\":1", "\"format\":7"),
    ] {
        let error = Plan::from_json(bad).unwrap_err();
        assert!(matches!(error, SdkError::Plan(_)), "{error}");
    }
    assert!(plan.below(1, 99).is_err());
    assert!(plan.below(0, 0).is_err());
    let error = plan.id(Task::Node { level: 1, index: 0 }).unwrap_err();
    assert!(
        error.to_string().contains("by the proofs below it"),
        "{error}"
    );
}

/// A job's folder serves one process and many.
#[test]
fn a_job_folder_is_a_resume_folder() {
    let plan = plan();
    let temporary = tempfile::tempdir().unwrap();
    let path = temporary.path();
    let folder = JobFolder::open(path, &plan).unwrap();
    let proof = worker(&plan).prove(1, &ProveOptions::default()).unwrap();
    folder
        .store(&plan, Task::Segment(1), &bytes(&proof))
        .unwrap();
    assert_eq!(folder.load(&plan, Task::End).unwrap(), None);
    let segment_2 = fs::copy(path.join("segment-1.proof"), path.join("segment-2.proof"))
        .map(|_| folder.load(&plan, Task::Segment(2)));
    let error = segment_2.unwrap().unwrap_err();
    assert!(error.to_string().contains("is of another"), "{error}");
    let reason = "of segment 1";
    let aside = folder.set_aside(&plan, Task::Segment(2), reason).unwrap();
    assert_eq!(
        fs::read(&aside).unwrap(),
        fs::read(path.join("segment-1.proof")).unwrap()
    );
    let name = aside.file_name().unwrap().to_str().unwrap();
    assert!(name.starts_with("segment-2.proof.rejected-"), "{name}");
    assert_eq!(folder.load(&plan, Task::Segment(2)).unwrap(), None);
    let error = folder
        .set_aside(&plan, Task::Segment(99), reason)
        .unwrap_err();
    assert!(matches!(error, SdkError::Plan(_)), "{error}");

    let options = ProveOptions::default().with_in_flight(1).with_resume(path);
    let (proofs, report) = sdk().prove_app(elf(&sums(N)), input(), &options).unwrap();
    assert_eq!(report.resumed, 1);
    assert_eq!(bytes(&proofs.per_segment[1]), bytes(&proof));
    for (index, proof) in proofs.per_segment.iter().enumerate() {
        let stored = folder.load(&plan, Task::Segment(index)).unwrap().unwrap();
        assert_eq!(stored, bytes(proof));
    }
}

/// A node of one process is found by many, and the other way round; one over other proofs, or with other keys, is not.
#[test]
fn nodes_in_a_job_folder_are_found_by_their_key_and_the_proofs_below() {
    let guest = || elf(&sums(N));
    let temporary = tempfile::tempdir().unwrap();
    let path = temporary.path();
    let options = ProveOptions::default().with_resume(path);
    let proved = sdk().prove(guest(), input(), &options).unwrap();

    let plan = plan();
    let folder = JobFolder::open(path, &plan).unwrap();
    let verifier = sdk().task_verifier(guest()).unwrap();
    let mut below: Vec<Vec<u8>> = (0..plan.segments().len())
        .map(|index| folder.load(&plan, Task::Segment(index)).unwrap().unwrap())
        .collect();
    let first: Vec<_> = below[plan.below(1, 0).unwrap()].to_vec();
    for (level, &nodes) in plan.levels().iter().enumerate().skip(1) {
        below = (0..nodes)
            .map(|index| {
                let range = plan.below(level, index).unwrap();
                let found = folder.load_node(&verifier, (level, index), &below[range]);
                found.unwrap().expect("one process stored it")
            })
            .collect();
    }
    assert!(below == [bytes(&proved.proof.inner)]);

    // Whatever is wrong with a task, it is set aside and kept anew: public values, a node of each kind.
    folder.store(&plan, Task::End, b"no values").unwrap();
    folder.set_aside(&plan, Task::End, "no values").unwrap();
    assert_eq!(folder.load(&plan, Task::End).unwrap(), None);
    folder.store(&plan, Task::End, b"values").unwrap();
    let stored = folder.load(&plan, Task::End).unwrap();
    assert_eq!(stored.as_deref(), Some(&b"values"[..]));
    for level in 1..=3 {
        let node = Task::Node { level, index: 0 };
        let file = path.join(format!("aggregated-{level}-0.proof"));
        let whole = fs::read(&file).unwrap();
        fs::write(&file, &whole[..whole.len() - 1]).unwrap();
        // The damage is found whatever is asked for.
        let error = folder.load_node(&verifier, (level, 0), &first).unwrap_err();
        assert!(error.to_string().contains("is damaged"), "{error}");
        let aside = folder.set_aside(&plan, node, "damaged").unwrap();
        assert_eq!(fs::read(aside).unwrap(), whole[..whole.len() - 1]);
        assert!(!file.exists());
        let found = folder.load_node(&verifier, (level, 0), &first).unwrap();
        assert!(found.is_none());
    }
    // What was set aside is made again, and ends in the same proof.
    let again = sdk().prove(guest(), input(), &options).unwrap();
    assert!(again.proof.inner == proved.proof.inner);

    let mut others = first.clone();
    others.swap(0, 1);
    let found = folder.load_node(&verifier, (1, 0), &others).unwrap();
    assert!(found.is_none(), "over other proofs");
    folder
        .store_node(&verifier, (1, 0), &others, b"a node")
        .unwrap();
    let found = folder.load_node(&verifier, (1, 0), &others).unwrap();
    assert_eq!(found.as_deref(), Some(&b"a node"[..]));
    let found = folder.load_node(&verifier, (1, 0), &first).unwrap();
    assert!(found.is_none(), "it was replaced");

    // The same program and application key with other aggregation parameters.
    let other = MetalSdk::builder(Device::Cpu)
        .min_security_bits(0.0)
        .app_pk(sdk().app_pk().unwrap().as_ref().clone())
        .agg_params(toy_aggregation(18))
        .agg_tree_config(tree())
        .segment_max_memory(1)
        .build()
        .unwrap();
    assert_eq!(
        other.plan(guest(), input(), &options).unwrap().job(),
        plan.job()
    );
    let other = other.task_verifier(guest()).unwrap();
    let found = folder.load_node(&other, (1, 0), &others).unwrap();
    assert!(found.is_none(), "with other keys");
}

/// A worker has several machines: any number of callers, each segment as one process makes it.
#[test]
fn segments_of_many_machines_at_once_are_those_of_one_process() {
    let guest = || elf(&sums(N));
    let options = ProveOptions::default().with_in_flight(1);
    let (app, _) = sdk().prove_app(guest(), input(), &options).unwrap();
    let worker = worker(&plan()).with_machines(3);
    let proofs: Vec<_> = thread::scope(|scope| {
        let begun: Vec<_> = (0..app.per_segment.len())
            .map(|index| {
                let (worker, options) = (&worker, &options);
                scope.spawn(move || worker.prove(index, options).unwrap())
            })
            .collect();
        let values = scope.spawn(|| worker.end().unwrap());
        assert_eq!(
            values.join().unwrap().public_values,
            app.user_public_values.public_values
        );
        begun.into_iter().map(|t| t.join().unwrap()).collect()
    });
    for (index, (made, expected)) in proofs.iter().zip(&app.per_segment).enumerate() {
        assert!(bytes(made) == bytes(expected), "segment {index}");
    }
}

/// Bytes that the host holds of the largest segment.
fn largest(plan: &Arc<Plan>) -> u64 {
    let worker = worker(plan).with_host_memory(0);
    let needed = |index| match worker.prove(index, &ProveOptions::default()) {
        Err(SdkError::HostMemory { needed, bound, .. }) => {
            assert_eq!(bound, 0);
            needed
        }
        _ => panic!("segment {index} is larger than nothing"),
    };
    (0..plan.segments().len()).map(needed).max().unwrap()
}

/// The bound of a worker is that of one process: segments wait for each other, and no byte changes.
#[test]
fn a_worker_holds_no_more_than_it_may() {
    let (plan, options) = (plan(), ProveOptions::default().with_in_flight(1));
    let (app, _) = sdk().prove_app(elf(&sums(N)), input(), &options).unwrap();
    let largest = largest(&plan);
    for bound in [largest, largest * 5 / 2] {
        let worker = worker(&plan).with_machines(3).with_host_memory(bound);
        thread::scope(|scope| {
            for (index, expected) in app.per_segment.iter().enumerate() {
                let (worker, options) = (&worker, &options);
                scope.spawn(move || {
                    let proof = worker.prove(index, options).unwrap();
                    assert!(bytes(&proof) == bytes(expected), "segment {index}");
                });
            }
        });
        let peak = worker.host_traces_peak();
        assert!((largest..=bound).contains(&peak), "{peak} of {bound} bytes");
    }
}

/// Sets a flag, or does something else, when a segment is traced.
struct WhenTraced<F>(F);

impl<F: Fn() + Send + Sync> Progress for WhenTraced<F> {
    fn event(&self, event: Event<'_>) {
        if let Event::SegmentTraced { .. } = event {
            (self.0)();
        }
    }
}

/// Waits until a worker's machine has nothing to do, and gives the segment before which it stands.
fn rest(worker: &SegmentWorker<openvm_metal_sdk::engine::MetalEngine>) -> usize {
    loop {
        match worker.idle_before()[..] {
            [place] if worker.waiting() == 0 => return place,
            _ => thread::yield_now(),
        }
    }
}

/// A caller that gives up leaves the machine to other callers, and its segment is not made.
#[test]
fn segments_that_nobody_wants_are_skipped() {
    let (plan, options) = (plan(), ProveOptions::default());
    // The host has room for one segment: while the first is there, the second waits.
    let bound = largest(&plan);
    let worker = worker(&plan).with_machines(1).with_host_memory(bound);
    let given_up = WhenTraced(|| {
        let flag = AtomicBool::new(false);
        let error = thread::scope(|scope| {
            let second = scope.spawn(|| worker.prove(1, &options.with_cancel(&flag)));
            while worker.waiting() == 0 {
                thread::yield_now();
            }
            flag.store(true, Ordering::Relaxed);
            second.join().unwrap().unwrap_err()
        });
        assert!(matches!(error, SdkError::Cancelled), "{error}");
    });
    worker.prove(0, &options.with_progress(&given_up)).unwrap();
    assert_eq!(rest(&worker), 1, "the second segment was not begun");

    // Once it is traced it is given up before it is proved.
    let flag = AtomicBool::new(false);
    let sets = WhenTraced(|| flag.store(true, Ordering::Relaxed));
    let cancelled = options.with_progress(&sets).with_cancel(&flag);
    let error = worker.prove(1, &cancelled).unwrap_err();
    assert!(matches!(error, SdkError::Cancelled), "{error}");
    assert_eq!(rest(&worker), 2);
    // Both times the host's memory is free again, and the proof is the same.
    let proof = worker.prove(1, &options).unwrap();
    let verifier = sdk().task_verifier(elf(&sums(N))).unwrap();
    verifier.segment(&plan, 1, &proof).unwrap();
}

/// The bytes are a function of the job alone.
#[test]
fn segments_are_those_of_one_process() {
    let n = 300;
    let guest = || elf(&sums(n));
    let options = ProveOptions::default().with_in_flight(1);
    let (app, _) = sdk().prove_app(guest(), input(), &options).unwrap();
    let plan = Arc::new(sdk().plan(guest(), input(), &options).unwrap());
    let verifier = sdk().task_verifier(guest()).unwrap();
    let worker = sdk()
        .segment_worker(guest(), input(), plan.clone())
        .unwrap();
    for (index, expected) in app.per_segment.iter().enumerate() {
        let proof = worker.prove(index, &options).unwrap();
        verifier.segment(&plan, index, &proof).unwrap();
        assert!(bytes(&proof) == bytes(expected), "segment {index}");
    }
    assert_eq!(plan.segments().len(), app.per_segment.len());
    let values = worker.end().unwrap();
    assert_eq!(values.public_values, app.user_public_values.public_values);
}
