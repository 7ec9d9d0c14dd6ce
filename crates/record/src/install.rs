//! The command that installs what is missing, on the system at hand.

use crate::{Profiler, RecordError};

/// An error that names the command.
pub fn missing(profiler: Profiler) -> RecordError {
    let system = std::fs::read_to_string("/etc/os-release").unwrap_or_default();
    RecordError::Missing { profiler, install: command(profiler, &system).to_owned() }
}

/// The command that installs a browser.
pub fn browser() -> String {
    let system = std::fs::read_to_string("/etc/os-release").unwrap_or_default();
    let command = if cfg!(target_os = "macos") {
        "brew install --cask chromium"
    } else {
        match Family::of(&system) {
            Family::Debian => "sudo apt-get install chromium",
            // The package of that name in Ubuntu's archive is an empty one.
            Family::Ubuntu => "sudo snap install chromium",
            Family::Fedora => "sudo dnf install chromium",
            Family::Arch => "sudo pacman -S chromium",
            Family::Suse => "sudo zypper install chromium",
            Family::Alpine => "sudo apk add chromium",
        }
    };
    command.to_owned()
}

fn command(profiler: Profiler, os_release: &str) -> &'static str {
    let family = Family::of(os_release);
    match profiler {
        Profiler::Perf | Profiler::OsTrace => match family {
            Family::Debian => "sudo apt-get install linux-perf",
            Family::Ubuntu => "sudo apt-get install linux-tools-common linux-tools-$(uname -r)",
            Family::Fedora => "sudo dnf install perf",
            Family::Arch => "sudo pacman -S perf",
            Family::Suse => "sudo zypper install perf",
            Family::Alpine => "sudo apk add perf",
        },
        Profiler::PySpy => "python3 -m pip install py-spy",
        Profiler::NodeCpuProf => match family {
            Family::Debian | Family::Ubuntu => "sudo apt-get install nodejs",
            Family::Fedora => "sudo dnf install nodejs",
            Family::Arch => "sudo pacman -S nodejs",
            Family::Suse => "sudo zypper install nodejs",
            Family::Alpine => "sudo apk add nodejs",
        },
        Profiler::Uftrace => match family {
            Family::Debian | Family::Ubuntu => "sudo apt-get install uftrace",
            Family::Fedora => "sudo dnf install uftrace",
            Family::Arch => "sudo pacman -S uftrace",
            Family::Suse => "sudo zypper install uftrace",
            Family::Alpine => "sudo apk add uftrace",
        },
        Profiler::Jfr | Profiler::JavaExact => match family {
            Family::Debian | Family::Ubuntu => "sudo apt-get install default-jdk-headless",
            Family::Fedora => "sudo dnf install java-latest-openjdk-headless",
            Family::Arch => "sudo pacman -S jdk-openjdk",
            Family::Suse => "sudo zypper install java-21-openjdk-headless",
            Family::Alpine => "sudo apk add openjdk21",
        },
    }
}

#[derive(Clone, Copy)]
enum Family {
    Debian,
    Ubuntu,
    Fedora,
    Arch,
    Suse,
    Alpine,
}

impl Family {
    fn of(os_release: &str) -> Self {
        let words = os_release
            .lines()
            .filter_map(|line| line.strip_prefix("ID=").or_else(|| line.strip_prefix("ID_LIKE=")))
            .flat_map(|value| value.trim_matches('"').split(' '));
        for word in words {
            return match word {
                "ubuntu" => Self::Ubuntu,
                "fedora" | "rhel" | "centos" => Self::Fedora,
                "arch" => Self::Arch,
                "suse" | "opensuse" => Self::Suse,
                "alpine" => Self::Alpine,
                "debian" => Self::Debian,
                _ => continue,
            };
        }
        Self::Debian
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_fits_the_system() {
        let perf = |system| command(Profiler::Perf, system);
        assert_eq!(perf("NAME=x\nID=debian\n"), "sudo apt-get install linux-perf");
        assert_eq!(perf("ID=rocky\nID_LIKE=\"rhel centos fedora\"\n"), "sudo dnf install perf");
        assert!(perf("ID=linuxmint\nID_LIKE=\"ubuntu debian\"\n").contains("linux-tools"));
    }
}
