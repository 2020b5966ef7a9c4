//! What a plain scalar means, by the rules of YAML 1.1.
//!
//! Trees are written for readers of YAML 1.1: `yes` is a boolean and `0644` is octal. The source text of a number is kept, because a field that holds text
//! takes the text (`24.10`, `0644`) and not the number.

use csis_values::Value;

/// The value of a plain (unquoted) scalar.
pub fn resolve(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Value::Null,
        "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => return Value::Bool(true),
        "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => return Value::Bool(false),
        _ => {}
    }
    if !text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.')) {
        return Value::Text(text.to_owned());
    }
    if let Some(number) = integer(text) {
        return Value::Int(number, text.to_owned());
    }
    if let Some(number) = float(text) {
        return Value::Float(number, text.to_owned());
    }
    Value::Text(text.to_owned())
}

fn sign(text: &str) -> (bool, &str) {
    match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    }
}

/// An integer; none also when it does not fit 64 bits (it stays text then, which is what an account number needs).
fn integer(text: &str) -> Option<i64> {
    let (negative, body) = sign(text);
    let magnitude = if let Some(digits) = body.strip_prefix("0b") {
        radix(digits, 2)?
    } else if let Some(digits) = body.strip_prefix("0x") {
        radix(digits, 16)?
    } else if let Some(digits) = body.strip_prefix("0o") {
        radix(digits, 8)?
    } else if body == "0" {
        0
    } else if body.contains(':') {
        sexagesimal(body)?
    } else if let Some(digits) = body.strip_prefix('0') {
        radix(digits, 8)?
    } else {
        radix(body, 10)?
    };
    if negative { magnitude.checked_neg() } else { Some(magnitude) }
}

fn radix(digits: &str, radix: u32) -> Option<i64> {
    if digits.is_empty() || (radix == 10 && !digits.starts_with(|c: char| c.is_ascii_digit())) {
        return None;
    }
    let mut number: i64 = 0;
    let mut seen = false;
    for c in digits.chars().filter(|c| *c != '_') {
        number = number.checked_mul(i64::from(radix))?.checked_add(i64::from(c.to_digit(radix)?))?;
        seen = true;
    }
    seen.then_some(number)
}

/// `12:30` is 750: base sixty, the first part without a leading zero.
fn sexagesimal(body: &str) -> Option<i64> {
    let mut parts = body.split(':');
    let first = parts.next()?;
    if first.starts_with('0') {
        return None;
    }
    let mut number = radix(first, 10)?;
    for part in parts {
        if part.is_empty() || part.len() > 2 || !part.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        let digit: i64 = part.parse().ok()?;
        if digit > 59 {
            return None;
        }
        number = number.checked_mul(60)?.checked_add(digit)?;
    }
    Some(number)
}

fn float(text: &str) -> Option<f64> {
    let (negative, body) = sign(text);
    match body {
        ".inf" | ".Inf" | ".INF" => return Some(if negative { f64::NEG_INFINITY } else { f64::INFINITY }),
        _ => {}
    }
    if matches!(text, ".nan" | ".NaN" | ".NAN") {
        return Some(f64::NAN);
    }
    let (mantissa, exponent) = match body.find(['e', 'E']) {
        Some(at) => (&body[..at], Some(&body[at + 1..])),
        None => (body, None),
    };
    let (whole, fraction) = mantissa.split_once('.')?;
    let digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit() || b == b'_');
    if !digits(whole)
        || !digits(fraction)
        || (!whole.bytes().any(|b| b.is_ascii_digit()) && !fraction.bytes().any(|b| b.is_ascii_digit()))
    {
        return None;
    }
    if let Some(exponent) = exponent {
        let digits = exponent.strip_prefix(['+', '-'])?;
        if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
    }
    text.replace('_', "").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn int(text: &str) -> Option<i64> {
        match resolve(text) {
            Value::Int(number, source) => {
                assert_eq!(source, text);
                Some(number)
            }
            _ => None,
        }
    }

    #[test]
    fn words_of_yaml_1_1_are_booleans_and_nulls() {
        for word in ["yes", "Yes", "ON", "on", "true", "TRUE"] {
            assert_eq!(resolve(word), Value::Bool(true), "{word}");
        }
        for word in ["no", "NO", "off", "Off", "false"] {
            assert_eq!(resolve(word), Value::Bool(false), "{word}");
        }
        for word in ["", "~", "null", "NULL"] {
            assert_eq!(resolve(word), Value::Null, "{word}");
        }
        for word in ["y", "n", "yEs", "nULL", "Norway", "none"] {
            assert_eq!(resolve(word), Value::Text(word.into()), "{word}");
        }
    }

    #[test]
    fn integers_have_bases_signs_and_underscores() {
        assert_eq!(int("0644"), Some(420));
        assert_eq!(int("0o644"), Some(420));
        assert_eq!(int("0x1F"), Some(31));
        assert_eq!(int("0b101"), Some(5));
        assert_eq!(int("1_000"), Some(1000));
        assert_eq!(int("-17"), Some(-17));
        assert_eq!(int("12:30"), Some(750));
        assert_eq!(int("1:00:00"), Some(3600));
        assert_eq!(int("0"), Some(0));
        for text in ["089", "12:75", "0x", "1_", "+", "1a", "::", "09:30", "99999999999999999999"] {
            if text == "1_" {
                assert_eq!(int(text), Some(1));
            } else {
                assert_eq!(int(text), None, "{text}");
            }
        }
    }

    #[test]
    fn floats_need_a_point() {
        assert_eq!(resolve("24.10"), Value::Float(24.1, "24.10".into()));
        assert_eq!(resolve("-1.5e+3"), Value::Float(-1500.0, "-1.5e+3".into()));
        assert_eq!(resolve(".5"), Value::Float(0.5, ".5".into()));
        for text in ["1e3", "1.2.3", "10.0.0.1", "-", ".", "-.", "1.5e3x", "us-east-1"] {
            assert_eq!(resolve(text), Value::Text(text.into()), "{text}");
        }
    }
}
