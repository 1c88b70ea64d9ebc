//! Whole-buffer operations called directly: the CPU backend and kernels on the CPU device agree.

use hologram_backends::cpu::CpuBackend;
use hologram_backends::metal::MetalBackend;
use hologram_backends::{
    Backend, BackendError, BinaryOp, BufferHandle, Epsilon, FaultKind, IntrinsicCall, LossOp,
    MapOp, Operand, ReduceOp, Ty,
};
use openvm_metal_common::Device;

fn metal() -> MetalBackend {
    let scratch = std::env::temp_dir().join("hologram-intrinsics-test");
    MetalBackend::with_scratch(Device::Cpu, scratch).expect("the CPU device")
}

/// Six buffers of 600 floats between -1 and 1, and what a call leaves in all of them.
struct Machine {
    backend: Box<dyn Backend>,
    buffers: Vec<BufferHandle>,
}

const FLOATS: usize = 600;

impl Machine {
    fn new(mut backend: Box<dyn Backend>) -> Self {
        let buffers = (0..6)
            .map(|seed| {
                let buffer = backend.allocate_buffer(4 * FLOATS).expect("memory");
                let value = |i: usize| ((i * 37 + seed * 101) % 199) as f32 / 100.0 - 1.0;
                let bytes: Vec<u8> = (0..FLOATS).flat_map(|i| value(i).to_le_bytes()).collect();
                backend.copy_to_buffer(buffer, &bytes).expect("copied");
                buffer
            })
            .collect();
        Self { backend, buffers }
    }

    fn run(&mut self, call: &IntrinsicCall) -> Result<(), BackendError> {
        let ticket = self.backend.submit_intrinsic(call)?;
        self.backend.wait(ticket)
    }

    fn contents(&mut self) -> Vec<f32> {
        let mut all = Vec::new();
        for &buffer in &self.buffers {
            let mut bytes = vec![0; 4 * FLOATS];
            self.backend
                .copy_from_buffer(buffer, &mut bytes)
                .expect("copied");
            all.extend(
                bytes
                    .chunks(4)
                    .map(|c| f32::from_le_bytes([c[0], c[1], c[2], c[3]])),
            );
        }
        all
    }
}

fn calls(b: &[BufferHandle]) -> Vec<IntrinsicCall> {
    let at = |i: usize, offset: u64| Operand::new(b[i], 4 * offset);
    let class = Operand::from(BufferHandle::class(7).expect("class"));
    let (ty, count) = (Ty::F32, 301);
    let half = u64::from(0.5f32.to_bits());
    let (dst, src) = (at(0, 3), at(1, 0));
    vec![
        IntrinsicCall::Map {
            op: MapOp::Tanh,
            ty,
            dst,
            src,
            count,
        },
        IntrinsicCall::Map {
            op: MapOp::Abs,
            ty,
            dst: at(2, 0),
            src: at(2, 0),
            count,
        },
        IntrinsicCall::MapBinary {
            op: BinaryOp::Sub,
            ty,
            dst: class,
            a: src,
            b: dst,
            count,
        },
        IntrinsicCall::MapScalar {
            op: BinaryOp::Pow,
            ty,
            dst: at(3, 0),
            src: at(2, 0),
            value: half,
            count,
        },
        IntrinsicCall::MapBinary {
            op: BinaryOp::Add,
            ty,
            dst: at(3, 0),
            a: at(3, 0),
            b: class,
            count,
        },
        IntrinsicCall::Clip {
            ty,
            dst: at(4, 1),
            src: at(5, 0),
            low: 0,
            high: half,
            count,
        },
        IntrinsicCall::Fill {
            ty,
            dst: at(4, 400),
            value: half,
            count: 77,
        },
        IntrinsicCall::Reduce {
            op: ReduceOp::Sum,
            ty,
            dst: at(5, 599),
            src: at(2, 0),
            count: 600,
        },
        IntrinsicCall::Reduce {
            op: ReduceOp::Max,
            ty,
            dst: at(5, 598),
            src: at(1, 1),
            count: 599,
        },
        IntrinsicCall::Loss {
            op: LossOp::Mse,
            ty,
            dst: at(5, 597),
            predicted: src,
            target: at(2, 0),
            count,
        },
        IntrinsicCall::Softmax {
            ty,
            dst: at(1, 0),
            src: at(1, 0),
            rows: 20,
            cols: 29,
        },
        IntrinsicCall::LayerNorm {
            ty,
            dst: at(2, 0),
            src: at(5, 0),
            gamma: at(3, 0),
            beta: at(4, 0),
            rows: 12,
            cols: 45,
            epsilon: Epsilon::new(1e-3),
        },
        IntrinsicCall::Gemm {
            ty,
            c: at(0, 0),
            a: at(2, 0),
            b: at(1, 5),
            m: 21,
            n: 19,
            k: 23,
        },
    ]
}

#[test]
fn both_backends_agree() {
    let mut cpu = Machine::new(Box::new(CpuBackend::new()));
    let mut metal = Machine::new(Box::new(metal()));
    let pairs = calls(&cpu.buffers).into_iter().zip(calls(&metal.buffers));
    for (on_cpu, on_metal) in pairs {
        cpu.run(&on_cpu).expect("no fault");
        metal.run(&on_metal).expect("no fault");
        let (x, y) = (cpu.contents(), metal.contents());
        let bad = x.iter().zip(&y).position(|(x, y)| {
            x.to_bits() != y.to_bits() && (x - y).abs() > 1e-5 * (1.0 + x.abs())
        });
        assert_eq!(bad, None, "{on_cpu}");
        assert!(
            x.iter().all(|x| on_cpu.ty() != Ty::F32 || !x.is_nan()),
            "{on_cpu}"
        );
    }
}

#[test]
fn both_backends_refuse_the_same() {
    for mut machine in [
        Machine::new(Box::new(CpuBackend::new())),
        Machine::new(Box::new(metal())),
    ] {
        let b = machine.buffers.clone();
        let kind = |result: Result<(), BackendError>| match result {
            Err(BackendError::Fault(fault)) => fault.kind,
            other => panic!("{other:?}"),
        };
        let at = |i: usize| Operand::from(b[i]);
        let divide = |op, ty| IntrinsicCall::MapBinary {
            op,
            ty,
            dst: at(0),
            a: at(1),
            b: at(2),
            count: 600,
        };
        let zero = IntrinsicCall::Fill {
            ty: Ty::I32,
            dst: Operand::new(b[2], 40),
            value: 0,
            count: 1,
        };
        let ones = IntrinsicCall::Fill {
            ty: Ty::I32,
            dst: at(2),
            value: 1,
            count: 600,
        };
        assert_eq!(machine.run(&ones), Ok(()));
        assert_eq!(machine.run(&divide(BinaryOp::Div, Ty::I32)), Ok(()));
        assert_eq!(machine.run(&zero), Ok(()));
        assert_eq!(
            kind(machine.run(&divide(BinaryOp::Div, Ty::I32))),
            FaultKind::DivisionByZero
        );
        assert_eq!(machine.run(&divide(BinaryOp::Add, Ty::I32)), Ok(()));
        let by_zero = IntrinsicCall::MapScalar {
            op: BinaryOp::Div,
            ty: Ty::U8,
            dst: at(0),
            src: at(1),
            value: 0,
            count: 1,
        };
        assert_eq!(kind(machine.run(&by_zero)), FaultKind::DivisionByZero);
        let long = IntrinsicCall::Fill {
            ty: Ty::F64,
            dst: at(0),
            value: 0,
            count: 301,
        };
        assert!(matches!(
            kind(machine.run(&long)),
            FaultKind::BufferOutOfBounds { size: 2408, .. }
        ));
        let gone = IntrinsicCall::Fill {
            ty: Ty::F64,
            dst: BufferHandle::from_raw(999_999).into(),
            value: 0,
            count: 1,
        };
        assert_eq!(
            kind(machine.run(&gone)),
            FaultKind::InvalidBufferHandle { handle: 999_999 }
        );
        let wrong = IntrinsicCall::Map {
            op: MapOp::Exp,
            ty: Ty::I8,
            dst: at(0),
            src: at(1),
            count: 1,
        };
        assert!(matches!(
            machine.run(&wrong),
            Err(BackendError::InvalidIntrinsic { .. })
        ));
    }
}
