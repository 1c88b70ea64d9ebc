#pragma once
// The jobs of a dispatch: each has some threadgroups, which follow one another.
#include "params.h"

// Threadgroups between two entries of the table of starts, as a logarithm; Rust twin: src/constraints/jobs.rs.
constant constexpr uint CONSTRAINT_LOG_STRETCH = 4u;

/// The job of threadgroup `group`. `starts[k]` is that of threadgroup k << CONSTRAINT_LOG_STRETCH. Behind the last job stands
/// one that begins where the threadgroups end.
template <typename J>
inline uint constraint_job(device const J* jobs, device const uint* starts, uint group) {
    uint j = starts[group >> CONSTRAINT_LOG_STRETCH];
    while (jobs[j + 1u].first_group <= group) j++;
    return j;
}

/// Points of a threadgroup: `count` from `first` on, of the `threads` points of its job.
struct ConstraintShare {
    uint first, count;
};
inline ConstraintShare constraint_share(uint first_group, uint threads, uint group, uint block) {
    ConstraintShare s;
    s.first = (group - first_group) * block;
    s.count = min(block, threads - s.first);
    return s;
}
