//! A GraphQL document, read just far enough: one operation, its fields, arguments and selections.

use serde_json::{Map, Value};

/// An operation with its variables filled in.
#[derive(Debug)]
pub(crate) struct Document {
    pub mutation: bool,
    pub fields: Vec<Field>,
}

#[derive(Debug)]
pub(crate) struct Field {
    pub alias: String,
    pub name: String,
    pub arguments: Map<String, Value>,
    pub fields: Vec<Field>,
    pub line: usize,
    pub column: usize,
}

/// Reads a document. The error is a sentence for the caller.
pub(crate) fn parse(text: &str, variables: &Map<String, Value>) -> Result<Document, String> {
    let mut reader = Reader { tokens: lex(text)?, at: 0, variables };
    let mutation = match reader.peek() {
        Some("{" | "query") => false,
        Some("mutation") => true,
        other => return Err(reader.unexpected(other)),
    };
    // The operation's name and the types of its variables say nothing that is needed here.
    while reader.peek().is_some_and(|token| token != "{") {
        if reader.next() == "(" {
            reader.skip_parentheses()?;
        }
    }
    let fields = reader.selection()?;
    match reader.peek() {
        None => Ok(Document { mutation, fields }),
        other => Err(reader.unexpected(other)),
    }
}

struct Token {
    text: String,
    line: usize,
    column: usize,
}

fn lex(text: &str) -> Result<Vec<Token>, String> {
    let mut tokens = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let characters: Vec<char> = line.chars().collect();
        let mut at = 0;
        while let Some(&first) = characters.get(at) {
            let begin = at;
            at += 1;
            match first {
                '#' => break,
                ',' | ' ' | '\t' | '\r' => continue,
                '"' => loop {
                    match characters.get(at) {
                        Some('\\') => at += 2,
                        Some('"') => break at += 1,
                        Some(_) => at += 1,
                        None => return Err(format!("Unterminated string at [{}, {}]", number + 1, begin + 1)),
                    }
                },
                '.' if characters.get(begin..begin + 3) == Some(&['.', '.', '.']) => at = begin + 3,
                first if word(first) || first == '-' => {
                    while characters.get(at).is_some_and(|next| word(*next)) {
                        at += 1;
                    }
                }
                _ => {}
            }
            let text = characters[begin..at].iter().collect();
            tokens.push(Token { text, line: number + 1, column: begin + 1 });
        }
    }
    Ok(tokens)
}

fn word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

struct Reader<'a> {
    tokens: Vec<Token>,
    at: usize,
    variables: &'a Map<String, Value>,
}

impl Reader<'_> {
    fn peek(&self) -> Option<&str> {
        self.tokens.get(self.at).map(|token| token.text.as_str())
    }

    fn next(&mut self) -> String {
        self.at += 1;
        self.tokens.get(self.at - 1).map(|token| token.text.clone()).unwrap_or_default()
    }

    fn expect(&mut self, text: &str) -> Result<(), String> {
        if self.peek() == Some(text) {
            self.at += 1;
            return Ok(());
        }
        Err(self.unexpected(self.peek()))
    }

    fn unexpected(&self, found: Option<&str>) -> String {
        match (found, self.tokens.get(self.at)) {
            (Some(found), Some(token)) => {
                format!("Expected a name or a selection, actual: {found:?} at [{}, {}]", token.line, token.column)
            }
            _ => "Unexpected end of document".to_owned(),
        }
    }

    fn skip_parentheses(&mut self) -> Result<(), String> {
        let mut open = 1;
        while open > 0 {
            match self.next().as_str() {
                "(" => open += 1,
                ")" => open -= 1,
                "" => return Err(self.unexpected(None)),
                _ => {}
            }
        }
        Ok(())
    }

    fn selection(&mut self) -> Result<Vec<Field>, String> {
        self.expect("{")?;
        let mut fields = Vec::new();
        while self.peek() != Some("}") {
            if self.peek() == Some("...") {
                // `... on Type { … }`: its fields stand for the selection's own.
                self.at += 1;
                if self.peek() == Some("on") {
                    self.at += 2;
                }
                fields.extend(self.selection()?);
            } else {
                fields.push(self.field()?);
            }
        }
        self.expect("}")?;
        Ok(fields)
    }

    fn field(&mut self) -> Result<Field, String> {
        let Some(token) = self.tokens.get(self.at) else { return Err(self.unexpected(None)) };
        let (line, column) = (token.line, token.column);
        if !token.text.starts_with(word) {
            return Err(self.unexpected(self.peek()));
        }
        let alias = self.next();
        let mut name = alias.clone();
        if self.peek() == Some(":") {
            self.at += 1;
            name = self.next();
        }
        let mut arguments = Map::new();
        if self.peek() == Some("(") {
            self.at += 1;
            while self.peek() != Some(")") {
                let argument = self.next();
                self.expect(":")?;
                arguments.insert(argument, self.value()?);
            }
            self.at += 1;
        }
        let fields = if self.peek() == Some("{") { self.selection()? } else { Vec::new() };
        Ok(Field { alias, name, arguments, fields, line, column })
    }

    fn value(&mut self) -> Result<Value, String> {
        let token = self.next();
        Ok(match token.as_str() {
            "" => return Err(self.unexpected(None)),
            "$" => self.variables.get(&self.next()).cloned().unwrap_or(Value::Null),
            "{" => {
                let mut map = Map::new();
                while self.peek() != Some("}") {
                    let name = self.next();
                    self.expect(":")?;
                    map.insert(name, self.value()?);
                }
                self.at += 1;
                Value::Object(map)
            }
            "[" => {
                let mut list = Vec::new();
                while self.peek() != Some("]") {
                    list.push(self.value()?);
                }
                self.at += 1;
                Value::Array(list)
            }
            // Strings, numbers and words of JSON are themselves; another word is a member of an enumeration.
            other => serde_json::from_str(other).unwrap_or_else(|_| Value::String(other.to_owned())),
        })
    }
}
