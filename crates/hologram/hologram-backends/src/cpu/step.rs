//! Decoded instructions.

use super::lanes::{Column, Lanes};
use super::memory::{find_buffer, Blocks, Span};
use crate::error::FaultKind;
use crate::intrinsics::IntrinsicCall;
use crate::isa::{Instruction, Register};

/// Starts the whole-buffer instruction at a pc on a device. The error is its fault, where it is known before it runs.
pub(crate) type Enqueue<'a> = dyn FnMut(usize, &IntrinsicCall) -> Result<(), FaultKind> + 'a;

/// A whole-buffer instruction with the columns of its registers.
pub(super) struct Intrinsic {
    pub pc: usize,
    pub instruction: Instruction,
    pub columns: Vec<(Register, Column)>,
}

/// Memory that lanes can access besides their registers.
pub(super) struct Memory<'a> {
    pub buffers: &'a Blocks,
    pub boundary: Span,
    pub pools: Pools<'a>,
    pub shared: Span,
    /// Whole-buffer instructions of the program.
    pub intrinsics: &'a [Intrinsic],
    /// Takes the whole-buffer instructions over, if there is one: they are then not run here. Only for a program of one lane.
    pub enqueue: Option<&'a mut Enqueue<'a>>,
}

/// The pools of a backend. A program that makes or frees pools has them for itself, and its blocks run in order.
pub(super) enum Pools<'a> {
    Shared(&'a Blocks),
    Own(&'a mut Blocks),
}

impl Pools<'_> {
    pub fn find(&self, handle: u64) -> Option<Span> {
        match self {
            Self::Shared(slots) => slots.find(handle),
            Self::Own(slots) => slots.find(handle),
        }
    }

    /// The pools where the program may change them.
    pub fn own(&mut self) -> Option<&mut Blocks> {
        match self {
            Self::Shared(_) => None,
            Self::Own(slots) => Some(slots),
        }
    }
}

/// Kinds of memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Space {
    #[default]
    Global,
    Shared,
    Pool,
}

impl Memory<'_> {
    /// The bytes that a handle names in a space.
    #[inline(always)]
    pub fn find(&self, space: Space, handle: u64) -> Option<Span> {
        match space {
            Space::Global => find_buffer(self.buffers, self.boundary, handle),
            Space::Shared => Some(self.shared),
            Space::Pool => self.pools.find(handle),
        }
    }
}

/// Runs one instruction for all active lanes.
pub(super) type Handler = for<'a> fn(&Lanes, &Step, &mut Memory<'a>);

/// A number that is fixed or in a `u64` column.
#[derive(Clone, Copy, Debug)]
pub(super) enum Source {
    Fixed(u64),
    Column(Column),
}

impl Default for Source {
    fn default() -> Self {
        Self::Fixed(0)
    }
}

/// Flow of control after a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flow {
    /// With the next.
    Next,
    /// With the next unless a lane fails.
    Fallible,
    Jump(u32),
    /// Jump where predicate `a` is true.
    Branch(u32),
    /// Jump and decrement `a` where it is not 0.
    Loop(u32),
    Call(u32),
    Return,
    Exit,
    Barrier,
}

/// One decoded instruction.
#[derive(Clone, Copy)]
pub(super) struct Step {
    pub run: Handler,
    pub flow: Flow,
    /// Destination and operands.
    pub d: Column,
    pub a: Column,
    pub b: Column,
    pub c: Column,
    /// Immediate, or number of columns.
    pub value: u64,
    /// Address of memory instructions.
    pub space: Space,
    pub handle: Source,
    pub offset: Source,
}

impl Step {
    /// A step that does nothing but go on as `flow`.
    pub fn control(flow: Flow) -> Self {
        Self {
            run: |_, _, _| (),
            flow,
            d: Column::default(),
            a: Column::default(),
            b: Column::default(),
            c: Column::default(),
            value: 0,
            space: Space::Global,
            handle: Source::default(),
            offset: Source::default(),
        }
    }

    /// A step that never fails.
    pub fn plain(run: Handler) -> Self {
        Self {
            run,
            ..Self::control(Flow::Next)
        }
    }

    /// A step that may fail.
    pub fn fallible(run: Handler) -> Self {
        Self {
            run,
            ..Self::control(Flow::Fallible)
        }
    }
}

impl Step {
    /// True if the step may go to an earlier one or to itself; a return counts as going back.
    pub fn goes_back(&self, pc: u32) -> bool {
        match self.flow {
            Flow::Jump(to) | Flow::Branch(to) | Flow::Loop(to) | Flow::Call(to) => to <= pc,
            Flow::Return => true,
            _ => false,
        }
    }
}
