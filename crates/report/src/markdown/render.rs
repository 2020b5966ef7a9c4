//! The document's pieces in GitHub's Markdown.

use super::Links;
use crate::document::{Block, Column, DiffLine, Edge, Form, Line, Mark, Section, Span, Tone};
use crate::{inert, words};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Edges drawn in one picture.
const EDGES: usize = 60;

/// A line of Markdown, in a table's cell too.
pub fn inline(line: &Line, links: &Links) -> String {
    line.0.iter().map(|span| self::span(span, links)).collect()
}

fn span(span: &Span, links: &Links) -> String {
    match span {
        Span::Plain(words) => words.to_string(),
        Span::Prose(text) => inert::markdown_prose(text),
        Span::Code(text) => inert::markdown_code(text),
        Span::Strong(line) => format!("**{}**", inline(&line.clone().weak(), links)),
        Span::Rule(id) => {
            let name = inert::markdown_code(id);
            match &links.docs {
                Some(docs) => format!("[{name}]({docs}/gate.md#{})", inert::url_path(id)),
                None => name,
            }
        }
        Span::Place { place, column } => {
            let name = inert::markdown_code(&words::place(place, *column));
            match links.source.as_ref().filter(|_| is_below(&place.file)) {
                Some(source) => format!("[{name}]({source}/{}#L{})", inert::url_path(&place.file), place.line),
                None => name,
            }
        }
    }
}

/// Whether a path stays below the folder it is added to.
fn is_below(path: &str) -> bool {
    !path.split(['/', '\\']).any(|part| matches!(part, "" | "." | ".."))
}

/// A line within HTML.
fn html(line: &Line) -> String {
    line.0
        .iter()
        .map(|span| match span {
            Span::Plain(words) => words.to_string(),
            Span::Prose(text) => inert::html_prose(text),
            Span::Code(text) | Span::Rule(text) => inert::html_code(text),
            Span::Strong(line) => format!("<b>{}</b>", html(&line.clone().weak())),
            Span::Place { place, column } => inert::html_code(&words::place(place, *column)),
        })
        .collect()
}

/// What stands before a section's units.
pub fn open(section: &Section, links: &Links) -> String {
    match &section.form {
        Form::Plain => format!("#### {}\n\n", inline(&section.title, links)),
        Form::Table(columns) => format!("#### {}\n\n{}", inline(&section.title, links), table_head(columns)),
        Form::Notice(tone) => format!("> [!{}]\n> **{}**\n>\n", alert(*tone), inline(&section.title, links)),
        Form::Fold => format!("<details><summary>{}</summary>\n\n", html(&section.title)),
    }
}

pub fn close(section: &Section) -> &'static str {
    match section.form {
        Form::Fold => "\n</details>\n\n",
        _ => "\n",
    }
}

fn alert(tone: Tone) -> &'static str {
    match tone {
        Tone::Caution => "CAUTION",
        Tone::Warning => "WARNING",
        Tone::Important => "IMPORTANT",
        Tone::Note => "NOTE",
    }
}

fn table_head(columns: &[Column]) -> String {
    let mut out = String::from("|");
    for column in columns {
        let _ = write!(out, " {} |", column.title);
    }
    out.push_str("\n|");
    for column in columns {
        out.push_str(if column.right { " ---: |" } else { " --- |" });
    }
    out.push('\n');
    out
}

/// A line of its own below a section's units.
pub fn remark(section: &Section, line: &Line, links: &Links) -> String {
    match section.form {
        Form::Notice(_) => format!(">\n> {}\n", inline(line, links)),
        _ => format!("\n{}\n", inline(line, links)),
    }
}

/// A unit's block, ended by a newline.
pub fn block(form: &Form, block: &Block, links: &Links) -> String {
    match block {
        Block::Paragraph(line) => format!("{}\n\n", inline(line, links)),
        Block::Item { line, under } => {
            let edge = if matches!(form, Form::Notice(_)) { "> " } else { "" };
            let mut out = format!("{edge}- {}", inline(line, links));
            for line in under {
                let _ = write!(out, "\\\n{edge}  {}", inline(line, links));
            }
            out.push('\n');
            out
        }
        Block::Row(cells) => {
            let mut out = String::from("|");
            for cell in cells {
                let _ = write!(out, " {} |", inline(cell, links));
            }
            out.push('\n');
            out
        }
        Block::Diff { title, lines } => {
            let mut out = if title.is_empty() { String::new() } else { format!("{}\n\n", inline(title, links)) };
            out.push_str(&diff(lines));
            out
        }
        Block::Picture { edges } => picture(edges),
    }
}

fn diff(lines: &[DiffLine]) -> String {
    let lines: Vec<String> = lines
        .iter()
        .map(|line| {
            // Nothing in a fence can be written by number, and there are bots that look for their marker in a comment's whole text.
            let text = inert::one_line(&line.text, 400).replace("<!--", "<! --");
            match line.mark {
                Mark::Head => format!("@@ {text} @@"),
                Mark::Same if text.is_empty() => String::new(),
                mark => format!("{} {text}", mark.sign()),
            }
        })
        .collect();
    let fence = inert::fence(&lines);
    format!("{fence}diff\n{}\n{fence}\n\n", lines.join("\n"))
}

/// Parents above children; what bakes is filled.
fn picture(edges: &[Edge]) -> String {
    let mut ids: BTreeMap<&str, usize> = BTreeMap::new();
    let mut body = String::new();
    for (parent, child, _) in edges.iter().take(EDGES) {
        for name in [parent, child] {
            if !ids.contains_key(name.as_str()) {
                let id = ids.len();
                ids.insert(name, id);
                let _ = writeln!(body, "  n{id}[\"{}\"]", inert::mermaid(name));
            }
        }
        let _ = writeln!(body, "  n{} --> n{}", ids[parent.as_str()], ids[child.as_str()]);
    }
    let mut due: Vec<usize> = edges.iter().take(EDGES).filter(|edge| edge.2).map(|edge| ids[edge.1.as_str()]).collect();
    due.sort_unstable();
    due.dedup();
    if !due.is_empty() {
        let names = due.iter().map(|id| format!("n{id}")).collect::<Vec<_>>().join(",");
        let _ = write!(body, "  classDef bakes fill:#fff8c5,stroke:#9a6700,color:#1f2328\n  class {names} bakes\n");
    }
    let mut out = format!("```mermaid\ngraph LR\n{body}```\n\n");
    if edges.len() > EDGES {
        let _ = writeln!(out, "{}\n", words::edges_left_out((edges.len() - EDGES) as u64));
    }
    out
}
