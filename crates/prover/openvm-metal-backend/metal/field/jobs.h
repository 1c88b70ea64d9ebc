#pragma once
// The jobs of a dispatch: its threadgroups are shared out to them, in order; a job may have none.
#include "baby_bear.h"

// Threadgroups between two entries of the table of starts, as a logarithm; Rust twin: src/jobs.rs.
constant constexpr uint JOB_LOG_STRETCH = 4u;

/// Which of `jobs` has threadgroup `group`. `starts[k]` is the job of threadgroup k << JOB_LOG_STRETCH: the search begins
/// there. It ends inside `jobs`, because behind the last job stands one more, whose first threadgroup is the number of all.
template <typename J>
inline uint find_job(device const J* jobs, device const uint* starts, uint group) {
    uint j = starts[group >> JOB_LOG_STRETCH];
    while (jobs[j + 1u].first_group <= group) j++;
    return j;
}

/// Points of a threadgroup: `count` from `first` on, of the `threads` points of its job.
struct JobShare {
    uint first, count;
};
inline JobShare job_share(uint first_group, uint threads, uint group, uint block) {
    JobShare s;
    s.first = (group - first_group) * block;
    s.count = min(block, threads - s.first);
    return s;
}
