//! Printing against the real engine: its `fmt` has nothing to say, and it reads back the values that were printed.

#![allow(clippy::unwrap_used, clippy::print_stderr)]

use crate::fmt::file;
use hcl::expr::{Conditional, ForExpr, FuncCall, Heredoc, HeredocStripMode, TemplateExpr, Traversal, Variable};
use hcl::structure::{Attribute, Block, Body};
use hcl::{Expression, Identifier, Object};
use std::path::Path;
use std::process::Command;

const HOSTILE: &[&str] = &[
    "",
    "plain",
    "say \"hi\"",
    "back\\slash \\n \\u0041 \\",
    "two\nlines\r\nand\ttab",
    "${var.secret}",
    "$${kept}",
    "$$${x} $$$${y}",
    "%{ if true }x%{ endif } 100% %%{z} %%%{w}",
    "$ { } % { ${",
    "$%{a} %${b}",
    "data.science",
    "var.x",
    "<<EOT\nx\nEOT",
    "# no comment // nor this /* nor that */",
    "größe 漢字 😀 👩\u{200d}🚀 e\u{301} \u{202e}desrever\u{feff}\u{0}\u{7}\u{7f}\u{85}",
    "\"]}\n}\nresource \"x\" \"y\" {}",
];

fn engine() -> Option<&'static str> {
    ["tofu", "terraform"]
        .into_iter()
        .find(|name| Command::new(name).arg("version").env("CHECKPOINT_DISABLE", "1").output().is_ok())
}

fn run(binary: &str, folder: &Path, args: &[&str]) -> (bool, String) {
    std::fs::write(folder.join("none.tfrc"), "").unwrap();
    let output = Command::new(binary)
        .args(args)
        .current_dir(folder)
        .env("CHECKPOINT_DISABLE", "1")
        .env("TF_IN_AUTOMATION", "1")
        .env("TF_CLI_CONFIG_FILE", folder.join("none.tfrc"))
        .output()
        .unwrap();
    (
        output.status.success(),
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr)),
    )
}

fn hostile_body() -> Body {
    let strings: Expression = HOSTILE.iter().map(|t| Expression::from(*t)).collect::<Vec<_>>().into();
    let keys: Object<hcl::ObjectKey, Expression> = HOSTILE
        .iter()
        .enumerate()
        .map(|(i, t)| (hcl::ObjectKey::Expression(Expression::from(*t)), Expression::from(i)))
        .collect();
    let output = |name: &str, value: Expression| {
        Block::builder("output").add_label(name).add_attribute(("value", value)).build()
    };
    Body::from_iter([output("strings", strings), output("keys", Expression::Object(keys))])
}

fn identifier(name: &str) -> Identifier {
    Identifier::new(name).unwrap()
}

/// Something of every form of the syntax tree.
fn every_form() -> Body {
    let variable = |name: &str| Expression::from(Variable::new(name).unwrap());
    let path =
        Expression::from(Traversal::builder(variable("var")).attr("a").index("k\"${x}").attr("b").index(0).build());
    let nested: Object<hcl::ObjectKey, Expression> = [
        ("a", Expression::from(1)),
        ("a longer key", Expression::from(1.5)),
        ("größe", Expression::from(true)),
        ("👩‍🚀", Expression::from("x")),
        (
            "inner",
            Expression::Object([(hcl::ObjectKey::from(identifier("z")), Expression::Null)].into_iter().collect()),
        ),
        ("after", Expression::Array(vec![])),
    ]
    .into_iter()
    .map(|(k, v)| (hcl::ObjectKey::Expression(Expression::from(k)), v))
    .collect();
    let call = FuncCall::builder(identifier("templatefile"))
        .arg(TemplateExpr::from("${path.module}/x \"${var.y}\" $${literal} 100%"))
        .arg(Expression::Object(nested.clone()))
        .build();
    let choice = Conditional::new(path.clone(), Expression::Object(nested.clone()), Expression::Object(Object::new()));
    let mut heredoc = Heredoc::new(identifier("EOT"), "a \"b\" ${path.module}\n  c\n");
    heredoc.strip = HeredocStripMode::Indent;
    let each = ForExpr::new(identifier("v"), path.clone(), variable("v"))
        .with_key_var(identifier("k"))
        .with_key_expr(variable("k"));
    let list = ForExpr::new(identifier("v"), path.clone(), variable("v")).with_cond_expr(Expression::Bool(true));
    let many: Vec<Expression> = (0..40).map(|i| Expression::from(format!("element-{i}"))).collect();
    let inner = Block::builder("lifecycle").add_attribute(("create_before_destroy", true)).build();
    let block = Block::builder("resource")
        .add_label("a")
        .add_label("b")
        .add_attribute(("first", 1))
        .add_attribute(("much_longer", call))
        .add_attribute(("x", choice))
        .add_attribute(("yy", path))
        .add_attribute(("text", Expression::from(TemplateExpr::from(heredoc))))
        .add_block(inner.clone())
        .add_attribute(("z", Expression::from(each)))
        .add_attribute(("lists", Expression::from(list)))
        .add_attribute(("many", many))
        .add_attribute(("objects", Expression::Array(vec![Expression::Object(nested)])))
        .add_block(Block::builder("backend").add_label("s3").build())
        .add_block(inner)
        .build();
    Body::builder().add_attribute(Attribute::new("top", "x")).add_block(block.clone()).add_block(block).build()
}

#[test]
fn the_engine_finds_nothing_to_format() {
    let Some(engine) = engine() else { return eprintln!("no tofu or terraform on PATH: not judged") };
    let folder = tempfile::tempdir().unwrap();
    let head = ["what this is\nand \u{202e}more".to_owned(), String::new()];
    std::fs::write(folder.path().join("hostile.tf"), file(&head, &hostile_body())).unwrap();
    std::fs::write(folder.path().join("forms.tf"), file(&[], &every_form())).unwrap();
    let (ok, said) = run(engine, folder.path(), &["fmt", "-check", "-diff"]);
    assert!(ok, "{said}");
}

#[test]
fn the_engine_reads_back_what_was_printed() {
    let Some(engine) = engine() else { return eprintln!("no tofu or terraform on PATH: not judged") };
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("main.tf"), file(&[], &hostile_body())).unwrap();
    let (ok, said) = run(engine, folder.path(), &["apply", "-auto-approve", "-input=false"]);
    assert!(ok, "{said}");
    let (_, state) = run(engine, folder.path(), &["output", "-json"]);
    let outputs: serde_json::Value = serde_json::from_str(&state).unwrap();
    // The engine composes characters (NFC), which changes one of the texts and nothing else.
    let composed = |t: &str| t.replace("e\u{301}", "é");
    let strings: Vec<String> = serde_json::from_value(outputs["strings"]["value"].clone()).unwrap();
    assert_eq!(strings, HOSTILE.iter().map(|t| composed(t)).collect::<Vec<_>>());
    for (i, text) in HOSTILE.iter().enumerate() {
        assert_eq!(outputs["keys"]["value"][composed(text)], i, "{text:?}");
    }
}

#[test]
fn parsing_gives_the_same_tree() {
    let text = file(&["head".to_owned()], &hostile_body());
    assert_eq!(hcl::parse(&text).unwrap(), hostile_body(), "{text}");
}
