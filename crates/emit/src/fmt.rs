//! HCL as the engine's own `fmt` leaves it: two spaces, `=` in one column over neighbouring single-line attributes, a blank line before each block.
//!
//! Only syntax trees are printed. Text of users reaches a file through [`crate::escape`] alone.

use crate::escape;
use hcl::expr::{Conditional, ForExpr, FuncCall, ObjectKey, Operation, TemplateExpr, Traversal, TraversalOperator};
use hcl::structure::{Block, Body, Structure};
use hcl::template::{Element, Template};
use hcl::{BlockLabel, Expression};

/// The widest line a list is kept on.
const WIDTH: usize = 100;

/// A file: comment lines at its head (without `#`), then the body. Ends with one newline.
pub fn file(head: &[String], body: &Body) -> String {
    let mut out = String::new();
    for line in head {
        out.push_str("# ");
        out.push_str(escape::comment(line).trim_end());
        out.push('\n');
    }
    if !head.is_empty() && !body.0.is_empty() {
        out.push('\n');
    }
    structures(body, 0, &mut out);
    out
}

fn pad(indent: usize, out: &mut String) {
    out.extend(std::iter::repeat_n(' ', indent));
}

fn structures(body: &Body, indent: usize, out: &mut String) {
    let mut members = Vec::new();
    let mut first = true;
    let flush = |members: &mut Vec<(String, String)>, first: &mut bool, out: &mut String| {
        if !members.is_empty() {
            if !*first {
                out.push('\n');
            }
            *first = false;
            aligned(members, indent, out);
            members.clear();
        }
    };
    for structure in body {
        match structure {
            Structure::Attribute(attribute) => {
                members.push((attribute.key.to_string(), expression(&attribute.expr, indent, false)));
            }
            Structure::Block(inner) => {
                flush(&mut members, &mut first, out);
                if !first {
                    out.push('\n');
                }
                first = false;
                block(inner, indent, out);
            }
        }
    }
    flush(&mut members, &mut first, out);
}

fn block(block: &Block, indent: usize, out: &mut String) {
    pad(indent, out);
    out.push_str(&block.identifier);
    for label in &block.labels {
        out.push(' ');
        out.push_str(&escape::quoted(match label {
            BlockLabel::Identifier(word) => word,
            BlockLabel::String(text) => text,
        }));
    }
    if block.body.0.is_empty() {
        out.push_str(" {}\n");
        return;
    }
    out.push_str(" {\n");
    structures(&block.body, indent + 2, out);
    pad(indent, out);
    out.push_str("}\n");
}

/// Members one per line; neighbours whose values keep to one line share the column of `=`.
fn aligned(members: &[(String, String)], indent: usize, out: &mut String) {
    let is_single = |value: &str| !value.contains('\n');
    let mut at = 0;
    while let Some((key, value)) = members.get(at) {
        if !is_single(value) {
            member(key, key.chars().count(), value, indent, out);
            at += 1;
            continue;
        }
        let run = members[at..].iter().take_while(|(_, v)| is_single(v)).count();
        let run = &members[at..at + run];
        let column = run.iter().map(|(k, _)| k.chars().count()).max().unwrap_or(0);
        for (key, value) in run {
            member(key, column, value, indent, out);
        }
        at += run.len();
    }
}

fn member(key: &str, column: usize, value: &str, indent: usize, out: &mut String) {
    pad(indent, out);
    out.push_str(key);
    pad(column - key.chars().count(), out);
    out.push_str(" = ");
    out.push_str(value);
    out.push('\n');
}

/// An expression; `inline` keeps it on one line.
fn expression(expr: &Expression, indent: usize, inline: bool) -> String {
    match expr {
        Expression::Null => "null".to_owned(),
        Expression::Bool(value) => value.to_string(),
        Expression::Number(number) => number.to_string(),
        Expression::String(text) => escape::quoted(text),
        Expression::Array(items) => array(items, indent, inline),
        Expression::Object(members) => {
            let members: Vec<_> =
                members.iter().map(|(k, v)| (object_key(k), expression(v, indent + 2, inline))).collect();
            object(&members, indent, inline)
        }
        Expression::TemplateExpr(template) => quoted_template(template),
        Expression::Variable(variable) => variable.to_string(),
        Expression::Traversal(traversal) => path(traversal),
        Expression::FuncCall(call) => function(call, indent, inline),
        Expression::Parenthesis(inner) => format!("({})", expression(inner, indent, true)),
        Expression::Conditional(conditional) => choice(conditional),
        Expression::Operation(operation) => operator(operation),
        Expression::ForExpr(each) => projection(each),
        // The syntax tree may grow; what it prints itself is valid, if not aligned.
        other => other.to_string(),
    }
}

fn array(items: &[Expression], indent: usize, inline: bool) -> String {
    let flat = || format!("[{}]", items.iter().map(|i| expression(i, indent, true)).collect::<Vec<_>>().join(", "));
    if inline || items.is_empty() {
        return flat();
    }
    let lines: Vec<_> = items.iter().map(|i| expression(i, indent + 2, false)).collect();
    if lines.iter().all(|line| !line.contains('\n')) {
        let flat = flat();
        if indent + flat.chars().count() <= WIDTH {
            return flat;
        }
    }
    let mut out = "[\n".to_owned();
    for line in lines {
        pad(indent + 2, &mut out);
        out.push_str(&line);
        out.push_str(",\n");
    }
    pad(indent, &mut out);
    out.push(']');
    out
}

fn object(members: &[(String, String)], indent: usize, inline: bool) -> String {
    if members.is_empty() {
        return "{}".to_owned();
    }
    if inline {
        return format!("{{ {} }}", members.iter().map(|(k, v)| format!("{k} = {v}")).collect::<Vec<_>>().join(", "));
    }
    let mut out = "{\n".to_owned();
    aligned(members, indent + 2, &mut out);
    pad(indent, &mut out);
    out.push('}');
    out
}

fn object_key(key: &ObjectKey) -> String {
    match key {
        ObjectKey::Identifier(word) => word.to_string(),
        ObjectKey::Expression(Expression::String(text)) => escape::key(text),
        ObjectKey::Expression(expr @ Expression::Parenthesis(_)) => expression(expr, 0, true),
        ObjectKey::Expression(expr) => format!("({})", expression(expr, 0, true)),
        other => other.to_string(),
    }
}

fn path(traversal: &Traversal) -> String {
    let mut out = expression(&traversal.expr, 0, true);
    for step in &traversal.operators {
        match step {
            TraversalOperator::AttrSplat => out.push_str(".*"),
            TraversalOperator::FullSplat => out.push_str("[*]"),
            TraversalOperator::GetAttr(name) => {
                out.push('.');
                out.push_str(name);
            }
            TraversalOperator::LegacyIndex(index) => {
                out.push('.');
                out.push_str(&index.to_string());
            }
            TraversalOperator::Index(index) => {
                out.push('[');
                out.push_str(&expression(index, 0, true));
                out.push(']');
            }
        }
    }
    out
}

/// Only the last argument may open lines of its own.
fn function(call: &FuncCall, indent: usize, inline: bool) -> String {
    let last = call.args.len().saturating_sub(1);
    let args: Vec<_> = call.args.iter().enumerate().map(|(i, a)| expression(a, indent, inline || i != last)).collect();
    let name =
        call.name.namespace.iter().chain([&call.name.name]).map(hcl::Identifier::as_str).collect::<Vec<_>>().join("::");
    format!("{name}({}{})", args.join(", "), if call.expand_final { "..." } else { "" })
}

fn choice(conditional: &Conditional) -> String {
    let [condition, yes, no] =
        [&conditional.cond_expr, &conditional.true_expr, &conditional.false_expr].map(|e| expression(e, 0, true));
    format!("{condition} ? {yes} : {no}")
}

fn operator(operation: &Operation) -> String {
    match operation {
        Operation::Unary(unary) => format!("{}{}", unary.operator.as_str(), expression(&unary.expr, 0, true)),
        Operation::Binary(binary) => {
            format!(
                "{} {} {}",
                expression(&binary.lhs_expr, 0, true),
                binary.operator.as_str(),
                expression(&binary.rhs_expr, 0, true)
            )
        }
    }
}

fn projection(each: &ForExpr) -> String {
    let flat = |e: &Expression| expression(e, 0, true);
    let key = each.key_var.as_ref().map(|k| format!("{k}, ")).unwrap_or_default();
    let condition = each.cond_expr.as_ref().map(|c| format!(" if {}", flat(c))).unwrap_or_default();
    let value = flat(&each.value_expr);
    let head = format!("for {key}{} in {}", each.value_var, flat(&each.collection_expr));
    match &each.key_expr {
        Some(result) => {
            let grouping = if each.grouping { "..." } else { "" };
            format!("{{ {head} : {} => {value}{grouping}{condition} }}", flat(result))
        }
        None => format!("[{head} : {value}{condition}]"),
    }
}

/// A template between quotes, whatever form it had. One that cannot be read is text.
fn quoted_template(template: &TemplateExpr) -> String {
    let Ok(parsed) = Template::from_expr(template) else { return escape::quoted(&template.to_string()) };
    let mut out = String::from("\"");
    for element in parsed.elements() {
        match element {
            Element::Literal(text) => escape::literal(text, &mut out),
            Element::Interpolation(part) => {
                let strip = |yes: bool| if yes { "~" } else { "" };
                out.push_str("${");
                out.push_str(strip(part.strip.strip_start()));
                out.push_str(&expression(&part.expr, 0, true));
                out.push_str(strip(part.strip.strip_end()));
                out.push('}');
            }
            directive @ Element::Directive(_) => {
                let single = Template::from_iter([directive.clone()]);
                out.push_str(
                    &hcl::format::to_string(&single).unwrap_or_default().replace('\n', "\\n").replace('"', "\\\""),
                );
            }
        }
    }
    out.push('"');
    out
}
