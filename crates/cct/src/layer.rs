//! Whose code a function is.

/// A layer says whose code it is; runtime layers are reported but never blamed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Layer {
    /// The program under study.
    #[default]
    Application,
    /// Code the program links or imports.
    Library,
    /// Code loaded into the program by its users.
    Plugin,
    /// Interpreter, virtual machine, browser engine, dynamic linker.
    Runtime,
    /// The operating system.
    Kernel,
    /// Nothing was running.
    Idle,
    /// The garbage collector.
    GarbageCollection,
}

impl Layer {
    /// Every layer, in the order they are listed to users.
    pub const ALL: [Self; 7] = [
        Self::Application,
        Self::Library,
        Self::Plugin,
        Self::Runtime,
        Self::Kernel,
        Self::Idle,
        Self::GarbageCollection,
    ];

    /// The word users see and files store.
    pub fn name(self) -> &'static str {
        match self {
            Self::Application => "application",
            Self::Library => "library",
            Self::Plugin => "plug-in",
            Self::Runtime => "runtime",
            Self::Kernel => "kernel",
            Self::Idle => "idle",
            Self::GarbageCollection => "garbage collection",
        }
    }

    /// The inverse of [`Layer::name`].
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|layer| layer.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_are_known_by_their_names() {
        for layer in Layer::ALL {
            assert_eq!(Layer::from_name(layer.name()), Some(layer));
        }
        assert_eq!(Layer::from_name("cellar"), None);
    }
}
