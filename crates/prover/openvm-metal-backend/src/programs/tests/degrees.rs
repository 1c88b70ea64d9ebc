//! Sums that share a program.

use openvm_stark_backend::{
    air_builders::symbolic::{
        symbolic_variable::{Entry, SymbolicVariable},
        SymbolicExpressionNode as Node,
    },
    interaction::Interaction,
};
use rand::{rngs::StdRng, SeedableRng};

use super::random_key::random_key;
use crate::programs::{AirPrograms, SumKind, SumProgram};

/// Constraints and interaction fields of one degree are one program, evaluated where this degree asks for it.
#[test]
fn degrees_have_programs_of_their_own() {
    let mut vk = random_key(&mut StdRng::seed_from_u64(10), 4, 4);
    let column = |index| {
        Node::Variable(SymbolicVariable::new(
            Entry::Main {
                part_index: 1,
                offset: 0,
            },
            index,
        ))
    };
    let product = |left_idx, right_idx| Node::Mul {
        left_idx,
        right_idx,
        degree_multiple: 0,
    };
    let sum = |left_idx, right_idx| Node::Add {
        left_idx,
        right_idx,
        degree_multiple: 0,
    };
    let dag = &mut vk.symbolic_constraints;
    // Nine columns, products of two of them, of four, and a sum.
    dag.constraints.nodes = (0..9).map(column).collect();
    let operations = [product(0, 1), product(2, 3), product(9, 10), sum(0, 3)];
    dag.constraints.nodes.extend(operations);
    dag.constraints.constraint_idx = vec![9, 11, 12];
    dag.interactions = vec![Interaction {
        message: vec![0, 1, 2, 3, 4, 5, 6, 7, 8, 10],
        count: 1,
        bus_index: 0,
        count_weight: 1,
    }];
    let programs = AirPrograms::new("test", &vk).unwrap();
    let of = |sum: &SumProgram| (sum.kind, sum.degree, sum.cosets(), sum.accumulators);
    let sums: Vec<_> = programs.sums.iter().map(of).collect();
    let expected = vec![
        // A product of two columns is a part of the product of four: one program.
        (SumKind::Zerocheck, 4, 3, 1),
        (SumKind::Logup, 1, 1, 2),
        (SumKind::Logup, 2, 2, 1),
    ];
    assert_eq!(sums, expected);
    assert_eq!(programs.logup_variables, 9);
    assert_eq!(
        programs.variable_cosets,
        [[3; 4].as_slice(), &[1; 5]].concat()
    );
}
