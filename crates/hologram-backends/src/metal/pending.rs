//! What was submitted and not waited for.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

use hologram_kernels::device::Launched;

use super::launch::{read_fault, FaultBuffer};
use super::pipeline::Pipeline;
use super::{device_error, MetalBackend};
use crate::backend::error::{BackendError, Fault, Result};
use crate::backend::handle::Ticket;

/// Most launches that nobody waited for.
const MAX_PENDING: usize = 1024;

/// Submissions by ticket.
#[derive(Default)]
pub struct Tickets {
    pending: HashMap<u64, Pending>,
    oldest: VecDeque<u64>,
}

/// One submission.
pub enum Pending {
    /// A program as a kernel.
    Running {
        /// The kernel.
        pipeline: Arc<Pipeline>,
        /// Gets its faults.
        faults: FaultBuffer,
        /// Steps of a lane.
        budget: u64,
    },
    /// Whole-buffer operations, or a program that the interpreter ran.
    Operations {
        /// Those that may have divided by zero, in order, with the fault that this is.
        uncertain: Vec<(Launched, Fault)>,
        /// The fault that certainly came behind them.
        ended: Option<Fault>,
    },
    /// Waited for.
    Done(Result<()>),
}

fn next_ticket() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1 << 32);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

impl MetalBackend {
    /// A ticket for a submission.
    pub(super) fn issue(&mut self, pending: Pending) -> Ticket {
        let ticket = next_ticket();
        self.tickets.pending.insert(ticket, pending);
        self.tickets.oldest.push_back(ticket);
        self.settle_oldest();
        Ticket::from_raw(ticket)
    }

    /// Waits for a submission.
    pub(super) fn redeem(&mut self, ticket: &Ticket) -> Result<()> {
        let raw = ticket.raw();
        match self.tickets.pending.remove(&raw) {
            Some(pending) => {
                self.tickets.oldest.retain(|&t| t != raw);
                self.finish(pending)
            }
            None => Err(BackendError::InvalidTicket(raw)),
        }
    }

    fn finish(&mut self, pending: Pending) -> Result<()> {
        let fault = match pending {
            Pending::Done(result) => return result,
            Pending::Operations { uncertain, ended } => {
                let mut first = None;
                for (launched, fault) in uncertain {
                    let divided = launched.divided_by_zero(&self.stream);
                    if divided.map_err(device_error)? {
                        first = Some(fault);
                        break;
                    }
                }
                first.or(ended)
            }
            Pending::Running {
                pipeline,
                mut faults,
                budget,
            } => {
                let fault = read_fault(&mut faults, &self.stream, &pipeline.program, budget)?;
                self.idle_faults.push(faults);
                fault
            }
        };
        match fault {
            None => Ok(()),
            Some(fault) => {
                self.stats.faults += 1;
                Err(fault.into())
            }
        }
    }

    /// Keeps the number of fault buffers in bounds when nobody waits.
    fn settle_oldest(&mut self) {
        while self.tickets.oldest.len() > MAX_PENDING {
            let Some(ticket) = self.tickets.oldest.pop_front() else {
                return;
            };
            if let Some(pending) = self.tickets.pending.remove(&ticket) {
                let result = self.finish(pending);
                if result.is_err() {
                    self.tickets.pending.insert(ticket, Pending::Done(result));
                }
            }
        }
    }
}
