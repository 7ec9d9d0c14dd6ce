//! The applications: libraries of npm, each with a small page of ours and a visit to it.

use perfblame_cct::Sides;

/// A web application.
#[derive(Debug)]
pub struct App {
    /// Its name, which is that of the folder with its page.
    pub name: &'static str,
    /// What it is.
    pub what: &'static str,
    /// What it is called at npm.
    pub package: &'static str,
    /// The release before, and a later one.
    pub releases: Sides<&'static str>,
    /// Files of the package, and their names below `/lib`.
    pub files: &'static [(&'static str, &'static str)],
    pub page: &'static str,
    pub script: &'static str,
    pub settings: &'static str,
    /// The visit, as the Recorder panel exports it.
    pub flow: &'static str,
    /// The visit in words.
    pub visit: &'static str,
}

/// What all pages share.
pub const SHARED: &str = include_str!("../apps/shared/visit.js");

/// Where flows say the page is; the server's own address takes its place.
pub const ADDRESS: &str = "http://127.0.0.1:8080";

macro_rules! app {
    ($name:literal, $what:literal, $package:literal $before:literal $after:literal, $visit:literal, [$($file:literal $as:literal),*]) => {
        App {
            name: $name,
            what: $what,
            package: $package,
            releases: Sides::new($before, $after),
            files: &[$(($file, $as)),*],
            page: include_str!(concat!("../apps/", $name, "/index.html")),
            script: include_str!(concat!("../apps/", $name, "/app.js")),
            settings: include_str!(concat!("../apps/", $name, "/settings.json")),
            flow: include_str!(concat!("../apps/", $name, "/flow.json")),
            visit: $visit,
        }
    };
}

/// All of them.
pub const APPS: &[App] = &[
    app!("chart.js", "charts", "chart.js" "3.8.0" "3.9.1",
        "add data, point at a line, hide a series", ["dist/chart.js" "chart.js"]),
    app!("codemirror", "code editor", "codemirror" "5.65.5" "5.65.9",
        "load a program, type, rename, indent",
        ["lib/codemirror.js" "codemirror.js", "lib/codemirror.css" "codemirror.css", "mode/javascript/javascript.js" "javascript.js"]),
    app!("cytoscape", "graph viewer", "cytoscape" "3.22.0" "3.23.0",
        "grow a graph, arrange it, rank its nodes", ["dist/cytoscape.umd.js" "cytoscape.js"]),
    app!("handsontable", "spreadsheet", "handsontable" "12.1.0" "12.1.3",
        "load rows, sort, filter, type into a cell",
        ["dist/handsontable.full.js" "handsontable.js", "dist/handsontable.full.css" "handsontable.css"]),
    app!("highlight.js", "syntax highlighter", "@highlightjs/cdn-assets" "11.8.0" "11.9.0",
        "show listings, scroll, guess languages",
        ["highlight.js" "highlight.js", "styles/default.min.css" "highlight.css"]),
    app!("leaflet", "map", "leaflet" "1.8.0" "1.9.4",
        "add shapes and markers, zoom",
        ["dist/leaflet-src.js" "leaflet.js", "dist/leaflet.css" "leaflet.css"]),
    app!("marked", "notes with preview", "marked" "4.2.0" "4.3.0",
        "type, show a long note, scroll, show tables", ["lib/marked.umd.js" "marked.js"]),
    app!("quill", "rich text editor", "quill" "1.3.6" "1.3.7",
        "paste, type, format, export",
        ["dist/quill.js" "quill.js", "dist/quill.snow.css" "quill.css"]),
    app!("tabulator", "table", "tabulator-tables" "5.4.0" "5.4.4",
        "group, sort, type a filter",
        ["dist/js/tabulator.js" "tabulator.js", "dist/css/tabulator.css" "tabulator.css"]),
    app!("vue", "task list", "vue" "2.7.10" "2.7.14",
        "add tasks, type a filter, finish some, sort", ["dist/vue.js" "vue.js"]),
];

impl App {
    /// The addresses of its scripts, below the site.
    pub fn scripts(&self) -> Vec<String> {
        let library = self.files.iter().filter(|(_, name)| is_script(name));
        let library = library.map(|(_, name)| format!("/lib/{name}"));
        library.chain(["/visit.js".to_owned(), "/app.js".to_owned()]).collect()
    }
}

fn is_script(name: &str) -> bool {
    std::path::Path::new(name).extension().is_some_and(|extension| extension == "js")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_load_the_scripts_that_are_listed() {
        for app in APPS {
            for script in app.scripts() {
                assert!(app.page.contains(&format!("src=\"{script}\"")), "{} {script}", app.name);
            }
            assert!(app.flow.contains(ADDRESS), "{}", app.name);
            assert!(serde_json::from_str::<serde_json::Value>(app.settings).is_ok());
        }
        for mark in ["/*zam:fetch*/", "/*zam:timer*/"] {
            assert_eq!(SHARED.matches(mark).count(), 1);
        }
    }
}
