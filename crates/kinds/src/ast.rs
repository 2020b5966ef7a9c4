//! Short forms for building HCL. Texts become string expressions, which the printer escapes; nothing here takes HCL as text.

use hcl::expr::{FuncCall, ObjectKey, TemplateExpr, Traversal, Variable};
use hcl::structure::Structure;
use hcl::{Attribute, Block, Body, Expression, Identifier};
use std::collections::BTreeMap;

/// A name as an HCL identifier: the label, with `_` before a leading digit.
pub fn identifier(label: &str) -> Identifier {
    let lead = if label.starts_with(|c: char| c.is_ascii_digit()) { "_" } else { "" };
    Identifier::sanitized(format!("{lead}{label}"))
}

/// `root.step.step…`, each step a name.
pub fn path(root: &str, steps: &[&str]) -> Expression {
    let start = Expression::Variable(Variable::from(Identifier::sanitized(root)));
    let mut traversal = Traversal::builder(start);
    for step in steps {
        traversal = traversal.attr(identifier(step));
    }
    traversal.build().into()
}

/// `<of>["key"]`.
pub fn index(of: Expression, key: &str) -> Expression {
    Traversal::builder(of).index(Expression::from(key)).build().into()
}

/// `<of>.name`.
pub fn attr(of: Expression, name: &str) -> Expression {
    Traversal::builder(of).attr(identifier(name)).build().into()
}

/// A literal text, whatever it holds.
pub fn text(value: impl Into<String>) -> Expression {
    Expression::String(value.into())
}

pub fn texts<T: Into<String>>(values: impl IntoIterator<Item = T>) -> Expression {
    Expression::Array(values.into_iter().map(text).collect())
}

/// An object with quoted keys, in the order given.
pub fn object<K: Into<String>>(entries: impl IntoIterator<Item = (K, Expression)>) -> Expression {
    Expression::Object(entries.into_iter().map(|(key, value)| (ObjectKey::Expression(text(key)), value)).collect())
}

pub fn text_map(map: &BTreeMap<String, String>) -> Expression {
    object(map.iter().map(|(key, value)| (key.clone(), text(value.clone()))))
}

/// A call of `templatefile` on a file beside the root's own files.
pub fn template_file(file: &str, variables: Expression) -> Expression {
    let quoted = file.replace('\\', "\\\\").replace('"', "\\\"").replace("${", "$${").replace("%{", "%%{");
    let beside = TemplateExpr::QuotedString(format!("${{path.module}}/{quoted}"));
    FuncCall::builder("templatefile").arg(Expression::from(beside)).arg(variables).build().into()
}

pub fn block(name: &str, labels: &[&str], body: Vec<Structure>) -> Block {
    let mut built = Block::builder(Identifier::sanitized(name));
    for label in labels {
        built = built.add_label(*label);
    }
    built.add_structures(body).build()
}

pub fn set(name: &str, value: impl Into<Expression>) -> Structure {
    Attribute::new(Identifier::sanitized(name), value.into()).into()
}

pub fn sets(arguments: Vec<(String, Expression)>) -> Vec<Structure> {
    arguments.into_iter().map(|(name, value)| set(&name, value)).collect()
}

pub fn body(structures: Vec<Structure>) -> Body {
    Body(structures)
}
