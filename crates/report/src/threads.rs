//! Threads in files of other tools, which mostly want one profile for each.

use hashbrown::HashMap;
use perfblame_cct::{Profile, ThreadId};

/// Rows per thread, threads in the order of their ids, rows in their own order.
pub fn split<T: Copy>(
    rows: &[T],
    thread: impl Fn(&T) -> Option<ThreadId>,
) -> Vec<(Option<ThreadId>, Vec<T>)> {
    let mut index: HashMap<Option<ThreadId>, usize> = HashMap::new();
    let mut list: Vec<(Option<ThreadId>, Vec<T>)> = Vec::new();
    for row in rows {
        let thread = thread(row);
        let at = *index.entry(thread).or_insert_with(|| {
            list.push((thread, Vec::new()));
            list.len() - 1
        });
        list[at].1.push(*row);
    }
    list.sort_by_key(|(thread, _)| *thread);
    list
}

/// What to call a thread: its name, else its id, else `all threads` where the profile does not tell them apart.
pub fn title(profile: &Profile, thread: Option<ThreadId>) -> String {
    let Some(thread) = thread.and_then(|id| profile.threads.get(id.index())) else {
        return "all threads".to_owned();
    };
    let name = profile.symbols.text(thread.name);
    match (name, thread.tid) {
        ("", Some(tid)) => format!("thread {tid}"),
        ("", None) => "thread".to_owned(),
        (name, _) => name.to_owned(),
    }
}
