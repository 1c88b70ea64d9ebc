//! Operations with operands that are compared, by family.

use hologram_kernels::device::DeviceError;
use hologram_kernels::host::HostError;
use hologram_kernels::{BinaryOp, Epsilon, LossOp, MapOp, Operation, ReduceOp, Ty};
use openvm_metal_common::MetalContext;

use super::run::{compared, on_device, on_host, random, Tolerance};

/// Products of more floats are not compared: they leave the range.
const LONGEST_PRODUCT: u64 = 100;

/// An operation on random operands.
#[derive(Clone, Debug, PartialEq)]
pub struct OperationCase {
    /// The operation.
    pub operation: Operation,
    /// Seed of the first operand; the next have the next numbers.
    pub seed: u64,
    /// Elements in front of each operand in its buffer.
    pub shift: usize,
    /// Greatest difference of floats from the host's.
    pub tolerance: Tolerance,
}

impl OperationCase {
    /// Runs it on the device and on the host: the number of elements that are right with subnormals flushed alone, or in words what
    /// differs.
    ///
    /// # Errors
    /// The device's, or that it has no kernel for the operation.
    pub fn run(&self, context: &MetalContext) -> Result<Result<usize, String>, DeviceError> {
        let ty = self.operation.ty();
        let (lengths, used) = self.operation.lengths();
        let lengths = lengths[1..used].iter().zip(self.seed..);
        let read: Vec<Vec<u8>> = lengths
            .map(|(&length, seed)| random(ty, length as usize, seed))
            .collect();
        let device = on_device(context, &self.operation, &read, self.shift)?;
        let found = if !device.around_is_whole {
            Err("bytes beside the result were written".to_owned())
        } else {
            match (on_host(&self.operation, &read), device.divided_by_zero) {
                (Ok(host), false) => compared(ty, &device.bytes, &host, self.tolerance),
                (Err(HostError::DivisionByZero), true) => Ok(0),
                (Ok(_), true) => Err("a division by zero that the host does not find".to_owned()),
                (Err(error), _) => Err(format!("the host ends with: {error}")),
            }
        };
        Ok(found.map_err(|what| format!("{:?}: {what}", self.operation)))
    }
}

fn tolerance(relative: f64, absolute: f64) -> Tolerance {
    Tolerance {
        relative,
        absolute,
        flushes: false,
    }
}

/// Every elementwise operation of a type on `count` elements.
pub fn elementwise(ty: Ty, count: u64, shift: usize) -> Vec<OperationCase> {
    let value = u64::from_le_bytes(random(Ty::F64, 1, 3).try_into().unwrap_or_default()) | 1;
    let (low, high) = match ty {
        Ty::F32 => (u64::from((-1.0f32).to_bits()), u64::from(2.0f32.to_bits())),
        Ty::F64 => ((-1.0f64).to_bits(), 2.0f64.to_bits()),
        Ty::F16 => (0xbc00, 0x4000),
        Ty::Bf16 => (0xbf80, 0x4000),
        _ => (5, 100),
    };
    let maps = MapOp::ALL.iter();
    let mut operations: Vec<Operation> = maps.map(|&op| Operation::Map { op, ty, count }).collect();
    for &op in BinaryOp::ALL {
        operations.push(Operation::MapBinary { op, ty, count });
        operations.push(Operation::MapScalar {
            op,
            ty,
            value,
            count,
        });
    }
    operations.push(Operation::Clip {
        ty,
        low,
        high,
        count,
    });
    operations.push(Operation::Fill { ty, value, count });
    let places = match ty {
        Ty::F64 => 8.0 * f64::EPSILON,
        _ => 4.0 * f64::from(f32::EPSILON),
    };
    let case = |operation: Operation| {
        // The exponent of gelu is a cubic: its error counts as often as it is large.
        let factor = match operation {
            Operation::Map {
                op: MapOp::Gelu, ..
            } => 16.0,
            _ => 1.0,
        };
        OperationCase {
            operation,
            seed: 1,
            shift,
            tolerance: tolerance(factor * places, 1e-300),
        }
    };
    let allowed = operations.into_iter().filter(|o| o.check_types().is_ok());
    allowed.map(case).collect()
}

/// Every reduction of a type to one element.
pub fn reductions(ty: Ty, count: u64, shift: usize) -> Vec<OperationCase> {
    let sensible = |op: &ReduceOp| {
        let product = *op == ReduceOp::Product;
        !product || ty.is_int() || count <= LONGEST_PRODUCT
    };
    let case = |&op: &ReduceOp| OperationCase {
        operation: Operation::Reduce { op, ty, count },
        seed: count,
        shift,
        tolerance: tolerance(1e-4, 1e-4 * (count as f64).sqrt()),
    };
    let ops = ReduceOp::ALL.iter();
    ops.filter(|op| sensible(op)).map(case).collect()
}

/// Every loss of a type; none of integers.
pub fn losses(ty: Ty, count: u64) -> Vec<OperationCase> {
    let case = |&op: &LossOp| OperationCase {
        operation: Operation::Loss { op, ty, count },
        seed: count,
        shift: 0,
        tolerance: tolerance(1e-5, 1e-6),
    };
    let ops = LossOp::ALL.iter().filter(|_| ty.is_float());
    ops.map(case).collect()
}

/// Softmax and layer norm of a float type.
pub fn rows(ty: Ty, rows: u32, cols: u32) -> Vec<OperationCase> {
    if !ty.is_float() {
        return Vec::new();
    }
    vec![
        OperationCase {
            operation: Operation::Softmax { ty, rows, cols },
            seed: 4,
            shift: 1,
            tolerance: tolerance(1e-5, 0.0),
        },
        OperationCase {
            operation: Operation::LayerNorm {
                ty,
                rows,
                cols,
                epsilon: Epsilon::new(1e-5),
            },
            seed: 4,
            shift: 0,
            tolerance: tolerance(1e-5, 1e-5),
        },
    ]
}

/// A product of matrices, m x k and k x n, of a float type.
pub fn product(ty: Ty, [m, n, k]: [u32; 3], shift: usize) -> OperationCase {
    OperationCase {
        operation: Operation::Gemm { ty, m, n, k },
        seed: 7,
        shift,
        tolerance: tolerance(1e-5, 2e-6 * f64::from(k)),
    }
}
