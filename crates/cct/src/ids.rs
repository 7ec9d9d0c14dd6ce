//! Typed row numbers. A function that takes a `NodeId` and a `ThreadId` cannot be called with the two swapped.

use std::num::NonZeroU32;

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident)*) => {$(
        $(#[$doc])*
        ///
        /// Row + 1, so that `Option` of it is four bytes.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub struct $name(NonZeroU32);

        impl $name {
            /// The id of a row. Tables end at `u32::MAX - 1` rows, far beyond what fits in memory.
            pub fn new(row: usize) -> Self {
                let number = u32::try_from(row).unwrap_or(u32::MAX - 1);
                Self(NonZeroU32::MIN.saturating_add(number))
            }

            /// The row this id stands for.
            pub fn index(self) -> usize {
                self.0.get() as usize - 1
            }
        }
    )*};
}

ids! {
    /// A row of a [`StringTable`](crate::StringTable).
    StringId
    /// A function of a [`Symbols`](crate::Symbols) table.
    FunctionId
    /// A frame of a [`Symbols`](crate::Symbols) table.
    FrameId
    /// A row of a [`Cct`](crate::Cct).
    NodeId
    /// A node of a tree under construction; [`ProfileBuilder::finish`](crate::ProfileBuilder::finish) renumbers it.
    OpenNode
    /// A thread of a profile.
    ThreadId
    /// A metric of a profile.
    MetricId
}
