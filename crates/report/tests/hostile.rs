//! Whatever a plan, a tree or an engine says stays text. Only here is a rendered comment read again by a Markdown parser, as the platform would.

#![allow(clippy::expect_used)]

use comrak::Options;
use comrak::nodes::{AstNode, NodeValue};
use csis_report::document::Detail;
use csis_report::{MarkdownOptions, TextOptions, digest, markdown, text};
use csis_values::plan::{Action, AttributeChange, Change, Counts, Shown};
use csis_values::report::{Report, RootReport};
use std::path::Path;

fn sample(name: &str) -> Report {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples").join(name);
    let mut report: Report = serde_json::from_slice(&std::fs::read(path).expect("a sample")).expect("a report");
    digest::stamp(&mut report, "sample");
    report
}

/// The first sample with every foreign text in it replaced by `text`.
fn filled(text: &str) -> Report {
    let report = sample("11-hostile.json");
    let mut value = serde_json::to_value(&report).expect("a value");
    fill(&mut value, text, "");
    serde_json::from_value(value).expect("a report")
}

fn fill(value: &mut serde_json::Value, text: &str, key: &str) {
    const KEPT: &[&str] = &[
        "schema",
        "verdict",
        "status",
        "severity",
        "weight",
        "mode",
        "action",
        "shown",
        "must",
        "digest",
        "kind",
        "csis",
        "concerned",
    ];
    match value {
        serde_json::Value::String(s) if !KEPT.contains(&key) => text.clone_into(s),
        serde_json::Value::Array(items) => items.iter_mut().for_each(|item| fill(item, text, key)),
        serde_json::Value::Object(map) => map.iter_mut().for_each(|(key, item)| fill(item, text, key)),
        _ => {}
    }
}

const NASTY: &[&str] = &[
    "<script>alert(1)</script>",
    "</details></summary></code><img src=x onerror=alert(1)>",
    "<!-- ",
    "@octocat and @github/team",
    "#12 GH-12 octo/repo#3 https://evil.example/x http://a.b www.evil.example mailto:a@b.example",
    "```",
    "`````````` x",
    "`",
    "``",
    "` `` ``` ` x",
    "\\`|\\|`|",
    "a\n```\n</details>\n\n# heading\n- [x] done\n> [!CAUTION]\n| a | b |\n|---|---|\n",
    "[l](javascript:alert(1)) ![i](http://evil.example/i.png)",
    "**bold** __x__ ~~y~~ $x$ :tada:",
    "\u{1b}[31mred\u{1b}]0;title\u{7}\u{202e}flip\u{200b}\u{feff}\u{0}\u{9b}31m",
    "::error::x\n::set-output name=a::b\n##[group]c",
    "/csis apply 0123abcd",
    "\u{1f4a3}\u{1f4a3}\u{1f4a3}",
    "&lt;script&gt; &#64;octocat &amp;",
    "    indented\n\ttab",
    "\\",
    "x\\",
    "1. a",
    "---",
    "=",
    "",
    " ",
];

fn options() -> Options<'static> {
    let mut options = Options::default();
    options.extension.table = true;
    options.extension.autolink = true;
    options.extension.strikethrough = true;
    options.extension.tasklist = true;
    options.extension.alerts = true;
    options.extension.math_dollars = true;
    options.render.r#unsafe = true;
    options
}

/// Collects what a reader's platform would act on.
#[derive(Default)]
struct Seen {
    html: Vec<String>,
    links: Vec<String>,
    images: usize,
    text: Vec<String>,
    details: (usize, usize),
    headings: usize,
    tasks: usize,
    fences: Vec<String>,
    maths: usize,
}

fn walk<'a>(node: &'a AstNode<'a>, in_code: &mut bool, seen: &mut Seen) {
    match &node.data.borrow().value {
        NodeValue::HtmlBlock(block) => {
            seen.details.0 += block.literal.matches("<details>").count();
            seen.details.1 += block.literal.matches("</details>").count();
            seen.html.push(block.literal.clone());
        }
        NodeValue::HtmlInline(html) => {
            match html.as_str() {
                "<code>" => *in_code = true,
                "</code>" => *in_code = false,
                _ => {}
            }
            seen.html.push(html.clone());
        }
        NodeValue::Link(link) => seen.links.push(link.url.clone()),
        NodeValue::Image(_) => seen.images += 1,
        NodeValue::Text(text) if !*in_code => seen.text.push(text.to_string()),
        NodeValue::Heading(_) => seen.headings += 1,
        NodeValue::TaskItem(_) => seen.tasks += 1,
        NodeValue::Math(_) => seen.maths += 1,
        NodeValue::CodeBlock(block) => {
            seen.fences.push(block.info.clone());
            assert!(block.fenced, "an indented block came out of foreign text");
        }
        _ => {}
    }
    for child in node.children() {
        walk(child, in_code, seen);
    }
}

fn see(comment: &str) -> Seen {
    let arena = comrak::Arena::new();
    let root = comrak::parse_document(&arena, comment, &options());
    let mut seen = Seen::default();
    walk(root, &mut false, &mut seen);
    seen
}

/// HTML of our own: a fold's frame, code, bold, small print, with nothing but escaped text in it.
fn is_ours(html: &str) -> bool {
    let mut rest = html.to_owned();
    for tag in ["details", "summary", "code", "b", "sub", "span"] {
        rest = rest.replace(&format!("<{tag}>"), "").replace(&format!("</{tag}>"), "");
    }
    !rest.contains(['<', '>', '@'])
}

#[test]
fn foreign_text_never_becomes_syntax() {
    for text in NASTY {
        for detail in [Detail::Values, Detail::Addresses] {
            let report = filled(text);
            let comment = markdown(&report, &MarkdownOptions { detail, ..MarkdownOptions::default() });
            let seen = see(&comment);
            for html in &seen.html {
                assert!(is_ours(html), "{text:?} became HTML: {html}\n{comment}");
            }
            assert!(seen.links.is_empty() && seen.images == 0, "{text:?} became a link: {:?}", seen.links);
            assert_eq!(seen.details.0, seen.details.1, "{text:?} unbalanced a fold\n{comment}");
            assert_eq!((seen.tasks, seen.maths), (0, 0), "{text:?} became a task or a formula");
            assert!(
                seen.fences.iter().all(|info| info == "diff" || info == "mermaid"),
                "{text:?} opened a fence: {:?}",
                seen.fences
            );
            for piece in &seen.text {
                assert!(!notifies(piece), "{text:?} would notify or link: {piece}");
            }
        }
    }
}

/// A mention, an issue or a bare address in text outside code.
fn notifies(text: &str) -> bool {
    let chars: Vec<char> = text.chars().collect();
    let pairs = chars.windows(2).any(|w| {
        (w[0] == '@' && w[1].is_ascii_alphanumeric())
            || (w[0] == '#' && w[1].is_ascii_digit())
            || (w[0] == ':' && w[1] == '/')
    });
    pairs || text.contains("GH-1") || text.contains("www.")
}

#[test]
fn the_shape_of_a_comment_does_not_depend_on_what_is_in_it() {
    let plain = see(&markdown(&filled("plain"), &MarkdownOptions::default()));
    for text in NASTY {
        let seen = see(&markdown(&filled(text), &MarkdownOptions::default()));
        assert_eq!(seen.headings, plain.headings, "{text:?}");
    }
}

#[test]
fn a_terminal_and_a_runner_get_text() {
    for sample_text in NASTY {
        let shown = text(&filled(sample_text), &TextOptions { files: true, ..TextOptions::default() });
        let bad = |c: char| {
            (c.is_control() && c != '\n')
                || ('\u{202a}'..='\u{202e}').contains(&c)
                || ('\u{2066}'..='\u{2069}').contains(&c)
        };
        assert!(!shown.contains(bad), "{sample_text:?}: {shown:?}");
        assert!(!shown.lines().any(|line| line.trim_start().starts_with("::")), "{sample_text:?}: {shown}");
        assert!(!shown.contains("##["), "{sample_text:?}: {shown}");
    }
}

/// One root with `creates` and `destroys` of storages, each with `attributes` values of a hostile kind.
fn large(creates: usize, destroys: usize, attributes: usize) -> Report {
    let mut report = sample("01-one-tag.json");
    let root: &mut RootReport = report.roots.first_mut().expect("a root");
    root.changes.clear();
    for index in 0..creates + destroys {
        let action = if index < creates { Action::Create } else { Action::Delete };
        let values = (0..attributes).map(|n| AttributeChange {
            path: format!("tags.t{n}"),
            before: Shown::Absent,
            after: Shown::Value(format!("`{}`💣|<b>@x", "x".repeat(n * 7 % 90))),
            forces_replacement: false,
            digest: None,
        });
        root.changes.push(Change {
            address: format!("module.storage_s{index:05}.aws_ebs_volume.this"),
            previous_address: None,
            deposed: None,
            mode: "managed".into(),
            kind: "aws_ebs_volume".into(),
            name: "this".into(),
            provider: String::new(),
            action,
            reason: None,
            importing: None,
            id: None,
            replace_paths: Vec::new(),
            attributes: values.collect(),
            attributes_left_out: 0,
            facts: std::collections::BTreeMap::new(),
        });
    }
    root.counts = Counts::of(&root.changes);
    report
}

#[test]
fn no_length_breaks_the_limit_or_drops_a_destroy() {
    for (creates, destroys, attributes) in
        [(0, 1, 0), (10, 3, 5), (300, 20, 12), (900, 200, 3), (50, 400, 30), (2000, 0, 1)]
    {
        let report = large(creates, destroys, attributes);
        for limit in [60_000, 40_000] {
            let comment = markdown(&report, &MarkdownOptions { limit, ..MarkdownOptions::default() });
            assert!(comment.len() <= limit, "{} bytes of {limit}", comment.len());
            for change in report.roots[0].changes.iter().filter(|c| c.action == Action::Delete) {
                assert!(
                    comment.contains(&change.address),
                    "{} is gone: {creates} {destroys} {attributes} {limit}",
                    change.address
                );
            }
            let seen = see(&comment);
            assert_eq!(seen.details.0, seen.details.1, "cut within a fold");
            assert!(seen.html.iter().all(|html| is_ours(html)), "cut within an entry");
        }
    }
}

#[test]
fn more_destroys_than_fit_are_counted() {
    let report = large(10, 5_000, 2);
    let comment = markdown(&report, &MarkdownOptions::default());
    assert!(comment.len() <= 60_000);
    let listed =
        report.roots[0].changes.iter().filter(|c| c.action == Action::Delete && comment.contains(&c.address)).count();
    let left = format!("{} destroyed in storage/volumes", csis_report::words::number((5_000 - listed) as u64));
    assert!(
        listed > 500 && comment.contains(&left),
        "{listed} listed, and no `{left}`:\n{}",
        &comment[comment.len() - 1500..]
    );
}

#[test]
fn every_limit_is_kept() {
    for name in ["04-destroy-to-confirm.json", "10-three-hundred.json", "11-hostile.json"] {
        let report = sample(name);
        for limit in [100, 500, 1_000, 2_500, 5_000, 9_000, 20_000, 60_000] {
            let comment = markdown(&report, &MarkdownOptions { limit, ..MarkdownOptions::default() });
            assert!(comment.len() <= limit, "{name}: {} bytes of {limit}", comment.len());
        }
    }
}

/// Read as another run's artifact is read: everything a sender can choose, chosen badly.
fn sent(text: &str, entries: usize) -> String {
    let mut value = serde_json::to_value(sample("11-hostile.json")).expect("a value");
    fill(&mut value, text, "");
    let fields = value.as_object_mut().expect("an object");
    fields["schema"] = 1.into();
    fields["verdict"] = "pass".into();
    fields["digest"] = text.into();
    for list in ["roots", "diagnostics", "drift", "bakes", "lineage", "sanctions", "emission"] {
        repeat(fields[list].as_array_mut().expect("a list"), entries);
    }
    for root in fields["roots"].as_array_mut().expect("roots") {
        root["status"] = "unchanged".into();
        root["digest"] = text.into();
        for finding in root["findings"].as_array_mut().expect("findings") {
            finding["weight"] = "confirm".into();
        }
        for count in root["counts"].as_object_mut().expect("counts").values_mut() {
            *count = u64::MAX.into();
        }
        for change in root["changes"].as_array_mut().expect("changes") {
            change["attributes_left_out"] = u64::MAX.into();
            change["facts"]["size"] = serde_json::json!({"shown": "value", "value": u64::MAX.to_string()});
            repeat(change["attributes"].as_array_mut().expect("attributes"), 60);
        }
    }
    value.to_string()
}

fn repeat(list: &mut Vec<serde_json::Value>, entries: usize) {
    let from = list.clone();
    while !from.is_empty() && list.len() < entries {
        list.extend(from.iter().take(entries - list.len()).cloned());
    }
}

#[test]
fn a_report_that_was_sent_is_bounded_and_inert_whatever_is_in_it() {
    let nasty = NASTY.concat() + "<!-- csis:comment v1 key=0 -->\n/csis apply 0\n\u{1b}]8;;http://evil.example\u{7}";
    let marker = nasty.repeat(2).replace('\n', "");
    let (wide, long) = ("💣\n".repeat(500), "x".repeat(1 << 12));
    for (text, entries) in
        [(nasty.as_str(), 60), (&marker, 3), (&wide, 3), (&long, 4), ("../../../evil/repo", 3), ("module.storage_a", 3)]
    {
        let sent = sent(text, entries);
        let plain: Report = serde_json::from_str(&sent).expect("what csis writes can be read");
        let read = csis_report::from_json(&sent).expect("a report");
        for report in [plain, read] {
            for limit in [60_000, 2_000] {
                let links = csis_report::markdown::Links { docs: None, source: Some("https://x.example/o/r".into()) };
                let comment = markdown(&report, &MarkdownOptions { limit, links, ..MarkdownOptions::default() });
                assert!(comment.len() <= limit, "{} bytes of {limit}", comment.len());
                let seen = see(&comment);
                assert!(seen.html.iter().all(|html| is_ours(html)) && seen.images == 0, "{comment}");
                let away = |link: &&String| !link.starts_with("https://x.example/o/r/") || link.contains("..");
                assert_eq!(seen.links.iter().find(away), None);
                assert!(!comment.contains("<!--") && !comment.contains('\u{1b}'), "{comment}");
                assert!(seen.text.iter().all(|piece| !notifies(piece)), "{comment}");
            }
            assert!(!text_of(&report).contains('\u{1b}'));
        }
    }
}

fn text_of(report: &Report) -> String {
    text(report, &TextOptions { files: true, ..TextOptions::default() })
}

#[test]
fn a_sender_cannot_make_a_change_look_lighter_than_its_entries() {
    let honest = sample("05-refused-destroy.json");
    let mut honest_again = honest.clone();
    digest::stamp(&mut honest_again, &honest.tree.id);
    let as_sent = serde_json::to_string(&honest_again).expect("JSON");
    assert_eq!(csis_report::from_json(&as_sent), Ok(honest_again.clone()), "an honest report comes back as it was");
    let mut lying = honest_again.clone();
    lying.verdict = csis_values::report::Outcome::Pass;
    lying.digest = "0".repeat(64);
    for root in &mut lying.roots {
        root.counts = Counts::default();
        root.status = csis_values::report::RootStatus::Unchanged;
        root.digest.clear();
    }
    let read = csis_report::from_json(serde_json::to_vec(&lying).expect("JSON")).expect("a report");
    assert_eq!(read, honest_again);
    lying.schema = 2;
    let why = csis_report::from_json(serde_json::to_string(&lying).expect("JSON")).expect_err("another schema");
    assert!(why.to_string().contains("schema 2"), "{why}");
}

#[test]
fn sizes_that_were_sent_are_added_up_without_end() {
    let mut report = sample("04-destroy-to-confirm.json");
    for change in report.roots.iter_mut().flat_map(|root| &mut root.changes) {
        change.attributes.clear();
        change.facts.insert("size".into(), Shown::Value(u64::MAX.to_string()));
    }
    let again = report.roots.clone();
    report.roots.extend(again);
    let first = markdown(&report, &MarkdownOptions::default()).lines().next().map(str::to_owned);
    assert!(first.as_ref().is_some_and(|line| line.contains("18014398509481984 TiB")), "{first:?}");
}

#[test]
fn what_is_too_much_is_not_read() {
    let report = sample("01-one-tag.json");
    let long = " ".repeat(9 << 20) + &serde_json::to_string(&report).expect("JSON");
    assert!(csis_report::from_json(&long).expect_err("long").to_string().contains("bytes"));
    let mut many = report;
    many.roots = std::iter::repeat_n(many.roots[0].clone(), 1_001).collect();
    let why = csis_report::from_json(serde_json::to_string(&many).expect("JSON")).expect_err("many").to_string();
    assert!(why.contains("1001 roots"), "{why}");
    for (document, says) in [("", "not a report"), ("[1]", "not a report"), ("{\"schema\":1}", "missing field")] {
        let why = csis_report::from_json(document).expect_err(document).to_string();
        assert!(why.contains(says), "{why}");
    }
    let deep = "[".repeat(100_000);
    assert!(csis_report::from_json(deep).is_err());
}
