//! Tries against another implementation: whole and partial witnesses, and keys so alike that nodes stand inside of their parents.

mod common;

use std::collections::{BTreeMap, HashMap};

use alloy_primitives::{keccak256, Bytes, B256};
use alloy_rlp::{Encodable, Header, PayloadView};
use alloy_trie::{proof::ProofRetainer, HashBuilder, Nibbles, EMPTY_ROOT_HASH};
use common::Lazy;
use ethereum_core::{Trie, TrieError};

type Slots = BTreeMap<B256, Vec<u8>>;

/// Root of a trie, and its nodes on the ways to `targets`.
fn expected(slots: &Slots, targets: &[B256]) -> (B256, HashMap<B256, Bytes>) {
    let targets = targets.iter().map(Nibbles::unpack).collect();
    let mut builder = HashBuilder::default().with_proof_retainer(ProofRetainer::new(targets));
    for (key, value) in slots {
        builder.add_leaf(Nibbles::unpack(key), value);
    }
    let root = builder.root();
    let nodes = builder.take_proof_nodes().into_inner().into_values();
    (root, nodes.map(|node| (keccak256(&node), node)).collect())
}

fn write(nodes: &HashMap<B256, Bytes>, digest: B256, out: &mut Vec<u8>) -> bool {
    let Some(node) = nodes.get(&digest).filter(|_| digest != EMPTY_ROOT_HASH) else {
        return false;
    };
    let at = out.len();
    out.extend_from_slice(&(node.len() as u32).to_le_bytes());
    out.extend_from_slice(node);
    out.resize(out.len().next_multiple_of(4), 0);
    let Ok(PayloadView::List(items)) = Header::decode_raw(&mut &node[..]) else {
        panic!("a node is a list");
    };
    // Of an extension the child is bit 0.
    let children = if items.len() == 2 {
        &items[1..]
    } else {
        &items[..16]
    };
    let mut mask = 0_u16;
    for (way, child) in children.iter().enumerate() {
        // 0xa0 begins a string of 32 bytes, which in these tries is a digest.
        if child.len() == 33 && child[0] == 0xa0 && write(nodes, B256::from_slice(&child[1..]), out)
        {
            mask |= 1 << way;
        }
    }
    out[at + 2..at + 4].copy_from_slice(&mask.to_le_bytes());
    true
}

/// Nodes of a state with one account, whose storage has these nodes.
fn state(storage: B256, nodes: &HashMap<B256, Bytes>) -> Vec<u8> {
    let mut account = Vec::new();
    let parts: [&dyn Encodable; 4] = [&1_u64, &2_u64, &storage, &B256::ZERO];
    let payload_length = parts.iter().map(|part| part.length()).sum();
    let list = true;
    Header {
        list,
        payload_length,
    }
    .encode(&mut account);
    parts.iter().for_each(|part| part.encode(&mut account));
    let path = [&[0x20], &[0; 32][..]].concat();
    let parts = [&path[..], &account[..]];
    let mut leaf = Vec::new();
    let payload_length = parts.iter().map(|part| part.length()).sum();
    Header {
        list,
        payload_length,
    }
    .encode(&mut leaf);
    parts.iter().for_each(|part| part.encode(&mut leaf));
    let mut out = keccak256(&leaf).to_vec();
    let at = out.len();
    out.extend_from_slice(&(leaf.len() as u32).to_le_bytes());
    out.extend_from_slice(&leaf);
    out.resize(out.len().next_multiple_of(4), 0);
    out[at + 2] = write(nodes, storage, &mut out).into();
    out
}

struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }

    /// Keys that differ in a few places, the last among them.
    fn key(&mut self) -> B256 {
        let mut key = B256::ZERO;
        for at in [0, 1, 15, 30, 31] {
            if self.below(2) == 0 {
                key[at] = [0x01, 0x10, 0x11, 0x1f][self.below(4)];
            }
        }
        key
    }

    fn value(&mut self) -> Vec<u8> {
        match self.below(3) {
            0 => vec![1 + self.below(100) as u8],
            1 => [&[0x88], &[1 + self.below(200) as u8; 8][..]].concat(),
            _ => [&[0xa0], &[1 + self.below(200) as u8; 32][..]].concat(),
        }
    }
}

#[test]
fn changed_tries_have_the_root_of_another_implementation() {
    let mut random = Random(1);
    let (mut whole, mut missing) = (0, 0);
    for round in 0..6_000 {
        let mut slots = Slots::new();
        for _ in 0..random.below(25) {
            slots.insert(random.key(), random.value());
        }
        let mut changes: Vec<(B256, Option<Vec<u8>>)> = Vec::new();
        for _ in 0..random.below(12) {
            let present: Vec<B256> = slots.keys().copied().collect();
            let key = if present.is_empty() || random.below(3) == 0 {
                random.key()
            } else {
                present[random.below(present.len())]
            };
            changes.push((key, (random.below(2) == 0).then(|| random.value())));
        }
        // All of the witness, or the ways to what changes, which lack siblings of what is removed.
        let targets: Vec<B256> = if round % 2 == 0 {
            slots
                .keys()
                .copied()
                .chain(changes.iter().map(|change| change.0))
                .collect()
        } else {
            changes.iter().map(|change| change.0).collect()
        };
        let (root, nodes) = expected(&slots, &targets);
        let bytes = state(root, &nodes);
        let (mut trie, accounts) = Trie::read(Lazy::new(&bytes)).unwrap();
        let leaf = trie.get(accounts, &B256::ZERO).unwrap().unwrap();
        let mut storage = trie.leaf(leaf).2;
        assert_eq!(trie.root(storage), root);
        if round % 2 == 0 {
            for (key, value) in &slots {
                let leaf = trie.get(storage, key).unwrap().unwrap();
                assert_eq!(trie.leaf(leaf).1, value);
            }
        }
        let result = changes.iter().try_for_each(|(key, value)| {
            storage = match value {
                Some(value) => trie.insert(storage, key, value)?,
                None => trie.remove(storage, key)?,
            };
            Ok(())
        });
        match result {
            Ok(()) => {
                for (key, value) in changes {
                    match value {
                        Some(value) => slots.insert(key, value),
                        None => slots.remove(&key),
                    };
                }
                assert_eq!(trie.root(storage), expected(&slots, &[]).0, "{round}");
                whole += 1;
            }
            Err(error) => {
                assert!(round % 2 == 1, "{round}: {error}");
                assert!(matches!(error, TrieError::Missing(_)), "{round}: {error}");
                missing += 1;
            }
        }
    }
    assert!(whole > 4_000 && missing > 100, "{whole}, {missing}");
}
