//! The page of a comparison, in a real browser.
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod made;

#[test]
fn write_pages() {
    let folder = std::path::PathBuf::from(std::env::var("PAGES").unwrap());
    for (name, diff) in [
        ("everything", made::everything()),
        ("critical", made::critical()),
        ("hostile", made::hostile()),
        ("large", made::large(200_000)),
        ("huge", made::large(700_000)),
    ] {
        let mut out = Vec::new();
        perfblame_report::diff_html(&diff, &mut out).unwrap();
        std::fs::write(folder.join(format!("{name}.html")), out).unwrap();
    }
}
