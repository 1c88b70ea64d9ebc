//! Results of submissions until they are waited for, in bounded memory: nothing is kept for a ticket that is dropped.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{BackendError, Result};
use crate::handle::Ticket;

/// Submissions that may be open at a time; beyond that the oldest is settled.
pub const MAX_OPEN: usize = 1024;
/// Failures that are kept of settled submissions.
pub const MAX_FAILED: usize = 1024;
/// Bits of a ticket that count the submissions of one backend; those above say which backend.
const COUNT_BITS: u32 = 40;

/// The submissions of one backend that were not waited for; `P` is what settling one needs.
pub struct Tickets<P> {
    backend: u64,
    /// Submissions so far.
    issued: u64,
    open: BTreeMap<u64, P>,
    /// All submissions before this one are settled: those that failed are in `failed`, the others went well.
    settled: u64,
    failed: BTreeMap<u64, BackendError>,
    /// Failures of submissions before this one may have been let go of.
    forgotten: u64,
}

impl<P> Default for Tickets<P> {
    fn default() -> Self {
        static BACKENDS: AtomicU64 = AtomicU64::new(1);
        let backend = BACKENDS.fetch_add(1, Ordering::Relaxed);
        Self {
            // The bits above the count are enough for 2^24 backends.
            backend: backend & (u64::MAX >> COUNT_BITS),
            issued: 0,
            open: BTreeMap::new(),
            settled: 0,
            failed: BTreeMap::new(),
            forgotten: 0,
        }
    }
}

/// State of a submission that is waited for.
pub enum Waited<P> {
    /// It is open.
    Open(P),
    /// It was settled.
    Settled(Result<()>),
}

impl<P> Tickets<P> {
    /// A ticket for a submission. The caller settles what [`Tickets::overdue`] gives.
    pub fn issue(&mut self, submission: P) -> Ticket {
        let number = self.issued;
        self.issued += 1;
        self.open.insert(number, submission);
        Ticket::from_raw(self.backend << COUNT_BITS | number)
    }

    /// Submissions that were not waited for.
    pub fn open(&self) -> impl Iterator<Item = &P> {
        self.open.values()
    }

    /// Takes the submission of a ticket out.
    pub fn take(&mut self, ticket: &Ticket) -> Waited<P> {
        let raw = ticket.raw();
        let number = raw & ((1 << COUNT_BITS) - 1);
        if raw >> COUNT_BITS != self.backend || number >= self.issued {
            return Waited::Settled(Err(BackendError::InvalidTicket(raw)));
        }
        if let Some(submission) = self.open.remove(&number) {
            return Waited::Open(submission);
        }
        Waited::Settled(match self.failed.remove(&number) {
            Some(error) => Err(error),
            None if number < self.forgotten => Err(BackendError::ResultForgotten {
                ticket: raw,
                kept: MAX_FAILED,
            }),
            // Tickets cannot be copied: nobody waited for it.
            None if number < self.settled => Ok(()),
            None => Err(BackendError::InvalidTicket(raw)),
        })
    }

    /// The oldest open submission, with its number, if there are too many. It is open no more.
    pub fn overdue(&mut self) -> Option<(u64, P)> {
        if self.open.len() <= MAX_OPEN {
            return None;
        }
        let (number, submission) = self.open.pop_first()?;
        self.settled = number + 1;
        Some((number, submission))
    }

    /// Keeps how a submission from [`Tickets::overdue`] ended.
    pub fn settle(&mut self, number: u64, result: Result<()>) {
        let Err(error) = result else { return };
        self.failed.insert(number, error);
        if self.failed.len() > MAX_FAILED {
            if let Some((oldest, _)) = self.failed.pop_first() {
                self.forgotten = oldest + 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn submit(tickets: &mut Tickets<Result<()>>, result: Result<()>) -> Ticket {
        let ticket = tickets.issue(result);
        while let Some((number, result)) = tickets.overdue() {
            tickets.settle(number, result);
        }
        ticket
    }

    fn wait(tickets: &mut Tickets<Result<()>>, ticket: &Ticket) -> Result<()> {
        match tickets.take(ticket) {
            Waited::Open(result) | Waited::Settled(result) => result,
        }
    }

    #[test]
    fn a_million_submissions_that_nobody_waits_for_leave_nothing() {
        let mut tickets = Tickets::default();
        let fault = || BackendError::Device("lost".into());
        let first = submit(&mut tickets, Ok(()));
        let failed = submit(&mut tickets, Err(fault()));
        for n in 0..1_000_000u64 {
            let result = if n % 1000 == 7 { Err(fault()) } else { Ok(()) };
            let _ = submit(&mut tickets, result);
            assert!(tickets.open.len() <= MAX_OPEN && tickets.failed.len() <= MAX_FAILED);
        }
        // Old tickets still say how their submissions ended.
        assert_eq!(wait(&mut tickets, &first), Ok(()));
        assert_eq!(wait(&mut tickets, &failed), Err(fault()));
        // Or that it is no longer known.
        let late = submit(&mut tickets, Err(fault()));
        for _ in 0..MAX_OPEN + MAX_FAILED {
            let _ = submit(&mut tickets, Err(fault()));
        }
        let raw = late.raw();
        let kept = MAX_FAILED;
        let forgotten = BackendError::ResultForgotten { ticket: raw, kept };
        assert_eq!(wait(&mut tickets, &late), Err(forgotten));
    }

    #[test]
    fn a_ticket_is_of_one_backend_and_good_once() {
        let (mut one, mut other) = (Tickets::default(), Tickets::default());
        let ticket = submit(&mut one, Ok(()));
        let invalid = Err(BackendError::InvalidTicket(ticket.raw()));
        assert_eq!(wait(&mut other, &ticket), invalid);
        assert_eq!(wait(&mut one, &ticket), Ok(()));
        assert_eq!(wait(&mut one, &ticket), invalid);
        for raw in [0, u64::MAX, ticket.raw() + 1] {
            let made_up = Ticket::from_raw(raw);
            let invalid = Err(BackendError::InvalidTicket(raw));
            assert_eq!(wait(&mut one, &made_up), invalid);
        }
    }
}
