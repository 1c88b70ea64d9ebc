//! Rules by time: forks and their schedules of blobs.

use alloy_eips::eip7840::BlobParams;
use revm::primitives::hardfork::SpecId;

/// First timestamps of the forks of a chain; none of a fork that it does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Forks {
    /// Chain id of transactions.
    pub chain: u64,
    /// Cancun, the first fork that is known.
    pub cancun: u64,
    /// Prague.
    pub prague: Option<u64>,
    /// Osaka.
    pub osaka: Option<u64>,
    /// First fork of blob parameters alone.
    pub bpo1: Option<u64>,
    /// Second fork of blob parameters alone.
    pub bpo2: Option<u64>,
}

/// Rules of one block.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// Rules of the EVM.
    pub spec: SpecId,
    /// Limits and prices of blobs.
    pub blobs: BlobParams,
    /// Rules of Prague hold.
    pub prague: bool,
    /// Rules of Osaka hold.
    pub osaka: bool,
}

impl Forks {
    /// Ethereum.
    pub const MAINNET: Self = Self {
        chain: 1,
        cancun: 1_710_338_135,
        prague: Some(1_746_612_311),
        osaka: Some(1_764_798_551),
        bpo1: Some(1_765_290_071),
        bpo2: Some(1_767_747_671),
    };

    /// Cancun from the first block on, as in the published tests of blocks.
    pub const CANCUN: Self = Self {
        chain: 1,
        cancun: 0,
        prague: None,
        osaka: None,
        bpo1: None,
        bpo2: None,
    };

    /// Rules at a time; none before Cancun.
    pub fn at(&self, timestamp: u64) -> Option<Rules> {
        let since = |fork: Option<u64>| fork.is_some_and(|fork| timestamp >= fork);
        let prague = since(self.prague);
        let osaka = since(self.osaka);
        let spec = if osaka {
            SpecId::OSAKA
        } else if prague {
            SpecId::PRAGUE
        } else if timestamp >= self.cancun {
            SpecId::CANCUN
        } else {
            return None;
        };
        let blobs = if since(self.bpo2) {
            BlobParams::bpo2()
        } else if since(self.bpo1) {
            BlobParams::bpo1()
        } else if osaka {
            BlobParams::osaka()
        } else if prague {
            BlobParams::prague()
        } else {
            BlobParams::cancun()
        };
        Some(Rules {
            spec,
            blobs,
            prague,
            osaka,
        })
    }
}
