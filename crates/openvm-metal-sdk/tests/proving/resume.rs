//! A job that is interrupted goes on from the proofs of its segments.

use std::{
    collections::BTreeSet,
    fs,
    path::PathBuf,
    process::{Command, Stdio},
    sync::{
        atomic::{AtomicBool, Ordering},
        Mutex,
    },
    thread,
    time::Duration,
};

use openvm_metal_sdk::{Event, Progress, ProveOptions, SdkError};
use openvm_sdk::StdIn;

use crate::{
    guest::{elf, sums},
    setup::{input, sdk},
};

const N: u32 = 900;

/// Notes which segments were proved and found, and cancels after some.
#[derive(Default)]
struct Watch {
    proved: Mutex<BTreeSet<usize>>,
    found: Mutex<BTreeSet<usize>>,
    cancel: AtomicBool,
    cancel_after: Option<usize>,
}

impl Progress for Watch {
    fn event(&self, event: Event<'_>) {
        match event {
            Event::SegmentProved { segment, .. } => {
                let mut proved = self.proved.lock().unwrap();
                assert!(proved.insert(segment), "segment {segment} was proved twice");
                if self.cancel_after == Some(proved.len()) {
                    self.cancel.store(true, Ordering::Relaxed);
                }
            }
            Event::SegmentResumed { segment, .. } => {
                self.found.lock().unwrap().insert(segment);
            }
            _ => {}
        }
    }
}

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let name = format!("openvm-metal-sdk-{}-{name}", std::process::id());
        Self(std::env::temp_dir().join(name))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn run(folder: &Folder, watch: &Watch, in_flight: usize, input: StdIn) -> Result<usize, SdkError> {
    let options = ProveOptions::default()
        .with_in_flight(in_flight)
        .with_machines(2)
        .with_progress(watch)
        .with_cancel(&watch.cancel)
        .with_resume(&folder.0);
    let (proof, report) = sdk().prove_app(elf(&sums(N)), input, &options)?;
    sdk().verify_app(elf(&sums(N)), &proof)?;
    assert_eq!(report.resumed, watch.found.lock().unwrap().len());
    Ok(report.segments)
}

fn interrupted(in_flight: usize) {
    let folder = Folder::new(&format!("resume-{in_flight}"));
    let first = Watch {
        cancel_after: Some(2),
        ..Watch::default()
    };
    let error = run(&folder, &first, in_flight, input()).unwrap_err();
    assert!(matches!(error, SdkError::Cancelled), "{error}");
    let done = first.proved.into_inner().unwrap();
    assert!(done.len() >= 2);

    // The first is missing, if it was proved at all: machines run over what is found.
    let _ = fs::remove_file(folder.0.join("segment-0.proof"));
    let second = Watch::default();
    let segments = run(&folder, &second, in_flight, input()).unwrap();
    assert!(segments >= 4, "{segments} segments");
    let found = second.found.into_inner().unwrap();
    let proved = second.proved.into_inner().unwrap();
    assert_eq!(found, done.range(1..).copied().collect());
    assert_eq!(proved.len() + found.len(), segments);

    let third = Watch::default();
    run(&folder, &third, in_flight, input()).unwrap();
    assert_eq!(third.found.into_inner().unwrap().len(), segments);
    assert!(third.proved.into_inner().unwrap().is_empty());

    // Another input is another job.
    let other = StdIn::from_bytes(&[4, 3, 2, 1]);
    let error = run(&folder, &Watch::default(), in_flight, other).unwrap_err();
    assert!(matches!(error, SdkError::Resume { .. }), "{error}");
    assert!(
        error.to_string().contains("another program, input"),
        "{error}"
    );

    let file = folder.0.join("segment-1.proof");
    let mut bytes = fs::read(&file).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&file, &bytes).unwrap();
    let error = run(&folder, &Watch::default(), in_flight, input()).unwrap_err();
    assert!(
        error.to_string().contains("segment-1.proof is damaged"),
        "{error}"
    );
    fs::write(&file, &bytes[..40]).unwrap();
    let error = run(&folder, &Watch::default(), in_flight, input()).unwrap_err();
    assert!(matches!(error, SdkError::Resume { .. }), "{error}");
}

#[test]
fn an_interrupted_pipeline_goes_on() {
    interrupted(3);
}

#[test]
fn an_interrupted_job_on_one_thread_goes_on() {
    interrupted(1);
}

/// Notes which nodes were proved and found, by layer and number, and cancels after some.
#[derive(Default)]
struct WatchNodes {
    proved: Mutex<BTreeSet<(String, usize)>>,
    found: Mutex<BTreeSet<(String, usize)>>,
    cancel: AtomicBool,
    cancel_after: Option<usize>,
}

impl Progress for WatchNodes {
    fn event(&self, event: Event<'_>) {
        match event {
            Event::NodeProved { layer, node, .. } => {
                let mut proved = self.proved.lock().unwrap();
                proved.insert((layer.to_owned(), node));
                if self.cancel_after == Some(proved.len()) {
                    self.cancel.store(true, Ordering::Relaxed);
                }
            }
            Event::NodeResumed { layer, node, .. } => {
                self.found.lock().unwrap().insert((layer.to_owned(), node));
            }
            _ => {}
        }
    }
}

/// An aggregation that is interrupted goes on from the nodes that it has proved.
#[test]
fn an_interrupted_aggregation_goes_on() {
    let folder = Folder::new("resume-nodes");
    let prove = |watch: &WatchNodes| {
        let options = ProveOptions::default()
            .with_progress(watch)
            .with_cancel(&watch.cancel)
            .with_resume(&folder.0);
        sdk().prove(elf(&sums(300)), input(), &options)
    };
    let first = WatchNodes {
        cancel_after: Some(2),
        ..WatchNodes::default()
    };
    let error = prove(&first).err().expect("it was cancelled");
    assert!(matches!(error, SdkError::Cancelled), "{error}");
    let done = first.proved.into_inner().unwrap();
    assert!(done.len() >= 2, "{done:?}");

    let second = WatchNodes::default();
    let whole = prove(&second).unwrap();
    assert_eq!(second.found.into_inner().unwrap(), done);
    let proved = second.proved.into_inner().unwrap();
    assert!(!proved.is_empty() && proved.is_disjoint(&done));

    let third = WatchNodes::default();
    let again = prove(&third).unwrap();
    assert!(third.proved.into_inner().unwrap().is_empty());
    assert_eq!(third.found.into_inner().unwrap(), &done | &proved);
    assert_eq!(again.proof.inner, whole.proof.inner);

    // A node over other proofs is none of this job; a damaged one is told.
    let [leaf, other] = ["aggregated-1-0.proof", "aggregated-2-0.proof"].map(|n| folder.0.join(n));
    let bytes = fs::read(&leaf).unwrap();
    fs::copy(&other, &leaf).unwrap();
    let fourth = WatchNodes::default();
    assert_eq!(prove(&fourth).unwrap().proof.inner, whole.proof.inner);
    let proved = fourth.proved.into_inner().unwrap();
    assert_eq!(proved, BTreeSet::from([("leaf".to_owned(), 0)]));
    assert_eq!(fs::read(&leaf).unwrap(), bytes);
    fs::write(&leaf, &bytes[..bytes.len() - 1]).unwrap();
    let error = prove(&WatchNodes::default()).err().expect("damaged");
    assert!(
        error
            .to_string()
            .contains("aggregated-1-0.proof is damaged"),
        "{error}"
    );
}

const FOLDER: &str = "OPENVM_METAL_TEST_RESUME";

/// A process that is killed in the middle of a proof leaves whole files.
#[test]
fn a_killed_process_loses_nothing() {
    let folder = Folder::new("resume-killed");
    let mut process = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "resume::until_killed", "--ignored"])
        .env(FOLDER, &folder.0)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let first = folder.0.join("segment-0.proof");
    while !first.exists() {
        assert!(
            process.try_wait().unwrap().is_none(),
            "it ended before it was killed"
        );
        thread::sleep(Duration::from_millis(5));
    }
    process.kill().unwrap();
    process.wait().unwrap();

    let watch = Watch::default();
    let segments = run(&folder, &watch, 3, input()).unwrap();
    let (proved, found) = (
        watch.proved.into_inner().unwrap(),
        watch.found.into_inner().unwrap(),
    );
    assert!(found.contains(&0));
    assert_eq!(proved.len() + found.len(), segments);
}

#[test]
#[ignore = "a_killed_process_loses_nothing starts and kills it"]
fn until_killed() {
    let folder = Folder(
        std::env::var_os(FOLDER)
            .expect("the folder is given")
            .into(),
    );
    run(&folder, &Watch::default(), 3, input()).unwrap();
    // The folder is the other process's.
    std::mem::forget(folder);
}
