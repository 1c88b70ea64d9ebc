//! Merkle-Patricia tries of accounts and of their storage, read from nodes in depth-first order.
//!
//! Each node is `length | mask << 16` (one little-endian word), its RLP, and zeros up to a multiple of four bytes. Bit `i` of a
//! branch's mask says that the node of child `i` follows; bit 0 of an extension's, that its child's does; bit 0 of an account's
//! leaf, that its storage trie follows. The order and the masks are the host's and are trusted for nothing: a node is taken if its
//! Keccak-256 is the digest that its parent holds.

use alloc::{boxed::Box, vec::Vec};
use alloy_primitives::{keccak256, B256};
use alloy_rlp::EMPTY_STRING_CODE;
use alloy_trie::EMPTY_ROOT_HASH;
use thiserror::Error;

use crate::{
    input::{padded, Nodes},
    node::{common, nibble, set_nibble, Rlp},
};

/// A fault of the trie's nodes.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum TrieError {
    /// The nodes end within a node.
    #[error("the nodes end at byte {0}, within a node")]
    Truncated(usize),
    /// A node whose hash is not the digest that its parent holds.
    #[error("the node at byte {at} hashes to {found}, and its parent holds {expected}")]
    Hash {
        /// Position among the nodes, in bytes.
        at: usize,
        /// Digest that the parent holds.
        expected: B256,
        /// Keccak-256 of the node.
        found: B256,
    },
    /// A node that is no node of a trie with keys of 32 bytes.
    #[error("the node at byte {0} is malformed")]
    Malformed(usize),
    /// A node that execution or the new root needs and the witness lacks.
    #[error("the witness lacks the trie node {0}")]
    Missing(B256),
}

/// Reference to a node: empty, a position of a digest, or an index into the arena.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Child(u32);

const DIGEST: u32 = 1 << 31;

impl Child {
    /// The empty subtree.
    pub const EMPTY: Self = Self(0);

    fn digest(at: usize) -> Self {
        Self(at as u32 | DIGEST)
    }

    fn node(index: usize) -> Self {
        Self(index as u32 + 1)
    }

    fn is_digest(self) -> bool {
        self.0 & DIGEST != 0
    }

    fn offset(self) -> usize {
        (self.0 & !DIGEST) as usize
    }

    fn index(self) -> usize {
        self.0 as usize - 1
    }
}

/// Value of a leaf.
enum Value {
    /// Position and length among the nodes' bytes.
    Read(u32, u32),
    /// New bytes.
    New(Box<[u8]>),
}

enum Kind {
    Leaf {
        key: B256,
        value: Value,
        storage: Child,
    },
    /// `key` is any key below the node; its nibbles up to `end` are the path.
    Extension {
        key: B256,
        end: usize,
        child: Child,
    },
    Branch([Child; 16]),
}

struct Node {
    /// Position of the digest that refers to the node; 0 for a node inside of its parent.
    digest: u32,
    /// Position and length of the node's RLP; length 0 once it has changed.
    raw: (u32, u32),
    /// Execution or the new root read the node.
    used: bool,
    kind: Kind,
}

/// Tries of the state: one of accounts, and below its leaves one of storage each.
pub struct Trie<N> {
    bytes: N,
    nodes: Vec<Node>,
}

/// Item of an RLP list.
struct Item {
    list: bool,
    /// Position with its header.
    start: usize,
    /// Position of the payload.
    payload: usize,
    end: usize,
}

impl<N: Nodes> Trie<N> {
    /// Reads the nodes. `bytes` begin with the digest of the root, which the caller compares with the state's root.
    ///
    /// # Errors
    ///
    /// [`TrieError`] for a node that is truncated, malformed, or not the one that its parent refers to, and for bytes left over.
    pub fn read(mut bytes: N) -> Result<(Self, Child), TrieError> {
        let length = bytes.length();
        if length < 32 || length >= DIGEST as usize {
            return Err(TrieError::Truncated(length));
        }
        bytes.read(32);
        let empty = bytes.bytes()[..32] == EMPTY_ROOT_HASH[..];
        let mut trie = Self {
            bytes,
            nodes: Vec::with_capacity(length / 256),
        };
        let mut at = 32;
        let root = if empty {
            Child::EMPTY
        } else if at == length {
            Child::digest(0)
        } else {
            trie.read_node(&mut at, 0, 0, &mut B256::default(), true)?
        };
        if at != length {
            return Err(TrieError::Malformed(at));
        }
        Ok((trie, root))
    }

    fn bytes(&self) -> &[u8] {
        self.bytes.bytes()
    }

    /// Bytes up to `end`, read now or before.
    fn read_to(&mut self, end: usize) -> Option<&[u8]> {
        if end > self.bytes.length() {
            return None;
        }
        self.bytes.read(end);
        self.bytes.bytes().get(..end)
    }

    fn digest_at(&self, at: usize) -> B256 {
        B256::from_slice(&self.bytes()[at..at + 32])
    }

    fn read_node(
        &mut self,
        at: &mut usize,
        digest: usize,
        depth: usize,
        prefix: &mut B256,
        accounts: bool,
    ) -> Result<Child, TrieError> {
        let start = *at;
        let word = self
            .read_to(start + 4)
            .and_then(|bytes| bytes.get(start..))
            .ok_or(TrieError::Truncated(start))?;
        let word = u32::from_le_bytes([word[0], word[1], word[2], word[3]]);
        let (length, mask) = (word as usize & 0xffff, word >> 16);
        let raw = start + 4;
        let rlp = self
            .read_to(raw + length)
            .and_then(|bytes| bytes.get(raw..))
            .ok_or(TrieError::Truncated(start))?;
        let found = keccak256(rlp);
        if found[..] != self.bytes()[digest..digest + 32] {
            return Err(TrieError::Hash {
                at: start,
                expected: self.digest_at(digest),
                found,
            });
        }
        *at = raw + padded(length);
        self.parse(
            raw,
            raw + length,
            Some(digest),
            depth,
            prefix,
            mask,
            at,
            accounts,
        )
    }

    /// Item at `at`, which ends at `limit` at the latest. Lengths of more than two bytes have no place in a node.
    fn item(&self, at: usize, limit: usize) -> Result<Item, TrieError> {
        let malformed = TrieError::Malformed(at);
        if at >= limit {
            return Err(malformed);
        }
        let first = self.bytes()[at];
        let (list, payload, length) = match first {
            0..=0x7f => (false, at, 1),
            0x80..=0xb7 => (false, at + 1, first as usize - 0x80),
            0xb8..=0xb9 | 0xf8..=0xf9 => {
                let wide = first & 1 == 1;
                let header = 2 + usize::from(wide);
                let bytes = self.bytes()[..limit]
                    .get(at + 1..at + header)
                    .ok_or(malformed)?;
                let length = if wide {
                    usize::from(bytes[0]) << 8 | usize::from(bytes[1])
                } else {
                    bytes[0].into()
                };
                (first >= 0xf8, at + header, length)
            }
            0xc0..=0xf7 => (true, at + 1, first as usize - 0xc0),
            _ => return Err(malformed),
        };
        let end = payload + length;
        if end > limit {
            return Err(malformed);
        }
        Ok(Item {
            list,
            start: at,
            payload,
            end,
        })
    }

    #[allow(clippy::too_many_arguments)]
    fn parse(
        &mut self,
        start: usize,
        end: usize,
        digest: Option<usize>,
        depth: usize,
        prefix: &mut B256,
        mask: u32,
        at: &mut usize,
        accounts: bool,
    ) -> Result<Child, TrieError> {
        let malformed = TrieError::Malformed(start);
        let list = self.item(start, end)?;
        if !list.list || list.end != end {
            return Err(malformed);
        }
        let first = self.item(list.payload, end)?;
        let second = self.item(first.end, end)?;
        let kind = if second.end == end {
            if first.list || first.payload == first.end {
                return Err(malformed);
            }
            let path = &self.bytes()[first.payload..first.end];
            let (flag, odd) = (path[0] >> 4, path[0] >> 4 & 1);
            let nibbles = 2 * (path.len() - 1) + usize::from(odd);
            let path_end = depth + nibbles;
            if flag > 3 || path_end > 64 || (odd == 0 && path[0] & 0xf != 0) {
                return Err(malformed);
            }
            let mut key = *prefix;
            let mut position = depth;
            if odd == 1 {
                set_nibble(&mut key, position, path[0] & 0xf);
                position += 1;
            }
            if position.is_multiple_of(2) {
                key[position / 2..path_end / 2].copy_from_slice(&path[1..]);
            } else {
                for byte in &path[1..] {
                    set_nibble(&mut key, position, byte >> 4);
                    set_nibble(&mut key, position + 1, byte & 0xf);
                    position += 2;
                }
            }
            if flag >= 2 {
                let length = second.end - second.payload;
                if path_end != 64 || second.list || (!accounts && length > 33) {
                    return Err(malformed);
                }
                let value = (second.payload, second.end);
                let storage = if accounts {
                    self.storage(value, mask, at)?
                } else {
                    Child::EMPTY
                };
                let value = Value::Read(value.0 as u32, (value.1 - value.0) as u32);
                Kind::Leaf {
                    key,
                    value,
                    storage,
                }
            } else {
                if nibbles == 0 || path_end == 64 {
                    return Err(malformed);
                }
                let child =
                    self.child(second, path_end, &mut key.clone(), mask & 1, at, accounts)?;
                // A child of an extension is a branch; anything else is another trie's shape.
                if child == Child::EMPTY {
                    return Err(malformed);
                }
                Kind::Extension {
                    key,
                    end: path_end,
                    child,
                }
            }
        } else {
            if depth >= 64 {
                return Err(malformed);
            }
            let mut children = [Child::EMPTY; 16];
            let mut next = first;
            for (nibble, child) in children.iter_mut().enumerate() {
                let item_end = next.end;
                if next.list || next.payload != next.end {
                    set_nibble(prefix, depth, nibble as u8);
                    *child =
                        self.child(next, depth + 1, prefix, mask >> nibble & 1, at, accounts)?;
                }
                next = self.item(item_end, end)?;
            }
            set_nibble(prefix, depth, 0);
            // Keys have one length, so no branch has a value.
            if next.end != end || self.bytes()[next.start] != EMPTY_STRING_CODE {
                return Err(malformed);
            }
            Kind::Branch(children)
        };
        self.nodes.push(Node {
            digest: digest.unwrap_or(0) as u32,
            raw: (start as u32, (end - start) as u32),
            used: false,
            kind,
        });
        Ok(Child::node(self.nodes.len() - 1))
    }

    fn child(
        &mut self,
        item: Item,
        depth: usize,
        prefix: &mut B256,
        expanded: u32,
        at: &mut usize,
        accounts: bool,
    ) -> Result<Child, TrieError> {
        if item.list {
            // A node of less than 32 bytes stands inside of its parent.
            if item.end - item.start >= 32 {
                return Err(TrieError::Malformed(item.start));
            }
            return self.parse(item.start, item.end, None, depth, prefix, 0, at, accounts);
        }
        if item.end - item.payload != 32 {
            return Err(TrieError::Malformed(item.start));
        }
        if expanded == 0 {
            return Ok(Child::digest(item.payload));
        }
        self.read_node(at, item.payload, depth, prefix, accounts)
    }

    /// Storage trie of the account whose RLP lies in `value`.
    fn storage(
        &mut self,
        value: (usize, usize),
        mask: u32,
        at: &mut usize,
    ) -> Result<Child, TrieError> {
        let account = self.item(value.0, value.1)?;
        let nonce = self.item(account.payload, account.end)?;
        let balance = self.item(nonce.end, account.end)?;
        let root = self.item(balance.end, account.end)?;
        let code = self.item(root.end, account.end)?;
        let fits = |item: &Item, length| !item.list && item.end - item.payload <= length;
        if !account.list
            || account.end != value.1
            || code.end != account.end
            || !fits(&nonce, 8)
            || !fits(&balance, 32)
            || root.end - root.payload != 32
            || code.end - code.payload != 32
        {
            return Err(TrieError::Malformed(value.0));
        }
        if self.bytes()[root.payload..root.end] == EMPTY_ROOT_HASH[..] {
            return Ok(Child::EMPTY);
        }
        if mask & 1 == 0 {
            return Ok(Child::digest(root.payload));
        }
        self.read_node(at, root.payload, 0, &mut B256::default(), false)
    }

    /// Leaf of `key`, as an index for [`Self::leaf`].
    ///
    /// # Errors
    ///
    /// [`TrieError::Missing`] if the way to the key leads to a node that the witness lacks.
    pub fn get(&mut self, root: Child, key: &B256) -> Result<Option<usize>, TrieError> {
        let (mut child, mut depth) = (root, 0);
        loop {
            if child == Child::EMPTY {
                return Ok(None);
            }
            if child.is_digest() {
                return Err(TrieError::Missing(self.digest_at(child.offset())));
            }
            let index = child.index();
            let node = &mut self.nodes[index];
            node.used = true;
            match &node.kind {
                Kind::Leaf { key: found, .. } => return Ok((found == key).then_some(index)),
                Kind::Extension {
                    key: path,
                    end,
                    child: below,
                } => {
                    if common(path, key, depth, *end) != *end {
                        return Ok(None);
                    }
                    (child, depth) = (*below, *end);
                }
                Kind::Branch(children) => {
                    child = children[nibble(key, depth)];
                    depth += 1;
                }
            }
        }
    }

    /// Key, value and storage of a leaf that [`Self::get`] found.
    pub fn leaf(&self, index: usize) -> (&B256, &[u8], Child) {
        match &self.nodes[index].kind {
            Kind::Leaf {
                key,
                value: Value::Read(at, length),
                storage,
            } => (
                key,
                &self.bytes()[*at as usize..][..*length as usize],
                *storage,
            ),
            Kind::Leaf {
                key,
                value: Value::New(bytes),
                storage,
            } => (key, bytes, *storage),
            _ => unreachable!("an index of a leaf"),
        }
    }

    /// Sets the value of `key` below `root`, and returns the new root.
    ///
    /// # Errors
    ///
    /// [`TrieError::Missing`] if the way to the key leads to a node that the witness lacks.
    pub fn insert(&mut self, root: Child, key: &B256, value: &[u8]) -> Result<Child, TrieError> {
        self.insert_below(root, key, 0, value)
    }

    fn insert_below(
        &mut self,
        child: Child,
        key: &B256,
        depth: usize,
        value: &[u8],
    ) -> Result<Child, TrieError> {
        if child == Child::EMPTY {
            return Ok(self.new_leaf(key, value));
        }
        if child.is_digest() {
            return Err(TrieError::Missing(self.digest_at(child.offset())));
        }
        let index = child.index();
        self.nodes[index].used = true;
        match &self.nodes[index].kind {
            Kind::Leaf { key: found, .. } => {
                if found == key {
                    if self.leaf(index).1 != value {
                        self.changed(index);
                        let Kind::Leaf { value: old, .. } = &mut self.nodes[index].kind else {
                            unreachable!("a leaf");
                        };
                        *old = Value::New(value.into());
                    }
                    return Ok(child);
                }
                let found = *found;
                let fork = common(&found, key, depth, 64);
                self.changed(index);
                Ok(self.fork(depth, fork, key, value, nibble(&found, fork), child))
            }
            Kind::Extension {
                key: path,
                end,
                child: below,
            } => {
                let (path, end, below) = (*path, *end, *below);
                let fork = common(&path, key, depth, end);
                if fork == end {
                    let new = self.insert_below(below, key, end, value)?;
                    if new != below || self.is_changed(new) {
                        self.changed(index);
                        self.nodes[index].kind = Kind::Extension {
                            key: path,
                            end,
                            child: new,
                        };
                    }
                    return Ok(child);
                }
                self.changed(index);
                let rest = if fork + 1 == end { below } else { child };
                Ok(self.fork(depth, fork, key, value, nibble(&path, fork), rest))
            }
            Kind::Branch(children) => {
                let way = nibble(key, depth);
                let old = children[way];
                let new = self.insert_below(old, key, depth + 1, value)?;
                if new != old || self.is_changed(new) {
                    self.changed(index);
                    self.set_child(index, way, new);
                }
                Ok(child)
            }
        }
    }

    /// Branch at depth `fork` of a new leaf and the subtree `old`, below an extension if `fork` is deeper than `depth`.
    fn fork(
        &mut self,
        depth: usize,
        fork: usize,
        key: &B256,
        value: &[u8],
        old_way: usize,
        old: Child,
    ) -> Child {
        let mut children = [Child::EMPTY; 16];
        children[old_way] = old;
        children[nibble(key, fork)] = self.new_leaf(key, value);
        let branch = self.push(Kind::Branch(children));
        if fork == depth {
            return branch;
        }
        self.push(Kind::Extension {
            key: *key,
            end: fork,
            child: branch,
        })
    }

    /// Removes `key` below `root`, and returns the new root. A key that is absent changes nothing.
    ///
    /// # Errors
    ///
    /// [`TrieError::Missing`] if the way to the key, or the only sibling that is left of it, is a node that the witness lacks.
    pub fn remove(&mut self, root: Child, key: &B256) -> Result<Child, TrieError> {
        self.remove_below(root, key, 0)
    }

    fn remove_below(&mut self, child: Child, key: &B256, depth: usize) -> Result<Child, TrieError> {
        if child == Child::EMPTY {
            return Ok(child);
        }
        if child.is_digest() {
            return Err(TrieError::Missing(self.digest_at(child.offset())));
        }
        let index = child.index();
        self.nodes[index].used = true;
        match &self.nodes[index].kind {
            Kind::Leaf { key: found, .. } => Ok(if found == key { Child::EMPTY } else { child }),
            Kind::Extension {
                key: path,
                end,
                child: below,
            } => {
                let (path, end, below) = (*path, *end, *below);
                if common(&path, key, depth, end) != end {
                    return Ok(child);
                }
                let new = self.remove_below(below, key, end)?;
                if new == below && !self.is_changed(new) {
                    return Ok(child);
                }
                self.changed(index);
                if new != Child::EMPTY && !matches!(self.nodes[new.index()].kind, Kind::Branch(_)) {
                    return Ok(new);
                }
                self.nodes[index].kind = Kind::Extension {
                    key: path,
                    end,
                    child: new,
                };
                Ok(child)
            }
            Kind::Branch(children) => {
                let way = nibble(key, depth);
                let old = children[way];
                let new = self.remove_below(old, key, depth + 1)?;
                if new == old && !self.is_changed(new) {
                    return Ok(child);
                }
                self.changed(index);
                self.set_child(index, way, new);
                let Kind::Branch(children) = &self.nodes[index].kind else {
                    unreachable!("a branch");
                };
                let mut left = (0..16).filter(|way| children[*way] != Child::EMPTY);
                let (Some(last), None) = (left.next(), left.next()) else {
                    return Ok(child);
                };
                let rest = children[last];
                if rest.is_digest() {
                    return Err(TrieError::Missing(self.digest_at(rest.offset())));
                }
                self.nodes[rest.index()].used = true;
                if matches!(self.nodes[rest.index()].kind, Kind::Branch(_)) {
                    let mut path = *key;
                    set_nibble(&mut path, depth, last as u8);
                    return Ok(self.push(Kind::Extension {
                        key: path,
                        end: depth + 1,
                        child: rest,
                    }));
                }
                // Its path is longer now.
                self.changed(rest.index());
                Ok(rest)
            }
        }
    }

    fn set_child(&mut self, index: usize, way: usize, new: Child) {
        let Kind::Branch(children) = &mut self.nodes[index].kind else {
            unreachable!("a branch");
        };
        children[way] = new;
    }

    fn new_leaf(&mut self, key: &B256, value: &[u8]) -> Child {
        self.push(Kind::Leaf {
            key: *key,
            value: Value::New(value.into()),
            storage: Child::EMPTY,
        })
    }

    fn push(&mut self, kind: Kind) -> Child {
        self.nodes.push(Node {
            digest: 0,
            raw: (0, 0),
            used: true,
            kind,
        });
        Child::node(self.nodes.len() - 1)
    }

    fn changed(&mut self, index: usize) {
        self.nodes[index].raw.1 = 0;
    }

    fn is_changed(&self, child: Child) -> bool {
        child != Child::EMPTY && !child.is_digest() && self.nodes[child.index()].raw.1 == 0
    }

    /// Root hash of the trie `root`.
    pub fn root(&self, root: Child) -> B256 {
        if root == Child::EMPTY {
            return EMPTY_ROOT_HASH;
        }
        if root.is_digest() {
            return self.digest_at(root.offset());
        }
        let node = &self.nodes[root.index()];
        if node.raw.1 != 0 {
            return self.digest_at(node.digest as usize);
        }
        let mut rlp = Rlp::new();
        self.encode(root.index(), 0, &mut rlp);
        keccak256(rlp.finish())
    }

    /// Appends a node's reference: its digest, or itself if it has less than 32 bytes.
    fn refer(&self, child: Child, depth: usize, out: &mut Rlp) {
        if child == Child::EMPTY {
            return out.push(EMPTY_STRING_CODE);
        }
        if child.is_digest() {
            return out.digest(&self.bytes()[child.offset()..][..32]);
        }
        let node = &self.nodes[child.index()];
        if node.raw.1 != 0 {
            let (at, length) = (node.raw.0 as usize, node.raw.1 as usize);
            return if node.digest == 0 {
                out.bytes(&self.bytes()[at..at + length])
            } else {
                out.digest(&self.bytes()[node.digest as usize..][..32])
            };
        }
        let mut rlp = Rlp::new();
        self.encode(child.index(), depth, &mut rlp);
        let encoded = rlp.finish();
        if encoded.len() < 32 {
            out.bytes(encoded);
        } else {
            out.digest(&keccak256(encoded)[..]);
        }
    }

    fn encode(&self, index: usize, depth: usize, out: &mut Rlp) {
        match &self.nodes[index].kind {
            Kind::Leaf { key, .. } => {
                out.path(key, depth, 64, true);
                out.string(self.leaf(index).1);
            }
            Kind::Extension { key, end, child } => {
                out.path(key, depth, *end, false);
                self.refer(*child, *end, out);
            }
            Kind::Branch(children) => {
                for child in children {
                    self.refer(*child, depth + 1, out);
                }
                out.push(EMPTY_STRING_CODE);
            }
        }
    }

    /// Digests of the nodes that execution and the new roots used.
    pub fn used(&self) -> Vec<B256> {
        let read = self
            .nodes
            .iter()
            .filter(|node| node.used && node.raw.0 != 0);
        read.filter(|node| node.digest != 0 || node.raw.0 == 36)
            .map(|node| self.digest_at(node.digest as usize))
            .collect()
    }
}
