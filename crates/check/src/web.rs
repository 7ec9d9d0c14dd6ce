//! Two web sites: the same visit to both in turns, until the answer is clear.
mod served_folder;
mod started_server;

pub use served_folder::ServedFolder;
pub use started_server::StartedServer;
