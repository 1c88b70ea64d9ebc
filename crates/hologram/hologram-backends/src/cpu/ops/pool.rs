//! Pools that programs make and free.

use crate::cpu::step::Step;
use crate::error::FaultKind;

/// `d` = handle of a new pool of `size` bytes; lanes in ascending order.
pub(in crate::cpu) fn allocate(size: u64) -> Step {
    let step = Step::fallible(|l, s, m| {
        let d = l.column::<u64>(s.d);
        l.each_while(|i| {
            let pools = m.pools.own();
            match pools.and_then(|pools| pools.allocate_charged(s.value)) {
                Some(handle) => {
                    d[i].set(handle);
                    true
                }
                None => {
                    let requested = s.value;
                    l.fail(i, FaultKind::PoolMemoryExhausted { requested });
                    false
                }
            }
        });
    });
    Step {
        value: size,
        ..step
    }
}

/// Frees pool `a`; lanes in ascending order.
pub(in crate::cpu) fn free() -> Step {
    Step::fallible(|l, s, m| {
        let handles = l.column::<u64>(s.a);
        l.each_while(|i| {
            let handle = handles[i].get();
            let pools = m.pools.own();
            if pools.and_then(|pools| pools.remove(handle)).is_some() {
                return true;
            }
            l.fail(i, FaultKind::InvalidPoolHandle { handle });
            false
        });
    })
}
