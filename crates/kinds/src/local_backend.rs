//! State in a directory.

use crate::ast::text;
use crate::family::{Kind, StateKind};
use csis_values::fields::{Field, Shape};
use csis_values::tree::Builder;
use csis_values::{Class, Diagnostic, Diagnostics};
use hcl::Expression;

pub struct Local;

const FIELDS: &[Field] = &[Field::new(
    "path",
    Shape::Text,
    "The directory of the state files, absolute or relative to the configuration root.",
)
.default("state")];

impl Kind for Local {
    fn name(&self) -> &'static str {
        "local"
    }

    fn class(&self) -> Class {
        Class::StateBackend
    }

    fn fields(&self) -> &'static [Field] {
        FIELDS
    }

    fn check(&self, builder: &Builder, found: &mut Diagnostics) {
        let Some(written) = builder.fields.text("path") else { return };
        let Err(fault) = directory(written) else { return };
        found.push(
            Diagnostic::error(
                "backend-path",
                format!("state backend `{}` has {fault} as its `path`: `{written}`", builder.name),
            )
            .at(builder.fields.place("path"))
            .help("name a directory, e.g. `state`, without `.` and `..` segments"),
        );
    }
}

/// The directory without `./`, doubled and trailing slashes; `.` is the configuration root. The error says what it is instead.
fn directory(written: &str) -> Result<String, &'static str> {
    let written = written.trim();
    if written.is_empty() {
        return Err("a blank text");
    }
    if written.trim_end_matches('/').is_empty() {
        return Err("the root of the file system");
    }
    let absolute = written.starts_with('/');
    let plain = if written == "." || written == "./" { "." } else { written.trim_start_matches("./") };
    let segments: Vec<&str> = plain.split('/').filter(|s| !s.is_empty()).collect();
    if segments == ["."] && !absolute {
        return Ok(".".into());
    }
    if segments.iter().any(|s| matches!(*s, "." | "..")) {
        return Err("a path with a `.` or `..` segment");
    }
    Ok(format!("{}{}", if absolute { "/" } else { "" }, segments.join("/")))
}

fn declared(backend: &Builder) -> String {
    directory(backend.fields.text("path").unwrap_or("state")).unwrap_or_else(|_| "state".into())
}

/// As a root names it: roots lie four levels below the configuration root.
fn settings(backend: &Builder, ws: &str) -> Vec<(String, Expression)> {
    let directory = declared(backend);
    let file = if directory.starts_with('/') {
        format!("{directory}/{ws}.tfstate")
    } else if directory == "." {
        format!("../../../../{ws}.tfstate")
    } else {
        format!("../../../../{directory}/{ws}.tfstate")
    };
    vec![("path".into(), text(file))]
}

impl StateKind for Local {
    fn backend(&self) -> &'static str {
        "local"
    }

    fn location(&self, backend: &Builder, ws: &str) -> String {
        match declared(backend).as_str() {
            "." => format!("local://{ws}.tfstate"),
            directory => format!("local://{directory}/{ws}.tfstate"),
        }
    }

    fn settings(&self, backend: &Builder, ws: &str) -> Vec<(String, Expression)> {
        settings(backend, ws)
    }

    fn remote_state(&self, backend: &Builder, ws: &str) -> Vec<(String, Expression)> {
        settings(backend, ws)
    }
}
