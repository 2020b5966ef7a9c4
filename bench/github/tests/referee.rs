//! Whether the referee is one: a proxy that lets everything pass would prove nothing about the other tests.

mod common;

use common::{Bench, violations};
use csis_bench_github::Fault;
use serde_json::json;

#[test]
fn the_referee_sees_what_is_missing() {
    if std::env::var("CSIS_REFEREE_URL").is_err() {
        return;
    }
    let bench = Bench::start();
    let place = Bench::at(&format!("/issues/{}/comments", bench.number));
    bench
        .github
        .fault(Fault::on("GET", "/repos/*/issues/*/comments").times(1).json(json!([{ "id": 1, "body": "hi" }])));
    let heard = bench.hear("GET", &place, None, &[]).unwrap();
    let found = violations(&heard);
    assert!(found.iter().any(|it| it["message"].to_string().contains("user")), "{found:#?}");
    assert!(violations(&bench.get(&place)).is_empty());
}
