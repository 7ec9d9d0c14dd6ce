//! Text that fits: widths as terminals count them, names shortened in the middle, bars, colours.

use std::borrow::Cow;

use anstyle::{AnsiColor, Color, Style};
use perfblame_cct::Layer;
use unicode_width::UnicodeWidthChar;

/// What the place we write to can show.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Look {
    /// Columns.
    pub width: usize,
    /// Lines, blocks and dots beyond ASCII.
    pub unicode: bool,
    /// Colours.
    pub colour: bool,
}

impl Look {
    /// The sign for what was left out.
    pub(crate) fn ellipsis(self) -> &'static str {
        if self.unicode { "…" } else { ".." }
    }

    pub(crate) fn paint(self, style: Style, text: &str) -> String {
        if self.colour && !text.is_empty() {
            format!("{style}{text}{style:#}")
        } else {
            text.to_owned()
        }
    }

    pub(crate) fn bold(self, text: &str) -> String {
        self.paint(Style::new().bold(), text)
    }

    pub(crate) fn dim(self, text: &str) -> String {
        self.paint(Style::new().dimmed(), text)
    }

    /// A name in the colour of its layer; the application's own code is plain.
    pub(crate) fn layered(self, layer: Layer, hot: bool, text: &str) -> String {
        let colour = match layer {
            Layer::Application => None,
            Layer::Library => Some(AnsiColor::Blue),
            Layer::Plugin => Some(AnsiColor::Magenta),
            Layer::Runtime => Some(AnsiColor::Cyan),
            Layer::Kernel => Some(AnsiColor::Yellow),
            Layer::Idle => Some(AnsiColor::BrightBlack),
            Layer::GarbageCollection => Some(AnsiColor::Green),
        };
        let style = Style::new().fg_color(colour.map(Color::Ansi));
        self.paint(if hot { style.bold() } else { style }, text)
    }

    /// A bar for a share of one, `width` columns at most and padded to them.
    pub(crate) fn bar(self, share: f64, width: usize) -> String {
        let eighths = (share.clamp(0.0, 1.0) * width as f64 * 8.0).round() as usize;
        let (full, part) = (eighths / 8, eighths % 8);
        let mut bar = if self.unicode {
            let mut bar = "█".repeat(full);
            bar.push_str(["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"][part]);
            bar
        } else {
            "#".repeat(full + usize::from(part >= 4))
        };
        let columns = columns(&bar);
        bar.extend(std::iter::repeat_n(' ', width.saturating_sub(columns)));
        self.paint(Style::new().fg_color(Some(Color::Ansi(AnsiColor::Red))), &bar)
    }
}

/// How many columns a text takes.
pub fn columns(text: &str) -> usize {
    text.chars().map(|c| c.width().unwrap_or(0)).sum()
}

/// A name fit for a terminal: control characters would move its cursor or change its colours.
pub fn clean(text: &str) -> Cow<'_, str> {
    if text.chars().any(char::is_control) {
        Cow::Owned(text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect())
    } else {
        Cow::Borrowed(text)
    }
}

/// A text of at most `width` columns, shortened in the middle: the two ends of a name say the most.
pub fn shortened(text: &str, width: usize, look: Look) -> Cow<'_, str> {
    let text = clean(text);
    if columns(&text) <= width {
        return text;
    }
    let dots = look.ellipsis();
    let room = width.saturating_sub(columns(dots));
    // The end gets a little more: that is where the function's own name is.
    let head = room * 2 / 5;
    Cow::Owned(format!("{}{dots}{}", start(&text, head), end(&text, room - head)))
}

/// A path of at most `width` columns, shortened from the left.
pub fn shortened_path(text: &str, width: usize, look: Look) -> Cow<'_, str> {
    let text = clean(text);
    if columns(&text) <= width {
        return text;
    }
    let dots = look.ellipsis();
    Cow::Owned(format!("{dots}{}", end(&text, width.saturating_sub(columns(dots)))))
}

fn start(text: &str, width: usize) -> String {
    let mut used = 0;
    let fits = |c: &char| {
        used += c.width().unwrap_or(0);
        used <= width
    };
    text.chars().take_while(fits).collect()
}

fn end(text: &str, width: usize) -> String {
    let reversed: String = text.chars().rev().collect();
    start(&reversed, width).chars().rev().collect()
}

/// A text padded on the right to `width` columns.
pub fn padded(text: &str, width: usize) -> String {
    let mut padded = text.to_owned();
    padded.extend(std::iter::repeat_n(' ', width.saturating_sub(columns(text))));
    padded
}

/// A text padded on the left to `width` columns.
pub fn right(text: &str, width: usize) -> String {
    let mut right = " ".repeat(width.saturating_sub(columns(text)));
    right.push_str(text);
    right
}

/// Words in lines of at most `width` columns.
pub fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if columns(line) + 1 + columns(word) <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOOK: Look = Look { width: 80, unicode: true, colour: false };

    #[test]
    fn names_lose_their_middle_and_paths_their_start() {
        assert_eq!(shortened("short", 10, LOOK), "short");
        assert_eq!(shortened("alloc::vec::Vec<T>::push", 12, LOOK), "allo…>::push");
        assert_eq!(shortened("日本語の関数", 7, LOOK), "日…関数");
        assert_eq!(shortened_path("/usr/lib/libc.so.6", 10, LOOK), "…libc.so.6");
        assert_eq!(shortened("\u{1b}[31mred\n", 20, LOOK), " [31mred ");
    }

    #[test]
    fn bars_are_as_long_as_their_share() {
        assert_eq!(LOOK.bar(0.5, 4), "██  ");
        assert_eq!(LOOK.bar(0.3, 4), "█▎  ");
        assert_eq!(Look { unicode: false, ..LOOK }.bar(0.3, 4), "#   ");
    }
}
