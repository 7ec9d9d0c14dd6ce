//! What readers of different formats know alike about Java.

use perfblame_cct::{Layer, is_library_class};

/// Whose code a class is, by its name with dots: classes that come with the JDK are a library, all others are taken for
/// the program's own.
pub fn layer_of_class(class: &str) -> Layer {
    if is_library_class(class) { Layer::Library } else { Layer::Application }
}

/// Whose code a class is on Android, by its package.
pub fn layer_of_android_class(class: &str) -> Layer {
    let of = |packages: &[&str]| packages.iter().any(|package| class.starts_with(package));
    if of(&["android.", "androidx.", "com.android.", "dalvik.", "libcore."])
        || is_library_class(class)
    {
        return Layer::Library;
    }
    Layer::Application
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_tell_whose_code_it_is() {
        assert_eq!(layer_of_class("java.util.HashMap"), Layer::Library);
        assert_eq!(layer_of_class("javassist.Loader"), Layer::Application);
        assert_eq!(layer_of_class("Main"), Layer::Application);
    }
}
