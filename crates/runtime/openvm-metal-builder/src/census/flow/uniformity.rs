//! Uniformity: whether threads have the same value.

use std::collections::BTreeMap;

/// Threads that have the same value, from all of a threadgroup to none.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Uniformity {
    /// The value is the same for all threads of a threadgroup.
    #[default]
    Threadgroup,
    /// The value is the same for the threads of each SIMD-group.
    SimdGroup,
    /// The value depends on the thread.
    Divergent,
}

/// Uniformity of an object and its members.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct Value {
    /// Uniformity of members that have no entry of their own, and of objects without members.
    rest: Uniformity,
    /// Uniformity of members by their path: `a.b`.
    members: BTreeMap<String, Uniformity>,
}

impl Value {
    pub fn of(rest: Uniformity) -> Self {
        let members = BTreeMap::new();
        Self { rest, members }
    }

    /// An object of members by their names.
    pub fn of_members<'v>(members: impl Iterator<Item = (&'v str, &'v Self)>) -> Self {
        let mut out = Self::default();
        members.for_each(|(name, value)| out.set(name, value, false));
        out
    }

    /// Uniformity of the whole object: the weakest of its parts.
    pub fn whole(&self) -> Uniformity {
        self.members
            .values()
            .fold(self.rest, |weakest, m| weakest.max(*m))
    }

    /// Uniformity of one path: its own entry, or the one of an object around it.
    fn at(&self, path: &str) -> Uniformity {
        let mut path = path;
        loop {
            match (self.members.get(path), path.rsplit_once('.')) {
                (Some(known), _) => return *known,
                (None, Some((outer, _))) => path = outer,
                (None, None) => return self.rest,
            }
        }
    }

    /// A member.
    pub fn member(&self, name: &str) -> Self {
        let inside = self.members.iter().filter_map(|(path, uniformity)| {
            let path = path.strip_prefix(name)?.strip_prefix('.')?;
            Some((path.to_string(), *uniformity))
        });
        Self {
            rest: self.at(name),
            members: inside.collect(),
        }
    }

    /// Sets the member at a path, the object itself if that is empty. A `part` of it keeps what it was, beside.
    pub fn set(&mut self, path: &str, value: &Self, part: bool) {
        let mut value = value.clone();
        let inside = |known: &str| {
            path.is_empty()
                || known
                    .strip_prefix(path)
                    .is_some_and(|p| p.is_empty() || p.starts_with('.'))
        };
        if part {
            value.join(&if path.is_empty() {
                self.clone()
            } else {
                self.member(path)
            });
        }
        self.members.retain(|known, _| !inside(known));
        if path.is_empty() {
            *self = value;
            return;
        }
        self.members.insert(path.to_string(), value.rest);
        let members = value.members.into_iter();
        self.members
            .extend(members.map(|(name, m)| (format!("{path}.{name}"), m)));
    }

    /// The same value where a condition decides about it.
    pub fn decided(mut self, uniformity: Uniformity) -> Self {
        self.members
            .values_mut()
            .for_each(|m| *m = (*m).max(uniformity));
        self.rest = self.rest.max(uniformity);
        self
    }

    /// One of two values.
    pub fn join(&mut self, other: &Self) {
        let paths: Vec<String> = self
            .members
            .keys()
            .chain(other.members.keys())
            .cloned()
            .collect();
        let joined: Vec<Uniformity> = paths.iter().map(|p| self.at(p).max(other.at(p))).collect();
        self.members.extend(paths.into_iter().zip(joined));
        self.rest = self.rest.max(other.rest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Uniformity::{Divergent, SimdGroup, Threadgroup};

    #[test]
    fn members_are_apart() {
        let mut s = Value::default();
        s.set("lane", &Value::of(Divergent), false);
        s.set("inner.count", &Value::of(SimdGroup), false);
        assert!(s.member("count") == Value::of(Threadgroup));
        assert!(s.member("inner").whole() == SimdGroup && s.whole() == Divergent);
        let mut other = Value::of(SimdGroup);
        other.join(&s);
        assert!(
            other.member("lane").whole() == Divergent && other.member("x").whole() == SimdGroup
        );
        s.set("lane", &Value::default(), false);
        assert!(s.whole() == SimdGroup);
        s.set("inner", &Value::default(), true);
        assert!(s.whole() == SimdGroup, "a part keeps what it was");
        s.set("inner", &Value::default(), false);
        assert!(s.whole() == Threadgroup);
    }
}
