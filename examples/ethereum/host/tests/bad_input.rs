//! Inputs and witnesses that are damaged: each is refused with an error that names the damage, and none with a panic.

#![allow(clippy::result_large_err)]

mod common;

use common::{mainnet, read};
use ethereum_core::{
    input::CODE_PADDING, validate, Code, Forks, Input, InputError, Refusal, Software, StateError,
    TrieError,
};
use ethereum_host::{HostError, Source};

fn refusal(input: &Input) -> Refusal {
    let bytes = input.write();
    let result = read(&bytes)
        .map_err(Refusal::from)
        .and_then(|input| validate(input, &Forks::MAINNET, &Software));
    result.unwrap_err()
}

/// A valid input of the least size.
fn valid() -> Input {
    Input::read(&mainnet().prepare(&Forks::MAINNET).unwrap().input.into()).unwrap()
}

fn altered(bytes: &[u8], at: usize) -> alloy_primitives::Bytes {
    let mut bytes = bytes.to_vec();
    bytes[at] ^= 1;
    bytes.into()
}

#[test]
fn each_damaged_section_is_named() {
    let whole = valid();
    type Damage = (&'static str, fn(&mut Input), fn(&Refusal) -> bool);
    let damages: [Damage; 14] = [
        (
            "no parent",
            |input| input.ancestors.clear(),
            |refusal| {
                matches!(
                    refusal,
                    Refusal::NoParent {
                        number: 22_615_246,
                        ..
                    }
                )
            },
        ),
        (
            "another parent",
            |input| input.ancestors[0] = input.header.clone(),
            |refusal| matches!(refusal, Refusal::UnknownParent { .. }),
        ),
        (
            "an altered header",
            |input| input.header = altered(&input.header, 200),
            |refusal| {
                matches!(
                    refusal,
                    Refusal::Root {
                        field: "receipts root",
                        ..
                    } | Refusal::Bloom
                )
            },
        ),
        (
            "another state",
            |input| input.nodes = altered(&input.nodes, 0),
            |refusal| matches!(refusal, Refusal::Trie(TrieError::Hash { at: 32, .. })),
        ),
        (
            "an altered node",
            |input| input.nodes = altered(&input.nodes, 2_000),
            |refusal| matches!(refusal, Refusal::Trie(TrieError::Hash { .. })),
        ),
        (
            "a node that is said to follow and does not",
            |input| input.nodes = altered(&input.nodes, 32 + 2),
            |refusal| matches!(refusal, Refusal::Trie(_)),
        ),
        (
            "no nodes but the root's digest",
            |input| input.nodes = input.nodes.slice(..32),
            |refusal| {
                matches!(
                    refusal,
                    Refusal::State(StateError::Account {
                        error: TrieError::Missing(_),
                        ..
                    })
                )
            },
        ),
        (
            "nodes that end early",
            |input| input.nodes = input.nodes.slice(..input.nodes.len() - 4),
            |refusal| matches!(refusal, Refusal::Trie(TrieError::Truncated(_))),
        ),
        (
            "a code that is absent",
            |input| drop(input.codes.remove(3)),
            |refusal| matches!(refusal, Refusal::State(StateError::Code(_))),
        ),
        (
            "an altered code",
            |input| input.codes[0] = Code::new(&altered(input.codes[0].code(), 0)),
            |refusal| matches!(refusal, Refusal::State(StateError::Code(_))),
        ),
        (
            "a key that is not the sender's",
            |input| input.transactions[5].0 = input.transactions[4].0,
            |refusal| matches!(refusal, Refusal::Signature(5)),
        ),
        (
            "a transaction less",
            |input| drop(input.transactions.pop()),
            |refusal| {
                matches!(
                    refusal,
                    Refusal::Root {
                        field: "transactions root",
                        ..
                    }
                )
            },
        ),
        (
            "an uncle",
            |input| input.ommers = vec![0xc1, 0xc0].into(),
            |refusal| matches!(refusal, Refusal::Ommers),
        ),
        (
            "no withdrawals",
            |input| input.withdrawals = vec![0xc0].into(),
            |refusal| {
                matches!(
                    refusal,
                    Refusal::Root {
                        field: "withdrawals root",
                        ..
                    }
                )
            },
        ),
    ];
    for (name, damage, fits) in damages {
        let mut input = whole.clone();
        damage(&mut input);
        let refusal = refusal(&input);
        assert!(fits(&refusal), "{name}: {refusal:?}");
        assert!(!refusal.to_string().is_empty());
    }
}

#[test]
fn nodes_in_another_order_are_refused() {
    let mut input = valid();
    // The first node after the root takes the place of the root.
    let length = u16::from_le_bytes([input.nodes[32], input.nodes[33]]) as usize;
    let second = 36 + length.next_multiple_of(4);
    input.nodes = [&input.nodes[..32], &input.nodes[second..]].concat().into();
    let refusal = refusal(&input);
    assert!(
        matches!(refusal, Refusal::Trie(TrieError::Hash { at: 32, .. })),
        "{refusal:?}"
    );
}

#[test]
fn truncated_and_enlarged_inputs_are_refused() {
    let whole = valid();
    let bytes = whole.write();
    let validated = |bytes: &[u8]| validate(read(bytes)?, &Forks::MAINNET, &Software);
    let form = |bytes: &[u8]| match validated(bytes) {
        Err(Refusal::Input(error)) => error,
        result => panic!("{result:?}"),
    };
    assert_eq!(form(&[0; 64]), InputError::Magic);
    let head = bytes.len() - whole.nodes.len();
    for length in (0..2_000)
        .chain((2_000..head).step_by(9_973))
        .chain([head - 1])
    {
        let error = form(&bytes[..length]);
        assert!(
            matches!(
                error,
                InputError::Truncated { .. } | InputError::HeadLength { .. }
            ),
            "{length}: {error:?}"
        );
    }
    // Behind the root's digest nodes may be absent, but not in part.
    for length in (head..head + 32).chain((head + 33..bytes.len()).step_by(9_973)) {
        let result = validated(&bytes[..length]);
        assert!(
            matches!(result, Err(Refusal::Trie(TrieError::Truncated(_)))),
            "{length}: {result:?}"
        );
    }
    let result = validated(&[&bytes[..], &[0; 4]].concat());
    assert!(
        matches!(result, Err(Refusal::Trie(TrieError::Malformed(_)))),
        "{result:?}"
    );
    let with_word = |at: usize, word: usize| {
        let mut bytes = bytes.clone();
        bytes[at..at + 4].copy_from_slice(&(word as u32).to_le_bytes());
        bytes
    };
    assert_eq!(form(&with_word(4, head + 4)), InputError::Trailing(4));
    // Lengths that do not exist reserve no memory.
    let codes = head
        - whole
            .codes
            .iter()
            .map(|code| 4 + (code.code().len() + CODE_PADDING).next_multiple_of(4))
            .sum::<usize>();
    for (at, words) in [
        (8, vec![usize::MAX]),
        (codes - 4, vec![usize::MAX, whole.codes.len() + 1]),
        (codes, vec![usize::MAX, usize::MAX - 34]),
    ] {
        for word in words {
            let error = form(&with_word(at, word));
            assert!(
                matches!(error, InputError::Truncated { .. }),
                "{at} {word}: {error:?}"
            );
        }
    }
    for word in [0, 4, head + 1, bytes.len() + 4, usize::MAX] {
        let error = form(&with_word(4, word));
        assert!(
            matches!(error, InputError::HeadLength { .. }),
            "{word}: {error:?}"
        );
    }
    // The last code's zeros.
    let mut unpadded = bytes.clone();
    unpadded[head - 5] = 1;
    assert!(matches!(form(&unpadded), InputError::Padding(_)));
}

/// Single bits anywhere: no panic, and no block that is valid with another hash.
#[test]
fn flipped_bits_prove_no_other_block() {
    let whole = valid().write();
    let validated = |bytes: Vec<u8>| {
        let input = read(&bytes)?;
        validate(input, &Forks::MAINNET, &Software)
    };
    let hash = validated(whole.clone()).unwrap().hash;
    let mut seed = 7_u64;
    for _ in 0..150 {
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let bit = (seed >> 20) as usize % (8 * whole.len());
        let mut bytes = whole.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        if let Ok(block) = validated(bytes) {
            // Padding between sections.
            assert_eq!(block.hash, hash, "bit {bit}");
        }
    }
}

#[test]
fn a_block_before_the_first_known_fork_is_refused() {
    let forks = Forks {
        cancun: u64::MAX,
        prague: None,
        osaka: None,
        bpo1: None,
        bpo2: None,
        chain: 1,
    };
    let error = mainnet().prepare(&forks).unwrap_err();
    assert!(
        matches!(error, HostError::Refused(Refusal::Fork(_))),
        "{error:?}"
    );
}

#[test]
fn a_missing_node_or_header_is_named() {
    let source = mainnet();
    let mut without = source.clone();
    without.headers.clear();
    let error = without.prepare(&Forks::MAINNET).unwrap_err();
    assert!(
        matches!(error, HostError::Refused(Refusal::NoParent { .. })),
        "{error:?}"
    );
    let used = source.prepare(&Forks::MAINNET).unwrap().needs.nodes;
    for missing in used.iter().skip(1).step_by(97) {
        let mut without = source.clone();
        without
            .nodes
            .retain(|node| alloy_primitives::keccak256(node) != *missing);
        let HostError::Refused(Refusal::State(
            StateError::Account { error, .. } | StateError::Storage { error, .. },
        )) = without.prepare(&Forks::MAINNET).unwrap_err()
        else {
            panic!("{missing} is missing");
        };
        assert_eq!(error, TrieError::Missing(*missing));
    }
}

#[test]
fn files_that_are_no_blocks_are_refused() {
    for bytes in [
        &b""[..],
        b"\xc0",
        b"\xf9\xff\xff",
        b"\x80",
        b"\xc4\xc0\xc0\xc0\xc0",
        &[0xff; 9],
    ] {
        assert!(
            matches!(Source::from_rlp(bytes), Err(HostError::Rlp { .. })),
            "{bytes:x?}"
        );
    }
}
