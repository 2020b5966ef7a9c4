//! Launch scripts as values: literal shell text and template expressions kept apart, so that nobody's text becomes an expression.

use std::fmt::Write;

/// A shell script that the engine renders as a template.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Script {
    text: String,
}

impl Script {
    pub fn new() -> Self {
        Script::default()
    }

    /// A line of shell as it shall stand on the machine; template sequences in it are escaped.
    pub fn line(&mut self, shell: &str) {
        self.text.push_str(&escape(shell));
        self.text.push('\n');
    }

    /// Text of any number of lines, taken literally; a last line end is added when there is none.
    pub fn literal(&mut self, text: &str) {
        self.text.push_str(&escape(text));
        if !text.ends_with('\n') {
            self.text.push('\n');
        }
    }

    /// A line `<name>="<value of the template variable>"`; `expression` is ours, never a user's.
    pub fn assign(&mut self, name: &str, expression: &str) {
        self.text.push_str(&escape(name));
        self.text.push_str("=\"${");
        self.text.push_str(expression);
        self.text.push_str("}\"\n");
    }

    /// The template's text, ending with a newline.
    pub fn into_template(self) -> String {
        self.text
    }
}

/// Doubles what would open an interpolation or a directive.
pub fn escape(text: &str) -> String {
    text.replace("${", "$${").replace("%{", "%%{")
}

/// One word for the shell, whatever it holds.
pub fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// The template expression `section["key"].member`, whatever the key holds.
pub fn index(section: &str, key: &str, member: &str) -> String {
    let key = escape(&key.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n").replace('\r', "\\r"));
    format!("{section}[\"{key}\"].{member}")
}

/// A path as a field of fstab, where spaces and backslashes have octal codes.
pub fn fstab_field(path: &str) -> String {
    path.chars().fold(String::with_capacity(path.len()), |mut field, c| {
        match c {
            ' ' | '\t' | '\n' | '\\' => {
                let _ = write!(field, "\\{:03o}", u32::from(c));
            }
            _ => field.push(c),
        }
        field
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_stays_text() {
        let mut script = Script::new();
        script.line("echo ${USER} %{ if x } 100%");
        script.assign("GID", "group_gid");
        assert_eq!(script.into_template(), "echo $${USER} %%{ if x } 100%\nGID=\"${group_gid}\"\n");
        assert_eq!(quote("it's"), r"'it'\''s'");
        assert_eq!(fstab_field("/mnt/a b"), "/mnt/a\\040b");
        assert_eq!(index("ebs", "a\"${x}", "id"), "ebs[\"a\\\"$${x}\"].id");
    }
}
