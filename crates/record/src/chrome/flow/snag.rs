//! Why a step is not done yet, and whether it makes sense to try again.

use crate::chrome::ChromeError;

/// What keeps a step from being done.
#[derive(Debug)]
pub(super) enum Snag {
    /// Tried again until the step's time is up.
    Yet(String),
    /// Trying again is of no use.
    Never(String),
    /// A call of ours threw; who called knows what that means.
    Threw(String),
    /// The browser does not do as it is told: a frame that is just gone, a page that is gone for good.
    Browser(ChromeError),
}

impl Snag {
    pub fn yet(why: impl Into<String>) -> Self {
        Self::Yet(why.into())
    }

    pub fn never(why: impl Into<String>) -> Self {
        Self::Never(why.into())
    }
}

impl From<ChromeError> for Snag {
    fn from(error: ChromeError) -> Self {
        Self::Browser(error)
    }
}
