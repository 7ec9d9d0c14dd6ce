//! The lines before a tree's rows: `├─`, `└─`, `│`.
//!
//! A row is indented only where the path forks, so that a chain of calls without a choice stays in one column.

use crate::layout::Look;

/// One level of indentation: whether more siblings come below, and whether this line is where it begins.
#[derive(Clone, Copy)]
pub struct Guide {
    more: bool,
    begins: bool,
}

/// The indentation of every row of a tree in pre-order, by the row of its parent.
pub fn guides(parents: &[Option<usize>]) -> Vec<Vec<Guide>> {
    let mut forks = vec![0usize; parents.len()];
    for parent in parents.iter().flatten() {
        forks[*parent] += 1;
    }
    let roots = parents.iter().filter(|parent| parent.is_none()).count();
    let mut roots_left = roots;
    let mut left = forks.clone();
    let mut guides: Vec<Vec<Guide>> = Vec::with_capacity(parents.len());
    for parent in parents {
        let own = match *parent {
            // Several outermost calls fork, too.
            None if roots > 1 => {
                roots_left -= 1;
                vec![Guide { more: roots_left > 0, begins: true }]
            }
            None => Vec::new(),
            Some(parent) => {
                let mut own: Vec<Guide> =
                    guides[parent].iter().map(|guide| Guide { begins: false, ..*guide }).collect();
                left[parent] -= 1;
                if forks[parent] > 1 {
                    own.push(Guide { more: left[parent] > 0, begins: true });
                }
                own
            }
        };
        guides.push(own);
    }
    guides
}

/// Indentation as text, its outer part left out when it would take more than `room`.
pub fn drawn(guides: &[Guide], room: usize, look: Look) -> String {
    let fits = room / 3;
    let (mut text, guides) = if guides.len() > fits && fits > 0 {
        let left_out = guides.len() - fits + 1;
        (format!("{}{left_out} ", look.ellipsis()), &guides[left_out..])
    } else {
        (String::new(), guides)
    };
    for guide in guides {
        text.push_str(match (look.unicode, guide.begins, guide.more) {
            (true, true, true) => "├─ ",
            (true, true, false) => "└─ ",
            (true, false, true) => "│  ",
            (false, true, true) => "+- ",
            (false, true, false) => "`- ",
            (false, false, true) => "|  ",
            (_, false, false) => "   ",
        });
    }
    text
}
