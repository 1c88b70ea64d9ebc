//! The order of trie nodes that the guest reads.

use std::collections::{HashMap, HashSet};

use alloy_consensus::EMPTY_ROOT_HASH;
use alloy_primitives::{keccak256, Bytes, B256};
use alloy_rlp::{Header, PayloadView};

struct Tries<'a> {
    nodes: HashMap<B256, &'a Bytes>,
    used: Option<&'a HashSet<B256>>,
    out: Vec<u8>,
}

/// Nodes of the state `root` and of its storage tries, depth first; those in `used` alone, if it is given.
pub(crate) fn ordered(root: B256, nodes: &[Bytes], used: Option<&HashSet<B256>>) -> Bytes {
    let nodes = nodes.iter().map(|node| (keccak256(node), node)).collect();
    let mut tries = Tries {
        nodes,
        used,
        out: root.to_vec(),
    };
    tries.write(root, true, 0);
    tries.out.into()
}

impl Tries<'_> {
    /// Writes the node with this digest and the nodes below it, if it is there.
    fn write(&mut self, digest: B256, accounts: bool, depth: usize) -> bool {
        // Some witnesses have the preimage of the empty trie, which is no node.
        if digest == EMPTY_ROOT_HASH {
            return false;
        }
        let wanted = self.used.is_none_or(|used| used.contains(&digest));
        // Nodes that are no trie's may refer to one another in longer chains than keys have nibbles.
        let Some(node) = self
            .nodes
            .get(&digest)
            .copied()
            .filter(|_| wanted && depth <= 64)
        else {
            return false;
        };
        let Ok(length) = u16::try_from(node.len()) else {
            return false;
        };
        let at = self.out.len();
        self.out.extend_from_slice(&u32::from(length).to_le_bytes());
        self.out.extend_from_slice(node);
        self.out.resize(self.out.len().next_multiple_of(4), 0);
        let mask = self.below(node, accounts, depth);
        self.out[at + 2..at + 4].copy_from_slice(&mask.to_le_bytes());
        true
    }

    /// Writes the nodes below one, and tells which were there.
    fn below(&mut self, mut node: &[u8], accounts: bool, depth: usize) -> u16 {
        let Ok(PayloadView::List(items)) = Header::decode_raw(&mut node) else {
            return 0;
        };
        let mut mask = 0;
        match items[..] {
            [mut path, mut value] => {
                let (Some(path), Some(value)) = (string(&mut path), string(&mut value)) else {
                    return 0;
                };
                let leaf = path.first().is_some_and(|first| *first >= 0x20);
                let (digest, accounts) = if leaf {
                    (storage_root(value).filter(|_| accounts), false)
                } else {
                    (B256::try_from(value).ok(), accounts)
                };
                let depth = if leaf { 0 } else { depth + 1 };
                mask |= u16::from(digest.is_some_and(|digest| self.write(digest, accounts, depth)));
            }
            _ => {
                for (way, mut item) in items.iter().copied().take(16).enumerate() {
                    let digest = string(&mut item).and_then(|child| B256::try_from(child).ok());
                    let written =
                        digest.is_some_and(|digest| self.write(digest, accounts, depth + 1));
                    mask |= u16::from(written) << way;
                }
            }
        }
        mask
    }
}

fn string<'a>(item: &mut &'a [u8]) -> Option<&'a [u8]> {
    match Header::decode_raw(item) {
        Ok(PayloadView::String(string)) => Some(string),
        _ => None,
    }
}

fn storage_root(mut account: &[u8]) -> Option<B256> {
    let Ok(PayloadView::List(fields)) = Header::decode_raw(&mut account) else {
        return None;
    };
    let mut root = *fields.get(2)?;
    B256::try_from(string(&mut root)?).ok()
}
