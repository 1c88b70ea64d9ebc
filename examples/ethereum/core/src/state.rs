//! State of the witness: the EVM's database, and the root after the block.

use alloc::vec::Vec;
use alloy_consensus::constants::KECCAK_EMPTY;
use alloy_primitives::{keccak256, map::HashMap, Address, B256, U256};
use alloy_rlp::{Decodable, Encodable};
use revm::{
    bytecode::Bytecode,
    database_interface::DBErrorMarker,
    state::{AccountId, AccountInfo, EvmState},
    Database,
};
use thiserror::Error;

use crate::{
    code::bytecode,
    input::{Code, Nodes},
    trie::{Child, Trie, TrieError},
};

/// Part of the state that the witness lacks or has damaged.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum StateError {
    /// Fault on the way to an account.
    #[error("account {address}: {error}")]
    Account {
        /// Account.
        address: Address,
        /// Fault of the trie.
        error: TrieError,
    },
    /// Fault on the way to a slot of an account's storage.
    #[error("slot {slot} of account {address}: {error}")]
    Storage {
        /// Account.
        address: Address,
        /// Slot.
        slot: U256,
        /// Fault of the trie.
        error: TrieError,
    },
    /// Code that is run or read, and absent.
    #[error("the witness lacks the code {0}")]
    Code(B256),
    /// Header that BLOCKHASH reads, and absent.
    #[error("the witness lacks the header of block {0}, whose hash BLOCKHASH reads")]
    Ancestor(u64),
}

impl DBErrorMarker for StateError {}

struct LoadedCode {
    bytecode: Bytecode,
    used: bool,
}

/// State before the block, read from the witness.
pub(crate) struct State<N> {
    trie: Trie<N>,
    root: Child,
    codes: HashMap<B256, LoadedCode>,
    /// Hash of the parent and of its ancestors, as many as the witness has.
    ancestors: Vec<B256>,
    parent: u64,
    pub(crate) oldest: u64,
}

impl<N: Nodes> State<N> {
    pub(crate) fn new(
        (trie, root): (Trie<N>, Child),
        codes: &[Code],
        ancestors: Vec<B256>,
        parent: u64,
    ) -> Self {
        let codes = codes
            .iter()
            .map(|code| {
                let hash = keccak256(code.code());
                (
                    hash,
                    LoadedCode {
                        bytecode: bytecode(code),
                        used: false,
                    },
                )
            })
            .collect();
        Self {
            trie,
            root,
            codes,
            ancestors,
            parent,
            oldest: parent,
        }
    }

    pub(crate) fn trie(&self) -> &Trie<N> {
        &self.trie
    }

    pub(crate) fn used_codes(&self) -> Vec<B256> {
        self.codes
            .iter()
            .filter(|(_, code)| code.used)
            .map(|(hash, _)| *hash)
            .collect()
    }

    fn storage_of(
        &mut self,
        storage: Child,
        address: Address,
        slot: U256,
    ) -> Result<U256, StateError> {
        let failed = |error| StateError::Storage {
            address,
            slot,
            error,
        };
        let key = keccak256(slot.to_be_bytes::<32>());
        let Some(leaf) = self.trie.get(storage, &key).map_err(failed)? else {
            return Ok(U256::ZERO);
        };
        decode(self.trie.leaf(leaf).1).ok_or(failed(TrieError::Malformed(0)))
    }

    /// Root after the block. Keys are set before others are removed, because a removal may need a sibling that a client leaves out
    /// of its witness if the sibling is set first.
    pub(crate) fn root_after(&mut self, changes: EvmState) -> Result<B256, StateError> {
        let mut removed = Vec::new();
        for (address, account) in changes {
            if !account.is_touched() {
                continue;
            }
            let failed = |error| StateError::Account { address, error };
            let (key, leaf) = match account.info.account_id {
                Some(id) => (*self.trie.leaf(id.get()).0, Some(id.get())),
                None => {
                    let key = keccak256(address);
                    let leaf = self.trie.get(self.root, &key).map_err(failed)?;
                    (key, leaf)
                }
            };
            // A destroyed account that a later transaction loaded has been emptied by then.
            if account.is_selfdestructed_locally() || account.info.is_empty() {
                if leaf.is_some() {
                    removed.push((address, key));
                }
                continue;
            }
            let mut storage = leaf.map_or(Child::EMPTY, |leaf| self.trie.leaf(leaf).2);
            let mut zeros = Vec::new();
            for (slot, value) in account.storage {
                let failed = |error| StateError::Storage {
                    address,
                    slot,
                    error,
                };
                let key = keccak256(slot.to_be_bytes::<32>());
                if value.present_value.is_zero() {
                    zeros.push((slot, key));
                } else {
                    let mut rlp = RlpBytes::new();
                    rlp.number(value.present_value);
                    storage = self
                        .trie
                        .insert(storage, &key, rlp.as_slice())
                        .map_err(failed)?;
                }
            }
            for (slot, key) in zeros {
                let failed = |error| StateError::Storage {
                    address,
                    slot,
                    error,
                };
                storage = self.trie.remove(storage, &key).map_err(failed)?;
            }
            let root = self.trie.root(storage);
            let mut rlp = Vec::with_capacity(110);
            let info = &account.info;
            let parts: [&dyn Encodable; 4] = [&info.nonce, &info.balance, &root, &info.code_hash];
            let payload_length = parts.iter().map(|part| part.length()).sum();
            alloy_rlp::Header {
                list: true,
                payload_length,
            }
            .encode(&mut rlp);
            for part in parts {
                part.encode(&mut rlp);
            }
            self.root = self.trie.insert(self.root, &key, &rlp).map_err(failed)?;
        }
        for (address, key) in removed {
            let failed = |error| StateError::Account { address, error };
            self.root = self.trie.remove(self.root, &key).map_err(failed)?;
        }
        Ok(self.trie.root(self.root))
    }
}

/// RLP of a number.
struct RlpBytes {
    bytes: [u8; 33],
    length: usize,
}

impl RlpBytes {
    fn new() -> Self {
        Self {
            bytes: [0; 33],
            length: 0,
        }
    }

    fn number(&mut self, number: U256) {
        let mut rest = &mut self.bytes[..];
        let room = rest.len();
        number.encode(&mut rest);
        self.length = room - rest.len();
    }

    fn as_slice(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

fn decode<T: Decodable>(mut rlp: &[u8]) -> Option<T> {
    let value = T::decode(&mut rlp).ok()?;
    rlp.is_empty().then_some(value)
}

/// Account of a leaf: nonce, balance, hash of the code.
fn account(mut rlp: &[u8]) -> Option<(u64, U256, B256)> {
    let header = alloy_rlp::Header::decode(&mut rlp).ok()?;
    if !header.list || header.payload_length != rlp.len() {
        return None;
    }
    let nonce = u64::decode(&mut rlp).ok()?;
    let balance = U256::decode(&mut rlp).ok()?;
    B256::decode(&mut rlp).ok()?;
    let code = B256::decode(&mut rlp).ok()?;
    rlp.is_empty().then_some((nonce, balance, code))
}

impl<N: Nodes> Database for State<N> {
    type Error = StateError;

    fn basic(&mut self, address: Address) -> Result<Option<AccountInfo>, StateError> {
        let failed = |error| StateError::Account { address, error };
        let key = keccak256(address);
        let Some(leaf) = self.trie.get(self.root, &key).map_err(failed)? else {
            return Ok(None);
        };
        let (nonce, balance, code_hash) =
            account(self.trie.leaf(leaf).1).ok_or(failed(TrieError::Malformed(0)))?;
        let code = (code_hash == KECCAK_EMPTY).then(Bytecode::default);
        let account_id = AccountId::new(leaf);
        Ok(Some(AccountInfo {
            balance,
            nonce,
            code_hash,
            account_id,
            code,
        }))
    }

    fn code_by_hash(&mut self, code_hash: B256) -> Result<Bytecode, StateError> {
        if code_hash == KECCAK_EMPTY {
            return Ok(Bytecode::default());
        }
        let code = self
            .codes
            .get_mut(&code_hash)
            .ok_or(StateError::Code(code_hash))?;
        code.used = true;
        Ok(code.bytecode.clone())
    }

    fn storage(&mut self, address: Address, slot: U256) -> Result<U256, StateError> {
        let failed = |error| StateError::Account { address, error };
        let leaf = self
            .trie
            .get(self.root, &keccak256(address))
            .map_err(failed)?;
        let storage = leaf.map_or(Child::EMPTY, |leaf| self.trie.leaf(leaf).2);
        self.storage_of(storage, address, slot)
    }

    fn storage_by_account_id(
        &mut self,
        address: Address,
        id: AccountId,
        slot: U256,
    ) -> Result<U256, StateError> {
        let storage = self.trie.leaf(id.get()).2;
        self.storage_of(storage, address, slot)
    }

    fn block_hash(&mut self, number: u64) -> Result<B256, StateError> {
        // The EVM asks for the 256 last blocks only.
        let missing = StateError::Ancestor(number);
        let back = self.parent.checked_sub(number).ok_or(missing.clone())?;
        let hash = self.ancestors.get(back as usize).ok_or(missing)?;
        self.oldest = self.oldest.min(number);
        Ok(*hash)
    }
}
