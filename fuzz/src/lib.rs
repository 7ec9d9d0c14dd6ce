//! What every fuzz target does: hand bytes to one reader, whatever they look like.

use perfblame_readers::{FORMATS, Input, ReadOptions};

/// Reads `data` as the format called `name`, in the most demanding way: every grain, times kept.
pub fn read(name: &str, data: &[u8]) {
    let format = FORMATS.iter().find(|format| format.name == name).expect("a format of this name");
    let grain = match data.first().map(|byte| byte % 3) {
        Some(0) => perfblame_cct::Grain::Functions,
        Some(1) => perfblame_cct::Grain::CallSites,
        _ => perfblame_cct::Grain::Frames,
    };
    let options = ReadOptions { grain, times: perfblame_cct::Times::Keep };
    let Ok(input) = Input::from_bytes(data.to_vec()) else { return };
    let _ = (format.sniff)(&input);
    if let Ok(profile) = (format.read)(input, &options) {
        // What was read must be a tree whose values can be asked for.
        for (metric, _) in profile.metrics() {
            let _ = profile.inclusive_values(metric);
        }
    }
}
