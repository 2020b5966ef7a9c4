//! Launch scripts as values: literal shell text and template expressions kept apart, so that nobody's text becomes an expression.

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
    }
}
