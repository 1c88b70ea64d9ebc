//! Requirements of a call before it runs.

use hologram_kernels::InPlace;

use super::call::IntrinsicCall;
use super::operand::OperandUse;
use crate::error::{BackendError, FaultKind};
use crate::handle::BufferHandle;

impl IntrinsicCall {
    /// Checks the call: [`check_form`](Self::check_form), then [`check_operands`](Self::check_operands)
    /// with `size_of` giving a buffer's bytes, `None` when there is no such buffer.
    ///
    /// # Errors
    /// [`BackendError::InvalidIntrinsic`], [`BackendError::Fault`] of lane 0 and pc 0.
    pub fn check(
        &self,
        size_of: impl FnMut(BufferHandle) -> Option<u64>,
    ) -> Result<(), BackendError> {
        self.check_form()?;
        self.check_operands(size_of)
            .map_err(|kind| self.fault(kind))
    }

    /// Checks type and constants; of instructions the validator does it.
    ///
    /// # Errors
    /// [`BackendError::InvalidIntrinsic`].
    pub fn check_form(&self) -> Result<(), BackendError> {
        let invalid = |reason: String| {
            Err(BackendError::InvalidIntrinsic {
                call: self.to_string(),
                reason,
            })
        };
        if let Err((ty, allowed)) = self.operation().check_types() {
            return invalid(format!("type {ty} is not allowed, only {allowed}"));
        }
        match self.operation().wrong_tolerance() {
            Some(epsilon) => invalid(format!("epsilon {epsilon} must be finite and not negative")),
            None => Ok(()),
        }
    }

    /// Checks that the operands exist, are aligned to elements, are long enough and do not overlap
    /// where they must not.
    ///
    /// # Errors
    /// The fault of the first operand that is wrong, the written one first.
    pub fn check_operands(
        &self,
        mut size_of: impl FnMut(BufferHandle) -> Option<u64>,
    ) -> Result<(), FaultKind> {
        let operands = self.operands();
        let element = self.ty().size() as u64;
        for &OperandUse { operand, bytes } in operands.all() {
            let handle = operand.buffer.raw();
            let size = size_of(operand.buffer).ok_or(FaultKind::InvalidBufferHandle { handle })?;
            if operand.offset % element != 0 {
                return Err(FaultKind::MisalignedOperand {
                    handle,
                    offset: operand.offset,
                    size: element,
                });
            }
            if operand
                .offset
                .checked_add(bytes)
                .is_none_or(|end| end > size)
            {
                return Err(FaultKind::BufferOutOfBounds {
                    handle,
                    offset: operand.offset,
                    size: bytes,
                    buffer_size: size,
                });
            }
        }
        let written = operands.written();
        for (index, &read) in operands.read().iter().enumerate() {
            if overlap(written, read) && !self.may_alias(index, written, read) {
                return Err(FaultKind::OverlappingOperands {
                    written: written.operand.buffer.raw(),
                    read: read.operand.buffer.raw(),
                });
            }
        }
        Ok(())
    }

    /// True if the written operand may share bytes with read operand number `index`.
    fn may_alias(&self, index: usize, written: OperandUse, read: OperandUse) -> bool {
        let same = written.operand.root() == read.operand.root() && written.bytes == read.bytes;
        match self.operation().form().in_place {
            InPlace::Any => true,
            InPlace::First => index == 0 && same,
            InPlace::None => false,
            InPlace::Each => same,
        }
    }
}

fn overlap(x: OperandUse, y: OperandUse) -> bool {
    let ((x_root, x_start), (y_root, y_start)) = (x.operand.root(), y.operand.root());
    x_root == y_root
        && x_start < y_start.saturating_add(y.bytes)
        && y_start < x_start.saturating_add(x.bytes)
        && x.bytes > 0
        && y.bytes > 0
}
