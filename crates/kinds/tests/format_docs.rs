//! `docs/format.md` says what the tables say. To write it anew: `CSIS_WRITE_DOCS=1 cargo test -p csis-kinds --test format_docs`.
#![allow(clippy::unwrap_used)]

#[test]
fn the_page_is_what_the_tables_say() {
    let models = csis_tree::models();
    let table = |key: &str| models.iter().find(|(name, _)| *name == key).unwrap().1;
    let page = csis_kinds::docs::page(table(""), table("config"));
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/format.md");
    if std::env::var_os("CSIS_WRITE_DOCS").is_some() {
        std::fs::write(file, &page).unwrap();
    }
    let written = std::fs::read_to_string(file).unwrap_or_default();
    let differs = page.lines().zip(written.lines()).find(|(a, b)| a != b);
    assert!(
        page == written,
        "docs/format.md is not what the tables say (write it anew with CSIS_WRITE_DOCS=1); first difference: {differs:?}"
    );
}
