//! Ways through the statements of a loop's round.

/// Ways to one place: with progress of the loop's own, and without.
#[derive(Clone, Copy, Default)]
pub struct Ways {
    pub progress: bool,
    /// Ways without progress, of which nothing is known.
    idle: bool,
    /// Ways without progress on which memory has what an exchange expects.
    equal: bool,
    /// Ways without progress on which an exchange has failed.
    failed: bool,
}

impl Ways {
    /// The way to the begin of a round.
    pub fn start() -> Self {
        Self {
            idle: true,
            ..Self::default()
        }
    }

    pub fn either(self, other: Self) -> Self {
        Self {
            progress: self.progress || other.progress,
            idle: self.idle || other.idle,
            equal: self.equal || other.equal,
            failed: self.failed || other.failed,
        }
    }

    /// The same ways, with progress.
    pub fn advanced(self) -> Self {
        Self {
            progress: !self.is_empty(),
            ..Self::default()
        }
    }

    pub fn without_progress(self) -> Self {
        Self {
            progress: false,
            ..self
        }
    }

    /// The same ways, with the progress that was made before.
    pub fn after_progress(self, before: Self) -> Self {
        Self {
            progress: self.progress || before.progress,
            ..self
        }
    }

    /// The same ways, on which an exchange fails. Where memory had what it expects, another thread has succeeded.
    pub fn fails(self) -> Self {
        Self {
            progress: self.progress || self.equal,
            idle: false,
            equal: false,
            failed: self.idle || self.failed,
        }
    }

    /// The same ways, on which memory has what an exchange expects. Where that has failed, it succeeds the next time.
    pub fn equals(self) -> Self {
        Self {
            progress: self.progress || self.failed,
            idle: false,
            equal: self.idle || self.equal,
            failed: false,
        }
    }

    pub fn is_idle(self) -> bool {
        self.idle || self.equal || self.failed
    }

    pub fn is_empty(self) -> bool {
        !self.progress && !self.is_idle()
    }
}

/// Ways that leave a statement elsewhere than at its end.
#[derive(Default)]
pub struct Round {
    /// Ways to the next round.
    pub again: Ways,
    /// Ways behind the choice or loop around.
    pub left: Ways,
    /// Ways to each label of the choice around.
    pub chosen: Ways,
}
