//! Submissions that were not waited for.

use std::sync::Arc;

use hologram_kernels::device::Launched;

use super::launch::{read_fault, FaultBuffer};
use super::pipeline::Pipeline;
use super::watched::{Place, Watched};
use super::{device_error, MetalBackend};
use crate::backend::tickets::Waited;
use crate::error::{Fault, Result};
use crate::handle::Ticket;

/// One submission.
pub enum Pending {
    /// A program as a kernel.
    Running {
        /// Signal that may end it, if there is one; it is dropped before the memory that the kernel uses.
        watched: Option<Watched>,
        /// The kernel.
        pipeline: Arc<Pipeline>,
        /// Gets its faults.
        faults: FaultBuffer,
        /// Steps of a lane.
        budget: u64,
        /// Place to report then, if the kernel is not the program's own.
        place: Option<Place>,
    },
    /// Whole-buffer operations, or a program that the interpreter ran.
    Operations {
        /// Launches that may have divided by zero, in order, with the fault that this is.
        uncertain: Vec<(Launched, Fault)>,
        /// The fault that certainly came behind them.
        ended: Option<Fault>,
    },
    /// Waited for.
    Done(Result<()>),
}

impl MetalBackend {
    /// A ticket for a submission; of too many that nobody waited for the oldest are settled, which bounds the fault buffers.
    pub(super) fn issue(&mut self, pending: Pending) -> Ticket {
        let ticket = self.tickets.issue(pending);
        while let Some((number, pending)) = self.tickets.overdue() {
            let result = self.finish(pending);
            self.tickets.settle(number, result);
        }
        ticket
    }

    /// Waits for a submission.
    pub(super) fn redeem(&mut self, ticket: &Ticket) -> Result<()> {
        match self.tickets.take(ticket) {
            Waited::Open(pending) => self.finish(pending),
            Waited::Settled(result) => result,
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
                watched,
                place,
            } => {
                let fault = read_fault(&mut faults, &self.stream, &pipeline.program, budget)?;
                self.idle_faults.push(faults);
                let fault = match place {
                    Some(place) => fault.map(|fault| place.fault(fault)),
                    None => fault,
                };
                self.settled(fault, watched)
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
}
