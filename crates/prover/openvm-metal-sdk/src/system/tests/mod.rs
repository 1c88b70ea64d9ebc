//! Both memory trees on the same accesses, cell for cell.

mod oracle;
mod patterns;

use openvm_circuit::{
    arch::{hasher::poseidon2::vm_poseidon2_hasher, MemoryConfig},
    system::{
        memory::{
            merkle::MerkleTree,
            online::{GuestMemory, LinearMemory, TracingMemory},
            AddressMap,
        },
        program::trace::compute_exe_commit,
    },
};
use p3_baby_bear::BabyBear as F;
use p3_field::PrimeCharacteristicRing;
use rand::{rngs::StdRng, Rng, SeedableRng};

use self::{
    oracle::Both,
    patterns::{access, config, random_accesses},
};
use super::{exe_commit, initial_memory_root, InitialMemoryError, MemoryTree, TraceHeights};

fn fresh(both: &Both) -> GuestMemory {
    GuestMemory::new(AddressMap::from_mem_config(&both.config.memory_config))
}

/// On one thread, where the order of the stock Poseidon2 trace is fixed.
fn on_one_thread(run: impl FnOnce() + Send) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
    pool.unwrap().install(run)
}

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |value| value.parse().expect(name))
}

/// `OPENVM_METAL_TEST_INPUTS` runs of several segments, from seed `OPENVM_METAL_TEST_SEED` on.
fn random_runs(ordered: bool) {
    let first = setting("OPENVM_METAL_TEST_SEED", 0);
    for seed in first..first + setting("OPENVM_METAL_TEST_INPUTS", 12) {
        let mut rng = StdRng::seed_from_u64(seed);
        let pointer_max_bits = rng.random_range(5..=13);
        let mut both = Both::new(config(pointer_max_bits), 32);
        both.ordered = ordered;
        let mut memory = fresh(&both);
        let mut states = vec![memory.clone()];
        for segment in 0..rng.random_range(1..=5) {
            let jump = rng.random_bool(0.3);
            if jump {
                memory = states[rng.random_range(0..states.len())].clone();
            }
            let give = jump || rng.random_bool(0.5);
            let most_blocks = 1 << rng.random_range(0..10);
            println!("seed {seed}, segment {segment}: given {give}, at most {most_blocks} blocks");
            memory = both.segment(&memory, give, |memory| {
                random_accesses(&mut rng, memory, most_blocks);
            });
            states.push(memory.clone());
        }
    }
}

#[test]
fn random_segments_equal_the_stock_chips() {
    random_runs(false);
}

#[test]
fn random_segments_equal_the_stock_chips_in_order_on_one_thread() {
    on_one_thread(|| random_runs(true));
}

/// Trees before segments of random accesses: they have OpenVM's roots, and a guest memory becomes that of any of them when the pages are written
/// that trees do not share, and those that were touched since. What is done from one of them changes none.
#[test]
fn a_guest_memory_goes_from_tree_to_tree() {
    for seed in 0..6 {
        let mut rng = StdRng::seed_from_u64(seed);
        let config = config(rng.random_range(5..=13));
        let fresh = || GuestMemory::new(AddressMap::from_mem_config(&config));
        let run = |memory, seed| {
            let mut rng = StdRng::seed_from_u64(seed);
            let mut memory = TracingMemory::from_image(memory);
            let most_blocks = 1 << rng.random_range(0..10);
            random_accesses(&mut rng, &mut memory, most_blocks);
            (memory.finalize::<F>(), memory.data)
        };
        let root = |memory: &GuestMemory| {
            let dimensions = config.memory_dimensions();
            MerkleTree::from_memory(&memory.memory, &dimensions, &vm_poseidon2_hasher()).root()
        };
        let (mut tree, mut memory) = (MemoryTree::new(&config), fresh());
        let mut before = Vec::new();
        for _ in 0..6 {
            tree.synchronize(&memory.memory);
            let seed = rng.random();
            before.push((tree.clone(), memory.clone(), seed));
            memory = run(memory, seed).1;
        }
        let roots: Vec<_> = before.iter().map(|(_, memory, _)| root(memory)).collect();

        let (mut guest, mut image, mut stale) = (fresh(), MemoryTree::new(&config), vec![]);
        for _ in 0..15 {
            let index = rng.random_range(0..before.len());
            let (tree, memory, seed) = &before[index];
            tree.write_to(&mut guest.memory, &image, &stale);
            for (got, expected) in guest.memory.mem.iter().zip(&memory.memory.mem) {
                assert!(got.as_slice() == expected.as_slice(), "seed {seed}");
            }
            let (touched, after) = run(guest, *seed);
            (guest, image, stale) = (after, tree.clone(), tree.pages_of(&touched));
            let mut next = tree.clone();
            let traces = next.advance(touched.clone(), TraceHeights::default());
            let same = tree.traces(touched, TraceHeights::default());
            assert!(same.boundary == traces.boundary && same.merkle == traces.merkle);
            assert_eq!(same.final_root, traces.final_root);
            assert_eq!(traces.initial_root, roots[index]);
            if let Some(root) = roots.get(index + 1) {
                assert_eq!((next.root(), traces.final_root), (root, *root));
            }
        }
        for ((tree, ..), root) in before.iter().zip(&roots) {
            assert_eq!(tree.root(), root);
        }
    }
}

#[test]
fn a_segment_that_touches_nothing() {
    let mut both = Both::new(config(10), 32);
    let memory = fresh(&both);
    let memory = both.segment(&memory, false, |_| {});
    let memory = both.segment(&memory, false, |memory| access(memory, 1, 1, Some([7; 4])));
    let memory = both.segment(&memory, false, |_| {});
    both.segment(&memory, true, |_| {});
}

#[test]
fn one_word_at_four_megabytes() {
    let mut both = Both::new(config(23), 32);
    let memory = fresh(&both);
    let word = (4 << 20) / 4;
    let memory = both.segment(&memory, false, |memory| {
        access(memory, 2, word, Some([1, 2, 3, 4]));
        access(memory, 1, 3, Some([9; 4]));
    });
    both.segment(&memory, false, |memory| access(memory, 2, word - 1, None));
    // Eight pages of the copy at most, and three paths of blocks.
    let held = both.sparse.held();
    assert!(
        held.pages <= 8 * 4096 && held.digests <= 3 * 9 * 500,
        "{held:?}"
    );
}

#[test]
#[ignore = "takes OpenVM's chips a minute of processor time"]
fn one_word_at_sixty_four_megabytes() {
    let mut both = Both::new(MemoryConfig::default(), 32);
    let memory = fresh(&both);
    let word = (64 << 20) / 4;
    let memory = both.segment(&memory, false, |memory| {
        access(memory, 2, word, Some([1, 2, 3, 4]));
        access(memory, 1, 3, Some([9; 4]));
    });
    both.segment(&memory, true, |memory| {
        access(memory, 2, word + 1, Some([5; 4]))
    });
}

/// The ends of the address spaces of the default configuration against OpenVM's tree type, which
/// is given the touched leaves only.
#[test]
fn ends_of_the_default_address_spaces() {
    let config = MemoryConfig::default();
    let dimensions = config.memory_dimensions();
    let hasher = super::hash::Compressor::new();
    let mut guest = GuestMemory::new(AddressMap::from_mem_config(&config));
    let mut expected = vec![];
    for (address_space, cells) in [(1, 128), (2, 1 << 29), (3, 32)] {
        for leaf in [0, cells / 8 - 1] {
            let bytes = [address_space as u8, 2, 3, 4, 5, 6, 7, leaf as u8];
            // SAFETY: byte cells, and a leaf of the address space.
            unsafe { guest.write::<u8, 8>(address_space, 8 * leaf, bytes) };
            expected.push((dimensions.label_to_index((address_space, leaf)), bytes));
        }
    }
    let mut tree = MemoryTree::new(&config);
    tree.synchronize(&guest.memory);
    assert_eq!(
        tree.root(),
        &root_of_leaves(&expected, dimensions.overall_height(), &hasher)
    );
    guest.memory.fill_zero();
    tree.synchronize(&guest.memory);
    assert_eq!(tree.root(), MemoryTree::new(&config).root());
    let held = tree.held();
    assert_eq!(
        (held.pages, held.digests),
        (0, 0),
        "nothing is held of zeros"
    );
}

/// The root of a tree that is zero but for these leaves, by the definition.
fn root_of_leaves(
    leaves: &[(u64, [u8; 8])],
    height: usize,
    hasher: &impl openvm_circuit::arch::hasher::Hasher<8, F>,
) -> [F; 8] {
    if height == 0 {
        let cells = leaves.first().map_or([0; 8], |(_, bytes)| *bytes);
        return hasher.hash(&cells.map(F::from_u8));
    }
    if leaves.is_empty() {
        let child = root_of_leaves(leaves, height - 1, hasher);
        return hasher.compress(&child, &child);
    }
    let half = 1 << (height - 1);
    let (left, right): (Vec<_>, Vec<_>) = leaves.iter().partition(|(index, _)| *index < half);
    let right: Vec<_> = right
        .iter()
        .map(|(index, bytes)| (index - half, *bytes))
        .collect();
    hasher.compress(
        &root_of_leaves(&left, height - 1, hasher),
        &root_of_leaves(&right, height - 1, hasher),
    )
}

#[test]
fn initial_memory_and_commitment_equal_the_stock_tree() {
    let mut rng = StdRng::seed_from_u64(3);
    for pointer_max_bits in [5, 9, 16] {
        let config = config(pointer_max_bits);
        let mut image = std::collections::BTreeMap::new();
        for _ in 0..2000 {
            let address_space = [1, 2, 3, 5, 7][rng.random_range(0..5)];
            let bytes = config.addr_spaces[address_space as usize].size() as u32;
            image.insert((address_space, rng.random_range(0..bytes)), rng.random());
        }
        let mut memory = AddressMap::from_mem_config(&config);
        memory.set_from_sparse(&image);
        let hasher = vm_poseidon2_hasher::<F>();
        let dimensions = config.memory_dimensions();
        let root = MerkleTree::from_memory(&memory, &dimensions, &hasher).root();
        assert_eq!(initial_memory_root(&config, &image), Ok(root));
        let mut tree = MemoryTree::new(&config);
        tree.synchronize(&memory);
        assert_eq!(tree.root(), &root);

        let program = std::array::from_fn(|i| F::from_usize(i + 5));
        let commit = compute_exe_commit(&hasher, &program, &root, F::from_u32(0x200800));
        assert_eq!(exe_commit(&program, &config, &image, 0x200800), Ok(commit));
    }
}

#[test]
fn initial_memory_outside_the_address_space_is_refused() {
    let config = config(10);
    for (address_space, offset, bytes) in [(1, 128, 128), (2, 1 << 10, 1 << 10), (99, 0, 0)] {
        let image = [((address_space, offset), 1)].into();
        let refused = initial_memory_root(&config, &image);
        let expected = InitialMemoryError::OutOfBounds {
            address_space,
            offset,
            bytes,
        };
        assert_eq!(refused, Err(expected));
    }
}

/// The digests around an address space are those of OpenVM's tree.
#[test]
fn digests_around_an_address_space_are_openvm_s() {
    for seed in 0..4 {
        let mut rng = StdRng::seed_from_u64(seed);
        let config = config(rng.random_range(5..=13));
        let memory = GuestMemory::new(AddressMap::from_mem_config(&config));
        let mut memory = TracingMemory::from_image(memory);
        random_accesses(&mut rng, &mut memory, 64);
        let _ = memory.finalize::<F>();
        let memory = memory.data;
        let mut tree = MemoryTree::new(&config);
        tree.synchronize(&memory.memory);
        let dimensions = config.memory_dimensions();
        let stock =
            MerkleTree::from_memory(&memory.memory, &dimensions, &vm_poseidon2_hasher::<F>());
        for space in 1..config.addr_spaces.len() as u32 {
            let digests = tree.space_digests(space).expect("a space");
            assert_eq!(digests.beside.len(), dimensions.overall_height());
            assert_eq!(digests.path.len() + 1, digests.beside.len());
            let leaves = 1u64 << dimensions.overall_height();
            let mut node = leaves + dimensions.label_to_index((space, 0)) + 1;
            for (level, digest) in digests.beside.iter().enumerate() {
                if level == dimensions.address_height {
                    assert_eq!(digests.root, stock.get_node(node));
                }
                if level > 0 {
                    assert_eq!(digests.path[level - 1], stock.get_node(node));
                }
                assert_eq!(*digest, stock.get_node(node ^ 1), "level {level}");
                node >>= 1;
            }
            assert_eq!(node, 1);
        }
        let none = config.addr_spaces.len() as u32;
        assert!(tree.space_digests(none).is_none());
    }
}

#[test]
fn heights_are_overridden() {
    let mut tree = MemoryTree::new(&config(10));
    let heights = TraceHeights {
        boundary: Some(9),
        merkle: Some(64),
    };
    let traces = tree.advance(vec![], heights);
    assert_eq!(
        traces.boundary.len(),
        16 * super::boundary_rows::BOUNDARY_WIDTH
    );
    assert_eq!(traces.merkle.len(), 64 * super::merkle_rows::MERKLE_WIDTH);
}

#[test]
#[should_panic(expected = "the Merkle trace needs 32 rows")]
fn heights_that_are_too_small_are_refused() {
    let mut tree = MemoryTree::new(&config(10));
    let heights = TraceHeights {
        boundary: None,
        merkle: Some(16),
    };
    tree.advance(vec![], heights);
}
