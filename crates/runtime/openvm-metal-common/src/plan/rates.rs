//! Estimated times of work: the device's modelled rates, corrected by what submissions took.

use std::collections::HashMap;

use super::Work;
use crate::cost::Cost;
use crate::kernel::KernelSpec;

/// Time of a dispatch that does nothing, in nanoseconds.
const DISPATCH_NS: f64 = 2_000.0;
/// Submissions that took less tell more about the wait than about the work.
const LEAST_TELLING_NS: f64 = 200_000.0;
/// Share of a finding that is believed at a time if work is quicker than estimated; slower work is
/// believed at once.
const PATIENCE: f64 = 0.25;
/// Kernels below this part of a submission learn nothing from it.
const LEAST_SHARE: f64 = 0.125;
/// Factors stay in this range. Kernels whose threads can end early look quick until they do not.
const FACTORS: (f64, f64) = (0.25, 1e6);

/// Identity of a kernel: the addresses of its name and of its unit's, which live for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct KernelKey(usize, usize);

impl KernelKey {
    pub fn of(kernel: &KernelSpec) -> Self {
        Self(kernel.name.as_ptr() as usize, kernel.unit.as_ptr() as usize)
    }
}

/// Rates of a device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct DeviceRate {
    pub products_per_second: f64,
    pub bytes_per_second: f64,
}

impl DeviceRate {
    /// Modelled time in nanoseconds; products and traffic overlap.
    pub fn time(&self, cost: Cost) -> f64 {
        let products = cost.products as f64 / self.products_per_second;
        let bytes = cost.bytes as f64 / self.bytes_per_second;
        DISPATCH_NS + 1e9 * products.max(bytes)
    }
}

/// The factors between modelled and real time, by kernel.
pub(crate) struct Rates {
    device: DeviceRate,
    factors: HashMap<KernelKey, f64>,
    /// False where the rates are those of another device than the one that runs.
    learns: bool,
}

impl Rates {
    pub fn new(device: DeviceRate, learns: bool) -> Self {
        Self {
            device,
            factors: HashMap::new(),
            learns,
        }
    }

    /// Modelled time of a cost in nanoseconds, before any correction.
    pub fn modelled(&self, cost: Cost) -> f64 {
        self.device.time(cost)
    }

    /// Factor of a kernel's modelled times; `None` if none of its submissions has ended yet.
    pub fn factor(&self, kernel: Option<KernelKey>) -> Option<f64> {
        match kernel {
            Some(kernel) if self.learns => self.factors.get(&kernel).copied(),
            _ => Some(1.0),
        }
    }

    /// Corrects the factors by a submission of this work that took so long.
    pub fn learn(&mut self, work: &[Work], nanoseconds: u64) {
        let taken = nanoseconds as f64;
        let expected = |rates: &Self, w: &Work| w.modelled * rates.factor(w.kernel).unwrap_or(1.0);
        let total: f64 = work.iter().map(|w| expected(self, w)).sum();
        if !self.learns || total <= 0.0 || taken.max(total) < LEAST_TELLING_NS {
            return;
        }
        let ratio = taken / total;
        let belief = if ratio > 1.0 { 1.0 } else { PATIENCE };
        let mut shares: HashMap<KernelKey, f64> = HashMap::new();
        for w in work {
            if let Some(kernel) = w.kernel {
                *shares.entry(kernel).or_default() += expected(self, w) / total;
            }
        }
        for (kernel, share) in shares {
            if share >= LEAST_SHARE {
                let factor = self.factors.entry(kernel).or_insert(1.0);
                *factor = (*factor * ratio.powf(belief * share)).clamp(FACTORS.0, FACTORS.1);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: DeviceRate = DeviceRate {
        products_per_second: 1e9,
        bytes_per_second: 1e9,
    };
    const A: KernelKey = KernelKey(1, 1);
    const B: KernelKey = KernelKey(2, 1);

    fn work(kernel: KernelKey, modelled: f64) -> Work {
        Work {
            name: "k",
            kernel: Some(kernel),
            modelled,
        }
    }

    #[test]
    fn products_and_bytes_overlap() {
        let cost = Cost {
            products: 3_000,
            bytes: 5_000,
        };
        assert_eq!(RATE.time(cost), DISPATCH_NS + 5_000.0);
    }

    #[test]
    fn slow_kernels_are_believed_at_once_and_quick_ones_slowly() {
        let mut rates = Rates::new(RATE, true);
        assert_eq!(rates.factor(Some(A)), None);
        rates.learn(&[work(A, 1e6)], 40_000_000);
        assert!((rates.factor(Some(A)).expect("measured") - 40.0).abs() < 1e-9);
        // A submission that was planned before the correction does not correct again.
        rates.learn(&[work(A, 1e6)], 40_000_000);
        assert!((rates.factor(Some(A)).expect("measured") - 40.0).abs() < 1e-9);
        rates.learn(&[work(A, 1e6)], 4_000_000);
        assert!(rates.factor(Some(A)).expect("measured") > 20.0);
        for _ in 0..100 {
            rates.learn(&[work(A, 1e6)], 1_000);
        }
        assert_eq!(rates.factor(Some(A)), Some(FACTORS.0));
    }

    #[test]
    fn what_takes_most_of_a_submission_is_corrected_most() {
        let mut rates = Rates::new(RATE, true);
        rates.learn(&[work(A, 9e6), work(B, 1e6)], 40_000_000);
        assert!(rates.factor(Some(A)).expect("measured") > 3.0);
        assert_eq!(rates.factor(Some(B)), None);
    }

    #[test]
    fn short_submissions_and_modelled_devices_teach_nothing() {
        let mut rates = Rates::new(RATE, true);
        rates.learn(&[work(A, 10.0)], 150_000);
        assert_eq!(rates.factor(Some(A)), None);
        let mut rates = Rates::new(RATE, false);
        rates.learn(&[work(A, 1e6)], 40_000_000);
        assert_eq!(rates.factor(Some(A)), Some(1.0));
    }
}
