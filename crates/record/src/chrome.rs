//! Web pages in a real browser: Chrome or Chromium, driven over the DevTools protocol, recorded as the Performance panel
//! records.
//!
//! [`Browser`] starts one or attaches to one that runs; [`Page`] is a tab of it; a [`Session`] is whatever can be talked
//! to: the browser, a page, a frame in a process of its own, a worker. Every call has a deadline ([`Until`]) and can be
//! cancelled. A browser that we started is gone, with all its processes and its profile folder, when [`Browser`] is
//! dropped, whatever happened.

mod attendant;
mod browser;
mod connection;
mod error;
mod find;
pub mod flow;
mod load;
mod page;
mod record;
mod sampling;
mod tracing;
mod transport;

pub use attendant::Attached;
pub use browser::{Browser, Launch};
pub use connection::{BrowserEvent, Connection, Events, Session, TraceSink, Until};
pub use error::ChromeError;
pub use find::find_browser;
pub use load::{Rest, load, rest};
pub use page::{Met, Page, PageSettings, Viewport, value_of};
pub use record::{Start, Task, Visit, Visited, record_visit, visit};
pub use tracing::{Interval, Metadata, Recording, Written};
