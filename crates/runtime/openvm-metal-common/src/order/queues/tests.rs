use super::*;
use crate::checks::Random;

const LONG: f64 = 1e6;
const NO_WAIT: [bool; MAX_QUEUES] = [false; MAX_QUEUES];

fn access(start: u64, writes: bool) -> Access {
    Access {
        range: start..start + 10,
        writes,
    }
}

fn place(queues: &mut Queues, reads: &[u64], writes: &[u64], modelled: f64) -> Placement {
    let reads = reads.iter().map(|&start| access(start, false));
    let writes = writes.iter().map(|&start| access(start, true));
    queues.place(reads.chain(writes), modelled, None)
}

#[test]
fn a_chain_stays_in_its_queue_and_waits_for_nothing() {
    let mut queues = Queues::new(MAX_QUEUES);
    for step in 0..100 {
        let from = [step * 10];
        let placed = place(&mut queues, &from, &[step * 10 + 10], LONG);
        assert_eq!((placed.queue, placed.waits), (0, NO_WAIT));
    }
}

#[test]
fn long_independent_work_spreads_and_its_user_waits_once() {
    let mut queues = Queues::new(2);
    let first = place(&mut queues, &[0], &[10], LONG);
    let second = place(&mut queues, &[0], &[20], LONG);
    assert_eq!((first.queue, second.queue), (0, 1));
    assert_eq!(second.waits, NO_WAIT);
    let user = place(&mut queues, &[10, 20], &[30], LONG);
    let other = 1 - user.queue;
    assert!(user.waits[other] && !user.waits[user.queue]);
    // Known from then on.
    let again = place(&mut queues, &[20, 30], &[40], 1.0);
    assert_eq!((again.queue, again.waits), (user.queue, NO_WAIT));
}

#[test]
fn short_work_follows_what_it_depends_on() {
    let mut queues = Queues::new(MAX_QUEUES);
    place(&mut queues, &[], &[10], LONG);
    assert_eq!(place(&mut queues, &[], &[20], 10.0).queue, 0);
    let moved = place(&mut queues, &[], &[30], LONG);
    assert_eq!(moved.queue, 1);
    assert_eq!(place(&mut queues, &[30], &[40], 10.0).queue, 1);
}

#[test]
fn reads_wait_for_writes_and_writes_for_reads() {
    let mut queues = Queues::new(2);
    queues.place([access(0, false)].into_iter(), LONG, Some(0));
    let write = queues.place([access(5, true)].into_iter(), LONG, Some(1));
    assert!(write.waits[0]);
    let write = queues.place([access(0, true)].into_iter(), LONG, Some(0));
    assert!(write.waits[1]);
    // Both read, then one writes.
    queues.place([access(100, false)].into_iter(), LONG, Some(0));
    queues.place([access(100, false)].into_iter(), LONG, Some(1));
    assert!(
        queues
            .place([access(100, true)].into_iter(), LONG, Some(1))
            .waits[0]
    );
}

#[test]
fn uploads_go_beside_everything_and_their_users_wait() {
    let mut queues = Queues::new(MAX_QUEUES);
    let write = |start| [access(start, true)].into_iter();
    place(&mut queues, &[0], &[10], LONG);
    let upload = queues.place(write(100), 0.0, Some(COPY_QUEUE));
    assert_eq!((upload.queue, upload.waits), (COPY_QUEUE, NO_WAIT));
    // A user does not move to the queue of uploads, however short it is.
    let user = place(&mut queues, &[100], &[110], 1.0);
    assert_eq!(user.queue, 0);
    assert!(user.waits[COPY_QUEUE]);
    // Memory that is still used is not written.
    let next = queues.place(write(100), 0.0, Some(COPY_QUEUE));
    assert!(next.waits[0]);
    // Queue 0 has to wait for the second, but has come after the first.
    assert_eq!(queues.before_next(), [2, 0, 0, 1]);
    assert!(queues.join()[COPY_QUEUE]);
    assert_eq!(queues.before_next(), [2, 0, 0, 2]);
}

/// Uploads as the CUDA driver orders them. An upload is given to its stream after it was placed. In between, another thread makes a queue wait for that stream, or waits
/// for all of it. The second placement, after the copy, is what users of the target wait for.
#[test]
fn an_upload_that_comes_late_is_waited_for_by_its_second_placement() {
    for (wanted, ended) in [
        (0, false),
        (0, true),
        (COPY_QUEUE, false),
        (COPY_QUEUE, true),
    ] {
        let mut queues = Queues::new(MAX_QUEUES);
        let write = |start| [access(start, true)].into_iter();
        let read = |start| [access(start, false)].into_iter();
        queues.place(write(500), LONG, Some(wanted));
        queues.place(write(100), 0.0, Some(wanted));
        // The other thread: its work in queue 1 needs what came before the upload.
        assert!(queues.place(read(500), LONG, Some(1)).waits[wanted]);
        if ended {
            let issued = queues.issued();
            queues.ended(issued);
        }
        queues.place(write(100), 0.0, Some(wanted));
        let user = queues.place(read(100), LONG, Some(1));
        assert!(user.waits[wanted], "queue {wanted}, ended: {ended}");
    }
}

#[test]
fn what_has_ended_is_not_waited_for() {
    let mut queues = Queues::new(2);
    queues.place([access(0, true)].into_iter(), LONG, Some(1));
    let issued = queues.issued();
    queues.place([access(50, true)].into_iter(), LONG, Some(1));
    queues.ended(issued);
    let reads = |start| [access(start, false)].into_iter();
    assert_eq!(queues.place(reads(0), LONG, Some(0)).waits, NO_WAIT);
    assert!(queues.place(reads(50), LONG, Some(0)).waits[1]);
    assert_eq!(queues.join(), NO_WAIT);
    queues.place([access(70, true)].into_iter(), LONG, Some(1));
    assert!(queues.join()[1]);
    assert_eq!(queues.join(), NO_WAIT);
}

#[test]
fn everything_that_meets_is_ordered_whatever_is_forgotten() {
    let mut random = Random::new(1);
    let mut next = move |n: usize| random.below(n) as u64;
    let mut queues = Queues::new(MAX_QUEUES);
    // For each operation its accesses, queue, number, and for each queue how many operations come before it.
    let mut all: Vec<(Vec<Access>, usize, u64, [u64; MAX_QUEUES])> = Vec::new();
    let mut heads = [[0u64; MAX_QUEUES]; MAX_QUEUES];
    let mut counts = [0u64; MAX_QUEUES];
    for _ in 0..3000 {
        let accesses: Vec<Access> = (0..1 + next(3))
            .map(|_| {
                let start = next(1 << 20);
                let most = if next(50) == 0 { 1 << 19 } else { 500 };
                Access {
                    range: start..start + 1 + next(most),
                    writes: next(2) == 0,
                }
            })
            .collect();
        let modelled = if next(2) == 0 { LONG } else { 10.0 };
        let fixed = match next(20) {
            0 => Some(0),
            1 => Some(COPY_QUEUE),
            _ => None,
        };
        let placed = queues.place(accesses.iter().cloned(), modelled, fixed);
        let q = placed.queue;
        for other in 0..MAX_QUEUES {
            if placed.waits[other] {
                let known = heads[other];
                for k in 0..MAX_QUEUES {
                    heads[q][k] = heads[q][k].max(known[k]);
                }
                heads[q][other] = heads[q][other].max(counts[other]);
            }
        }
        for (earlier, queue, number, _) in &all {
            let meet = earlier
                .iter()
                .any(|a| accesses.iter().any(|b| a.conflicts(b)));
            assert!(!meet || heads[q][*queue] >= *number, "not ordered");
        }
        counts[q] += 1;
        heads[q][q] = counts[q];
        all.push((accesses, q, counts[q], heads[q]));
    }
    assert!(counts.iter().all(|&n| n > 50), "{counts:?}");
}
