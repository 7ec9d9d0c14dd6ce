//! The two sides of a comparison, and a value for each of them.
//!
//! What is compared is always *before* and *after*. Code that keeps something for both keeps it in [`Sides`] and asks
//! for it by [`Side`]: an index, a string or a tuple could be mixed up with another one, a side cannot.
//!
//! Profiles are compared, and so is code. The crates that compare code know no profiles, so this one stands below both.
#![warn(missing_docs)]

use std::fmt;
use std::ops::{Index, IndexMut};

/// One side of a comparison.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Side {
    /// What others are compared with.
    Before,
    /// What is in question.
    After,
}

impl Side {
    /// Both sides, *before* first.
    pub const BOTH: [Self; 2] = [Self::Before, Self::After];

    /// The word for it: `before` or `after`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Before => "before",
            Self::After => "after",
        }
    }

    /// The side across.
    #[must_use]
    #[inline]
    pub const fn other(self) -> Self {
        match self {
            Self::Before => Self::After,
            Self::After => Self::Before,
        }
    }
}

impl fmt::Display for Side {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(self.name())
    }
}

/// A value for each side.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Sides<T> {
    /// The value of [`Side::Before`].
    pub before: T,
    /// The value of [`Side::After`].
    pub after: T,
}

impl<T> Sides<T> {
    /// The values of both sides.
    #[inline]
    pub const fn new(before: T, after: T) -> Self {
        Self { before, after }
    }

    /// What `of` makes of each side, *before* first.
    #[inline]
    pub fn of(mut of: impl FnMut(Side) -> T) -> Self {
        let before = of(Side::Before);
        Self { before, after: of(Side::After) }
    }

    /// What `of` makes of each side, or the first error; *after* is not asked when *before* fails.
    ///
    /// # Errors
    ///
    /// The first error that `of` returns.
    pub fn try_of<E>(mut of: impl FnMut(Side) -> Result<T, E>) -> Result<Self, E> {
        let before = of(Side::Before)?;
        Ok(Self { before, after: of(Side::After)? })
    }

    /// The same value on both sides.
    #[inline]
    pub fn same(value: T) -> Self
    where
        T: Clone,
    {
        Self { before: value.clone(), after: value }
    }

    /// What `of` makes of each value.
    #[inline]
    pub fn map<U>(self, mut of: impl FnMut(T) -> U) -> Sides<U> {
        let before = of(self.before);
        Sides { before, after: of(self.after) }
    }

    /// What `of` makes of each value, which also learns whose it is.
    #[inline]
    pub fn map_with_side<U>(self, mut of: impl FnMut(Side, T) -> U) -> Sides<U> {
        let before = of(Side::Before, self.before);
        Sides { before, after: of(Side::After, self.after) }
    }

    /// The values by reference.
    #[inline]
    pub const fn as_ref(&self) -> Sides<&T> {
        Sides { before: &self.before, after: &self.after }
    }

    /// The values by mutable reference.
    #[inline]
    pub const fn as_mut(&mut self) -> Sides<&mut T> {
        Sides { before: &mut self.before, after: &mut self.after }
    }

    /// Each value with the other pair's value of the same side.
    #[inline]
    pub fn zip<U>(self, other: Sides<U>) -> Sides<(T, U)> {
        Sides { before: (self.before, other.before), after: (self.after, other.after) }
    }

    /// The values, *before* first.
    #[inline]
    pub fn iter(&self) -> std::array::IntoIter<&T, 2> {
        [&self.before, &self.after].into_iter()
    }

    /// The values by mutable reference, *before* first.
    #[inline]
    pub fn iter_mut(&mut self) -> std::array::IntoIter<&mut T, 2> {
        [&mut self.before, &mut self.after].into_iter()
    }

    /// Each side with its value, *before* first.
    #[inline]
    pub fn each(&self) -> std::array::IntoIter<(Side, &T), 2> {
        [(Side::Before, &self.before), (Side::After, &self.after)].into_iter()
    }

    /// Each side with its value by mutable reference, *before* first.
    #[inline]
    pub fn each_mut(&mut self) -> std::array::IntoIter<(Side, &mut T), 2> {
        [(Side::Before, &mut self.before), (Side::After, &mut self.after)].into_iter()
    }

    /// The values exchanged.
    #[must_use]
    #[inline]
    pub fn swapped(self) -> Self {
        Self { before: self.after, after: self.before }
    }
}

impl<T> Index<Side> for Sides<T> {
    type Output = T;

    #[inline]
    fn index(&self, side: Side) -> &T {
        match side {
            Side::Before => &self.before,
            Side::After => &self.after,
        }
    }
}

impl<T> IndexMut<Side> for Sides<T> {
    #[inline]
    fn index_mut(&mut self, side: Side) -> &mut T {
        match side {
            Side::Before => &mut self.before,
            Side::After => &mut self.after,
        }
    }
}

impl<T> IntoIterator for Sides<T> {
    type Item = T;
    type IntoIter = std::array::IntoIter<T, 2>;

    #[inline]
    fn into_iter(self) -> Self::IntoIter {
        [self.before, self.after].into_iter()
    }
}

impl<'a, T> IntoIterator for &'a Sides<T> {
    type Item = &'a T;
    type IntoIter = std::array::IntoIter<&'a T, 2>;

    #[inline]
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a, T> IntoIterator for &'a mut Sides<T> {
    type Item = &'a mut T;
    type IntoIter = std::array::IntoIter<&'a mut T, 2>;

    #[inline]
    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}

impl<T> From<[T; 2]> for Sides<T> {
    /// The first value is that of *before*.
    #[inline]
    fn from([before, after]: [T; 2]) -> Self {
        Self { before, after }
    }
}

impl<T> From<Sides<T>> for [T; 2] {
    /// The value of *before* comes first.
    #[inline]
    fn from(sides: Sides<T>) -> Self {
        [sides.before, sides.after]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_side_finds_its_own_value() {
        let mut runs = Sides::new(vec!["a"], vec!["b", "c"]);
        assert_eq!(Side::BOTH.map(|side| runs[side].len()), [1, 2]);
        runs[Side::Before].push("d");
        assert_eq!(runs.before, ["a", "d"]);
        assert_eq!(Side::BOTH.map(|side| runs[side.other()].len()), [2, 2]);
    }

    #[test]
    fn sides_are_named_in_their_order() {
        assert_eq!(Side::BOTH.map(Side::name), ["before", "after"]);
        assert!(Side::Before < Side::After);
        assert_eq!(format!("{:>6}|{:<6}|", Side::After, Side::Before), " after|before|");
    }

    #[test]
    fn values_keep_their_side() {
        let lengths = Sides::new("one", "three").map(str::len);
        assert_eq!(lengths, Sides { before: 3, after: 5 });
        let told = lengths.map_with_side(|side, length| format!("{side} {length}"));
        assert_eq!(told.iter().map(String::as_str).collect::<Vec<_>>(), ["before 3", "after 5"]);
        assert_eq!(lengths.zip(Sides::of(Side::other)).after, (5, Side::Before));
        assert_eq!(lengths.swapped(), Sides::from([5, 3]));
        assert!(lengths.each().all(|(side, length)| lengths[side] == *length));
    }

    #[test]
    fn an_error_before_leaves_after_alone() {
        let mut asked = Vec::new();
        let failed = Sides::<()>::try_of(|side| {
            asked.push(side);
            Err(side.name())
        });
        assert_eq!(failed, Err("before"));
        assert_eq!(asked, [Side::Before]);
    }
}
