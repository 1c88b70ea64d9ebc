//! All operations in groups, as a self test runs them.

use hologram_kernels::device::supports;
use hologram_kernels::Ty;
use openvm_metal_common::DeviceProfile;

use super::case::{elementwise, losses, product, reductions, rows, OperationCase};

/// Elements, and elements in front of the operands: one, whole packs, parts of them, unaligned ones, many.
const ELEMENTWISE: [(u64, usize); 5] = [(1, 0), (1000, 0), (1027, 0), (259, 3), (65_537, 0)];
/// Elements that are folded to one.
const FOLDED: [u64; 4] = [1, 31, 1000, 70_001];
/// Rows and their elements.
const ROWS: [(u32, u32); 4] = [(1, 1), (7, 33), (3, 1000), (2, 9001)];
/// m, n, k: single elements, a vector, and the three tile sizes with whole and cut tiles; rows of eight elements and rows
/// that are filled up to them for matrix units.
const PRODUCTS: [[u32; 3]; 8] = [
    [1, 1, 1],
    [5, 1, 77],
    [33, 7, 19],
    [32, 64, 48],
    [600, 1000, 20],
    [1408, 1536, 17],
    [1408, 1536, 40],
    [65, 71, 130],
];

/// Factor of relative tolerances where functions are not close: 16 units in the last place and their rounding for 4.
const FAR: f64 = 5.0;

/// Operations of a family with one type.
#[derive(Clone, Debug, PartialEq)]
pub struct OperationGroup {
    /// Family and type, for example `gemm f32`.
    pub name: String,
    /// Cases that are compared.
    pub cases: Vec<OperationCase>,
}

/// Every operation with every type that a device has.
pub fn suite(profile: &DeviceProfile) -> Vec<OperationGroup> {
    let mut groups = Vec::new();
    for ty in Ty::ALL {
        let families: [(&str, Vec<OperationCase>); 5] = [
            (
                "elementwise",
                all(ELEMENTWISE, |(n, s)| elementwise(ty, n, s)),
            ),
            ("reductions", all(FOLDED, |n| reductions(ty, n, 1))),
            ("losses", all(FOLDED, |n| losses(ty, n))),
            ("softmax and layer norm", all(ROWS, |(r, c)| rows(ty, r, c))),
            ("gemm", products(ty)),
        ];
        for (family, mut cases) in families {
            cases.retain(|case| supports(&case.operation, profile).is_ok());
            for case in &mut cases {
                case.tolerance.flushes = !profile.subnormals;
                if !profile.close_functions {
                    case.tolerance.relative *= FAR;
                }
            }
            if !cases.is_empty() {
                let name = format!("{family} {ty}");
                groups.push(OperationGroup { name, cases });
            }
        }
    }
    groups
}

fn all<S, const N: usize>(
    sizes: [S; N],
    cases: impl Fn(S) -> Vec<OperationCase>,
) -> Vec<OperationCase> {
    sizes.into_iter().flat_map(cases).collect()
}

fn products(ty: Ty) -> Vec<OperationCase> {
    let float = PRODUCTS.into_iter().filter(|_| ty.is_float());
    float.map(|shape| product(ty, shape, 0)).collect()
}
