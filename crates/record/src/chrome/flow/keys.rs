//! Keys of a US keyboard: from the name in a flow, or the character to type, to what the browser wants to know.
//!
//! Names are those of `KeyboardEvent.key` and `KeyboardEvent.code`. A character stands for the key that has it, with
//! the shifted character as such: typing `A` sends `A`, without pressing a Shift key that the page would see.

/// A key and what it means with and without Shift.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// `KeyboardEvent.key`.
    pub name: String,
    /// The same with Shift, where that is another.
    pub shifted: Option<String>,
    /// `KeyboardEvent.code`; empty where no place on the keyboard has it.
    pub code: String,
    /// The number Windows gives it.
    pub number: u16,
    /// The same with Shift, where that is another.
    pub shifted_number: Option<u16>,
    /// 1 left, 2 right, 3 number pad.
    pub location: u8,
}

impl Key {
    fn new(name: &str, code: &str, number: u16, location: u8) -> Self {
        let (name, code) = (name.to_owned(), code.to_owned());
        Self { name, shifted: None, code, number, shifted_number: None, location }
    }

    /// The text that pressing it makes.
    pub fn text(&self, shift: bool) -> &str {
        let key = self.shown(shift);
        match key {
            "Enter" => "\r",
            _ if key.chars().count() == 1 => key,
            _ => "",
        }
    }

    /// `KeyboardEvent.key`.
    pub fn shown(&self, shift: bool) -> &str {
        self.shifted.as_deref().filter(|_| shift).unwrap_or(&self.name)
    }

    /// The number of Windows.
    pub fn number(&self, shift: bool) -> u16 {
        self.shifted_number.filter(|_| shift).unwrap_or(self.number)
    }

    /// The bit it sets while it is down.
    pub fn modifier(&self) -> u8 {
        match self.name.as_str() {
            "Alt" => 1,
            "Control" => 2,
            "Meta" => 4,
            "Shift" => 8,
            _ => 0,
        }
    }
}

/// Keys with two characters: without Shift, with it, the place, the number.
const PRINTED: [(char, char, &str, u16); 21] = [
    ('1', '!', "Digit1", 49),
    ('2', '@', "Digit2", 50),
    ('3', '#', "Digit3", 51),
    ('4', '$', "Digit4", 52),
    ('5', '%', "Digit5", 53),
    ('6', '^', "Digit6", 54),
    ('7', '&', "Digit7", 55),
    ('8', '*', "Digit8", 56),
    ('9', '(', "Digit9", 57),
    ('0', ')', "Digit0", 48),
    ('-', '_', "Minus", 189),
    ('=', '+', "Equal", 187),
    ('[', '{', "BracketLeft", 219),
    (']', '}', "BracketRight", 221),
    ('\\', '|', "Backslash", 220),
    (';', ':', "Semicolon", 186),
    ('\'', '"', "Quote", 222),
    ('`', '~', "Backquote", 192),
    (',', '<', "Comma", 188),
    ('.', '>', "Period", 190),
    ('/', '?', "Slash", 191),
];

/// Keys that print nothing, or one thing only: `key`, `code`, number, location. The first of a `key` is the one meant by
/// its name.
const NAMED: &[(&str, &str, u16, u8)] = &[
    (" ", "Space", 32, 0),
    ("Enter", "Enter", 13, 0),
    ("Enter", "NumpadEnter", 13, 3),
    ("Tab", "Tab", 9, 0),
    ("Backspace", "Backspace", 8, 0),
    ("Delete", "Delete", 46, 0),
    ("Insert", "Insert", 45, 0),
    ("Escape", "Escape", 27, 0),
    ("Shift", "ShiftLeft", 16, 1),
    ("Shift", "ShiftRight", 16, 2),
    ("Control", "ControlLeft", 17, 1),
    ("Control", "ControlRight", 17, 2),
    ("Alt", "AltLeft", 18, 1),
    ("Alt", "AltRight", 18, 2),
    ("Meta", "MetaLeft", 91, 1),
    ("Meta", "MetaRight", 92, 2),
    ("AltGraph", "AltGraph", 225, 0),
    ("CapsLock", "CapsLock", 20, 0),
    ("NumLock", "NumLock", 144, 0),
    ("ScrollLock", "ScrollLock", 145, 0),
    ("ContextMenu", "ContextMenu", 93, 0),
    ("PrintScreen", "PrintScreen", 44, 0),
    ("Pause", "Pause", 19, 0),
    ("Help", "Help", 6, 0),
    ("PageUp", "PageUp", 33, 0),
    ("PageDown", "PageDown", 34, 0),
    ("End", "End", 35, 0),
    ("Home", "Home", 36, 0),
    ("ArrowLeft", "ArrowLeft", 37, 0),
    ("ArrowUp", "ArrowUp", 38, 0),
    ("ArrowRight", "ArrowRight", 39, 0),
    ("ArrowDown", "ArrowDown", 40, 0),
    ("Clear", "Numpad5", 12, 3),
    ("*", "NumpadMultiply", 106, 3),
    ("+", "NumpadAdd", 107, 3),
    ("-", "NumpadSubtract", 109, 3),
    ("/", "NumpadDivide", 111, 3),
    ("=", "NumpadEqual", 187, 3),
    ("\0", "NumpadDecimal", 46, 3),
    ("Cancel", "Abort", 3, 0),
    ("Convert", "Convert", 28, 0),
    ("NonConvert", "NonConvert", 29, 0),
    ("Accept", "", 30, 0),
    ("ModeChange", "", 31, 0),
    ("Select", "Select", 41, 0),
    ("Print", "", 42, 0),
    ("Execute", "Open", 43, 0),
    ("Attn", "", 246, 0),
    ("CrSel", "Props", 247, 0),
    ("ExSel", "", 248, 0),
    ("EraseEof", "", 249, 0),
    ("Play", "", 250, 0),
    ("ZoomOut", "", 251, 0),
    ("Power", "Power", 0, 0),
    ("Eject", "Eject", 0, 0),
    ("AudioVolumeMute", "AudioVolumeMute", 173, 0),
    ("AudioVolumeDown", "AudioVolumeDown", 174, 0),
    ("AudioVolumeUp", "AudioVolumeUp", 175, 0),
    ("MediaTrackNext", "MediaTrackNext", 176, 0),
    ("MediaTrackPrevious", "MediaTrackPrevious", 177, 0),
    ("MediaStop", "MediaStop", 178, 0),
    ("MediaPlayPause", "MediaPlayPause", 179, 0),
    ("SoftLeft", "SoftLeft", 0, 4),
    ("SoftRight", "SoftRight", 0, 4),
    ("Camera", "Camera", 44, 4),
    ("Call", "Call", 0, 4),
    ("EndCall", "EndCall", 95, 4),
    ("VolumeDown", "VolumeDown", 182, 4),
    ("VolumeUp", "VolumeUp", 183, 4),
];

/// What a digit of the number pad is without its digit: digit, meaning, number.
const PAD: [(char, &str, u16); 10] = [
    ('0', "Insert", 45),
    ('1', "End", 35),
    ('2', "ArrowDown", 40),
    ('3', "PageDown", 34),
    ('4', "ArrowLeft", 37),
    ('5', "Clear", 12),
    ('6', "ArrowRight", 39),
    ('7', "Home", 36),
    ('8', "ArrowUp", 38),
    ('9', "PageUp", 33),
];

/// The key of a name or a character.
pub fn find(name: &str) -> Option<Key> {
    let mut letters = name.chars();
    if let (Some(letter), None) = (letters.next(), letters.next()) {
        return of_character(letter);
    }
    // By place, which also has a meaning with Shift.
    if let Some(letter) = single(name.strip_prefix("Key")).filter(char::is_ascii_uppercase) {
        let key = of_character(letter.to_ascii_lowercase())?;
        return Some(Key { shifted: Some(letter.to_string()), ..key });
    }
    if let Some((plain, shifted, ..)) = PRINTED.iter().find(|(_, _, code, _)| *code == name) {
        let key = of_character(*plain)?;
        return Some(Key { shifted: Some(shifted.to_string()), ..key });
    }
    if let Some(digit) = single(name.strip_prefix("Numpad")).filter(char::is_ascii_digit) {
        let (_, meaning, number) = PAD.iter().find(|row| row.0 == digit)?;
        let shifted_number = Some(96 + (digit as u16 - '0' as u16));
        let key = Key::new(meaning, name, *number, 3);
        return Some(Key { shifted: Some(digit.to_string()), shifted_number, ..key });
    }
    if name == "NumpadDecimal" {
        let key = Key::new("\0", name, 46, 3);
        return Some(Key { shifted: Some(".".to_owned()), shifted_number: Some(110), ..key });
    }
    if let Some(number) = name.strip_prefix('F').and_then(|rest| rest.parse::<u16>().ok())
        && (1..=24).contains(&number)
        && name == format!("F{number}")
    {
        return Some(Key::new(name, name, 111 + number, 0));
    }
    let by_key = NAMED.iter().find(|row| row.0 == name);
    let row = by_key.or_else(|| NAMED.iter().find(|row| !row.1.is_empty() && row.1 == name))?;
    Some(Key::new(row.0, row.1, row.2, row.3))
}

/// The only character of a text.
fn single(text: Option<&str>) -> Option<char> {
    let mut letters = text?.chars();
    letters.next().filter(|_| letters.next().is_none())
}

/// The key that has a character; none is to be inserted as text instead.
fn of_character(letter: char) -> Option<Key> {
    let text = letter.to_string();
    if letter.is_ascii_alphabetic() {
        let upper = letter.to_ascii_uppercase();
        return Some(Key::new(&text, &format!("Key{upper}"), upper as u16, 0));
    }
    if matches!(letter, '\r' | '\n') {
        return find("Enter");
    }
    if let Some(row) = PRINTED.iter().find(|row| row.0 == letter || row.1 == letter) {
        return Some(Key::new(&text, row.2, row.3, 0));
    }
    let row = NAMED.iter().find(|row| row.0 == text)?;
    Some(Key::new(row.0, row.1, row.2, row.3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, shift: bool, wanted: (&str, &str, u16, &str)) {
        let key = find(name).unwrap();
        let found = (key.shown(shift), key.code.as_str(), key.number(shift), key.text(shift));
        assert_eq!(found, wanted, "{name}");
    }

    #[test]
    fn characters_have_their_keys() {
        check("a", false, ("a", "KeyA", 65, "a"));
        check("A", false, ("A", "KeyA", 65, "A"));
        check("5", false, ("5", "Digit5", 53, "5"));
        check("%", false, ("%", "Digit5", 53, "%"));
        check("-", false, ("-", "Minus", 189, "-"));
        check(" ", false, (" ", "Space", 32, " "));
        check("\n", false, ("Enter", "Enter", 13, "\r"));
        assert_eq!(find("é"), None);
        assert_eq!(find(""), None);
    }

    #[test]
    fn places_mind_the_shift_key() {
        check("KeyA", false, ("a", "KeyA", 65, "a"));
        check("KeyA", true, ("A", "KeyA", 65, "A"));
        check("Digit1", true, ("!", "Digit1", 49, "!"));
        check("Numpad7", false, ("Home", "Numpad7", 36, ""));
        check("Numpad7", true, ("7", "Numpad7", 103, "7"));
        check("a", true, ("a", "KeyA", 65, "a"));
    }

    #[test]
    fn names_are_of_keys_or_places() {
        check("Enter", false, ("Enter", "Enter", 13, "\r"));
        check("NumpadEnter", false, ("Enter", "NumpadEnter", 13, "\r"));
        check("Control", false, ("Control", "ControlLeft", 17, ""));
        check("ControlRight", false, ("Control", "ControlRight", 17, ""));
        check("F5", false, ("F5", "F5", 116, ""));
        check("F24", false, ("F24", "F24", 135, ""));
        for unknown in ["F0", "F25", "F05", "enter", "Keya", "Digit", "Numpad", "Keyé"] {
            assert_eq!(find(unknown), None, "{unknown}");
        }
    }

    #[test]
    fn modifiers_have_bits() {
        let bits = ["Alt", "Control", "Meta", "Shift", "ShiftRight", "a"];
        let bits: Vec<_> = bits.iter().map(|name| find(name).unwrap().modifier()).collect();
        assert_eq!(bits, [1, 2, 4, 8, 8, 0]);
    }
}
