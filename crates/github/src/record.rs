//! The review's record, kept in check runs: only the app that made a check run can change it.
//!
//! A record is a JSON value, deflated and written as base64 into the text of a check run, and into further check runs of the same name where one does not
//! hold it. Each part names the whole's hash, so that parts of two records never pass for one.

use crate::checks::{self, CheckRun, TEXT};
use crate::{ApiError, Client, Repo};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use csis_values::sha256;
use flate2::Compression;
use flate2::read::{DeflateDecoder, DeflateEncoder};
use serde_json::Value;
use std::io::Read;

/// Far above any record that was written; a bomb ends here.
const LARGEST: u64 = 256 << 20;
const TITLE: &str = "csis-record v1";
/// Room for the words around the data.
const AROUND: usize = 400;

/// The texts of the check runs that hold a record, in order.
pub fn parts(record: &Value) -> Vec<String> {
    let mut packed = Vec::new();
    let text = record.to_string();
    // Reading from memory does not fail.
    let _ = DeflateEncoder::new(text.as_bytes(), Compression::best()).read_to_end(&mut packed);
    let data = STANDARD.encode(&packed);
    let hash = sha256(&data);
    let chunks: Vec<&[u8]> = data.as_bytes().chunks(TEXT - AROUND).collect();
    let count = chunks.len();
    chunks
        .into_iter()
        .enumerate()
        .map(|(index, chunk)| {
            let chunk = String::from_utf8_lossy(chunk);
            format!(
                "What this review judged, for the landing to compare with; written for programs.\n\n```text\n{TITLE} {}/{count} {hash}\n{chunk}\n```\n",
                index + 1
            )
        })
        .collect()
}

/// One part of a record, as it stands in a check run's text.
struct Part<'a> {
    number: usize,
    count: usize,
    hash: &'a str,
    data: &'a str,
}

impl Part<'_> {
    fn read(text: &str) -> Option<Part<'_>> {
        let start = text.find(TITLE)? + TITLE.len();
        let mut lines = text.get(start..)?.lines();
        let mut words = lines.next()?.split_ascii_whitespace();
        let (number, count) = words.next()?.split_once('/')?;
        let hash = words.next()?;
        Some(Part { number: number.parse().ok()?, count: count.parse().ok()?, hash, data: lines.next()?.trim() })
    }
}

/// Puts a record together from the texts of check runs, in any order; none when a part is missing or was changed.
pub fn join<'a>(texts: impl IntoIterator<Item = &'a str>, hash: &str) -> Option<Value> {
    let mut parts: Vec<Part<'_>> = texts.into_iter().filter_map(Part::read).filter(|part| part.hash == hash).collect();
    parts.sort_by_key(|part| part.number);
    parts.dedup_by_key(|part| part.number);
    let count = parts.first()?.count;
    if parts.len() != count || parts.iter().enumerate().any(|(i, part)| part.number != i + 1 || part.count != count) {
        return None;
    }
    let data: String = parts.iter().map(|part| part.data).collect();
    if sha256(&data) != hash {
        return None;
    }
    let packed = STANDARD.decode(data).ok()?;
    let mut text = String::new();
    DeflateDecoder::new(packed.as_slice()).take(LARGEST).read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

/// A record and the check run that holds its first part.
#[derive(Clone, Debug)]
pub struct Found {
    pub record: Value,
    pub check: CheckRun,
}

/// The newest whole record of a commit, made by the app. A record that names another head than the commit it hangs on is none.
pub async fn find(client: &Client, repo: &Repo, name: &str, head: &str, app: &str) -> Result<Option<Found>, ApiError> {
    let runs = checks::at(client, repo, head, name).await?;
    Ok(newest(runs, head, app))
}

fn newest(mut runs: Vec<CheckRun>, head: &str, app: &str) -> Option<Found> {
    runs.retain(|run| run.app.as_ref().is_some_and(|a| a.slug == app) && run.head_sha.eq_ignore_ascii_case(head));
    runs.sort_by_key(|run| std::cmp::Reverse(run.id));
    let texts: Vec<&str> = runs.iter().filter_map(|run| run.output.text.as_deref()).collect();
    let first = runs.iter().find_map(|run| {
        let part = Part::read(run.output.text.as_deref()?).filter(|part| part.number == 1)?;
        let record = join(texts.iter().copied(), part.hash)?;
        let names_head = record.get("head").and_then(Value::as_str).is_some_and(|h| h.eq_ignore_ascii_case(head));
        names_head.then_some((run, record))
    });
    first.map(|(run, record)| Found { record, check: run.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::{App, Output};
    use serde_json::json;

    const HEAD: &str = "1111111111111111111111111111111111111111";

    fn run(id: u64, slug: &str, head: &str, text: &str) -> CheckRun {
        CheckRun {
            id,
            head_sha: head.into(),
            external_id: None,
            details_url: None,
            conclusion: None,
            html_url: None,
            output: Output { text: Some(text.to_owned()), annotations_count: 0 },
            app: Some(App { slug: slug.into() }),
        }
    }

    /// Text that does not deflate, so that a record needs several parts.
    fn noise(length: usize) -> String {
        let mut text = String::new();
        while text.len() < length {
            text += &sha256(text.len().to_string());
        }
        text
    }

    #[test]
    fn a_long_record_comes_back_from_its_parts_in_any_order() {
        let record = json!({"head": HEAD, "noise": noise(400_000)});
        let mut texts = parts(&record);
        assert!(texts.len() > 2, "{}", texts.len());
        assert!(texts.iter().all(|text| text.chars().count() <= TEXT));
        texts.reverse();
        let runs = texts.iter().enumerate().map(|(i, text)| run(i as u64, "github-actions", HEAD, text)).collect();
        assert_eq!(newest(runs, HEAD, "github-actions").unwrap().record, record);
    }

    #[test]
    fn a_part_that_is_missing_changed_or_another_records_makes_none() {
        let record = json!({"head": HEAD, "noise": noise(200_000)});
        let texts = parts(&record);
        let other = parts(&json!({"head": HEAD, "noise": noise(199_000)}));
        let hash = Part::read(&texts[0]).unwrap().hash.to_owned();
        let join = |texts: &[String]| join(texts.iter().map(String::as_str), &hash);
        assert_eq!(join(&texts), Some(record));
        assert_eq!(join(&texts[1..]), None);
        let mut mixed = texts.clone();
        mixed[1].clone_from(&other[1]);
        assert_eq!(join(&mixed), None);
        let mut changed = texts;
        changed[1] = changed[1].replace('A', "B");
        assert_eq!(join(&changed), None);
    }

    #[test]
    fn only_the_apps_own_record_of_this_very_head_counts() {
        let text = |head: &str, n: u64| parts(&json!({"head": head, "n": n})).remove(0);
        let older = "2222222222222222222222222222222222222222";
        let runs = vec![
            run(1, "github-actions", HEAD, &text(HEAD, 1)),
            run(2, "github-actions", HEAD, &text(HEAD, 2)),
            run(3, "somebody-else", HEAD, &text(HEAD, 3)),
            run(4, "github-actions", HEAD, &text(older, 4)),
            run(5, "github-actions", older, &text(older, 5)),
        ];
        assert_eq!(newest(runs.clone(), HEAD, "github-actions").unwrap().record["n"], 2);
        assert!(newest(runs[2..].to_vec(), HEAD, "github-actions").is_none());
    }
}
