//! How far reading has come, and whether anybody still waits for it.
//!
//! Readers know nothing of this: bytes are counted, and refused once nobody waits, below them in
//! [`Input`](crate::Input). A reader may take refused bytes for the end of a file that was cut off and answer all the
//! same, so whoever cancels asks [`Tally::is_cancelled`] before using what was read.

use std::fmt;
use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Bytes read so far, and whether reading goes on. Clones count and end together.
#[derive(Clone, Default)]
pub struct Tally(Arc<Shared>);

#[derive(Default)]
struct Shared {
    bytes: AtomicU64,
    cancelled: AtomicBool,
    watch: Option<Watch>,
}

/// Hears how many bytes have been read, and says whether to go on.
type Watch = Box<dyn Fn(u64) -> ControlFlow<()> + Send + Sync>;

impl Tally {
    /// A tally whose every step is told to a function, which says whether to go on.
    pub fn watched(watch: impl Fn(u64) -> ControlFlow<()> + Send + Sync + 'static) -> Self {
        Self(Arc::new(Shared { watch: Some(Box::new(watch)), ..Shared::default() }))
    }

    /// How many bytes have been read.
    pub fn bytes(&self) -> u64 {
        self.0.bytes.load(Ordering::Relaxed)
    }

    /// Ends reading: what is still to be read is refused.
    pub fn cancel(&self) {
        self.0.cancelled.store(true, Ordering::Relaxed);
    }

    /// The flag that ends reading, for whoever knows nothing but a flag.
    pub fn cancel_flag(&self) -> &AtomicBool {
        &self.0.cancelled
    }

    /// True once somebody ended reading.
    pub fn is_cancelled(&self) -> bool {
        self.0.cancelled.load(Ordering::Relaxed)
    }

    /// Tells whoever watches how far it is.
    pub fn look(&self) {
        if let Some(watch) = &self.0.watch
            && watch(self.bytes()).is_break()
        {
            self.cancel();
        }
    }

    pub(crate) fn add(&self, bytes: usize) {
        self.0.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        self.look();
    }

    pub(crate) fn go_on(&self) -> io::Result<()> {
        if self.is_cancelled() { Err(io::Error::other("cancelled")) } else { Ok(()) }
    }
}

impl fmt::Debug for Tally {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (bytes, cancelled) = (self.bytes(), self.is_cancelled());
        out.debug_struct("Tally").field("bytes", &bytes).field("cancelled", &cancelled).finish()
    }
}
