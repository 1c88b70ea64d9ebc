//! WHIR: batching, sumchecks, folding, encoding and Merkle tree of each round, queries.
