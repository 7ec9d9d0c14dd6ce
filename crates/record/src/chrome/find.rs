//! Which browser to start.

use std::path::{Path, PathBuf};

use super::ChromeError;
use crate::install;

/// The variable that names a browser; other tools know it, too.
const VARIABLE: &str = "CHROME_PATH";

/// What browsers are called, the most usual first.
const NAMES: &[&str] = &[
    "google-chrome-stable",
    "google-chrome",
    "chromium",
    "chromium-browser",
    "chrome",
    "microsoft-edge-stable",
];

/// Where browsers are that are not on the search path.
const PLACES: &[&str] = &[
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/opt/google/chrome/chrome",
    "/snap/bin/chromium",
];

/// The browser that was named, or the first that is there.
pub fn find_browser(named: Option<&Path>) -> Result<PathBuf, ChromeError> {
    let variable = std::env::var_os(VARIABLE).filter(|path| !path.is_empty()).map(PathBuf::from);
    let folders: Vec<PathBuf> =
        std::env::var_os("PATH").iter().flat_map(std::env::split_paths).collect();
    if let Some(named) = named.map(Path::to_owned).or(variable) {
        return found(&named, &folders).ok_or_else(|| ChromeError::Start {
            browser: named,
            why: "there is no such program".to_owned(),
        });
    }
    first(&folders, PLACES)
}

fn first(folders: &[PathBuf], places: &[&str]) -> Result<PathBuf, ChromeError> {
    let names = NAMES.iter().chain(places).find_map(|name| found(Path::new(name), folders));
    names.ok_or_else(|| ChromeError::Missing {
        looked: format!("looked for {} on the search path", NAMES.join(", ")),
        install: install::browser(),
    })
}

/// A path is taken as it is, a name is looked up.
fn found(name: &Path, folders: &[PathBuf]) -> Option<PathBuf> {
    let named = if name.components().count() > 1 {
        std::path::absolute(name).ok()
    } else {
        folders.iter().map(|folder| folder.join(name)).find(|path| is_program(path))
    };
    named.filter(|path| is_program(path))
}

fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn the_first_that_is_there_is_taken_and_advice_given_when_none_is() {
        let folder = std::env::temp_dir().join(format!("perfblame-find-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let folders = [folder.clone()];
        let missing = first(&folders, &[]).unwrap_err();
        assert!(matches!(&missing, ChromeError::Missing { .. }), "{missing}");
        let help = missing.help().unwrap();
        assert!(help.contains("chromium") && help.contains("--browser"), "{help}");
        let browser = folder.join("chromium");
        std::fs::write(&browser, "").unwrap();
        assert!(first(&folders, &[]).is_err(), "a file is no program");
        std::fs::set_permissions(&browser, std::fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(first(&folders, &[]).unwrap(), browser);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
