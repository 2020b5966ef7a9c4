use super::*;

fn environment() -> BTreeMap<String, String> {
    BTreeMap::from([("PATH".to_owned(), "/usr/bin:/bin".to_owned())])
}

fn shell<'a>(script: &str, environment: &'a BTreeMap<String, String>, limit: Duration) -> Call<'a> {
    Call {
        program: Path::new("/bin/sh"),
        arguments: vec!["-c".into(), script.into()],
        directory: Path::new("/"),
        children: Children { environment, user: None, stop: &Stop::NEVER },
        limit,
    }
}

#[tokio::test]
async fn lines_are_seen_and_only_the_end_is_kept() {
    let environment = environment();
    let mut lines = 0;
    let call = shell("seq 1 100000; echo bad >&2; exit 3", &environment, Duration::from_secs(20));
    let left = call.run(|_| lines += 1).await.unwrap();
    assert_eq!((left.status.code(), lines, left.stderr.as_str()), (Some(3), 100_000, "bad\n"));
    assert!(left.stdout.len() == KEPT && left.stdout.ends_with("100000\n"));
}

#[tokio::test]
async fn a_call_over_its_limit_is_interrupted() {
    let environment = environment();
    let folder = tempfile::tempdir().unwrap();
    let mark = folder.path().join("ended");
    let script = format!("trap 'echo > {}; exit 1' INT; while :; do sleep 0.05; done", mark.display());
    let error = shell(&script, &environment, Duration::from_millis(400)).run(|_| {}).await.unwrap_err();
    assert!(matches!(error, ProcessError::Timeout { .. }) && mark.exists());
}

#[tokio::test]
async fn stdout_can_be_read_as_a_stream() {
    let environment = environment();
    let call = shell("echo one; sleep 0.1; echo two", &environment, Duration::from_secs(20));
    let (text, left) = call.pipe(|file| std::io::read_to_string(file).unwrap()).await.unwrap();
    assert_eq!((text.as_str(), left.status.success()), ("one\ntwo\n", true));
}

#[cfg(target_os = "linux")]
#[test]
fn an_output_that_is_held_does_not_keep_csis_from_ending() {
    let environment = environment();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let started = std::time::Instant::now();
    // It leaves its group, so that nothing ends it.
    let call = shell("setsid sleep 20 & exit 0", &environment, Duration::from_millis(400));
    let ended = runtime.block_on(call.pipe(|file| std::io::read_to_string(file).map(drop)));
    assert!(matches!(ended, Err(ProcessError::Timeout { .. })), "{ended:?}");
    drop(runtime);
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
}

#[tokio::test]
async fn the_environment_is_the_given_one() {
    let environment = BTreeMap::from([("A".to_owned(), "1".to_owned())]);
    let left = shell("/usr/bin/env", &environment, Duration::from_secs(20)).run(|_| {}).await.unwrap();
    assert!(left.stdout.contains("A=1") && !left.stdout.contains("HOME"), "{}", left.stdout);
}

/// A fake engine that writes down each interrupt it hears, and ends when the file `end` is there; so does a process that it started.
fn recorder(folder: &Path) -> String {
    let at = folder.display();
    for who in ["engine", "grandchild"] {
        let script = format!(
            "trap 'echo {who} >> {at}/heard' INT\nps -o pgid= -p $$ >> {at}/group\nwhile [ ! -e {at}/end ]; do sleep 0.05; done\n"
        );
        std::fs::write(folder.join(who), script).unwrap();
    }
    // A shell starts what stays in the background deaf to interrupts; it could not tell of one.
    let hears = "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); os.execv('/bin/sh', ['sh', sys.argv[1]])";
    format!("python3 -c \"{hears}\" {at}/grandchild & . {at}/engine; wait")
}

async fn until(path: &Path, has: impl Fn(&str) -> bool) {
    for _ in 0..200 {
        if std::fs::read_to_string(path).is_ok_and(|text| has(&text)) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("{} does not say it", path.display());
}

#[tokio::test]
async fn a_stopped_run_interrupts_once_and_waits() {
    let (environment, folder) = (environment(), tempfile::tempdir().unwrap());
    let (heard, group) = (folder.path().join("heard"), folder.path().join("group"));
    let (stopper, stop) = Stop::pair();
    let script = recorder(folder.path());
    let mut call = shell(&script, &environment, Duration::from_mins(1));
    call.children.stop = &stop;
    let end = folder.path().join("end");
    let asks = async {
        until(&group, |text| text.lines().count() == 2).await;
        stopper.stop();
        until(&heard, |text| !text.is_empty()).await;
        // Whoever asks again, and by whatever way, the engine hears nothing more.
        stopper.stop();
        tokio::time::sleep(Duration::from_millis(500)).await;
        std::fs::write(&end, "").unwrap();
    };
    let (ended, ()) = tokio::join!(call.run(|_| {}), asks);
    assert!(matches!(ended, Err(ProcessError::Interrupted { .. })), "{ended:?}");
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(std::fs::read_to_string(&heard).unwrap(), "engine\n");
    let groups = std::fs::read_to_string(&group).unwrap();
    let own = rustix::process::getpgrp().as_raw_nonzero().to_string();
    let groups: std::collections::BTreeSet<&str> = groups.split_whitespace().collect();
    assert!(groups.len() == 1 && !groups.contains(own.as_str()), "{groups:?}, {own}");
    let again = call.run(|_| {}).await;
    assert!(matches!(again, Err(ProcessError::Interrupted { .. })), "nothing starts any more: {again:?}");
    assert_eq!(std::fs::read_to_string(&group).unwrap().lines().count(), 2);
}

#[tokio::test]
async fn who_asks_again_is_not_heard_twice() {
    let (environment, folder) = (environment(), tempfile::tempdir().unwrap());
    let heard = folder.path().join("heard");
    let (stopper, stop) = Stop::pair();
    // The test ends before the deaf are killed: this one leaves with the test's folder.
    let script = format!(
        "trap 'echo heard >> {0}' INT; while [ -d {1} ]; do sleep 0.05; done",
        heard.display(),
        folder.path().display()
    );
    let mut call = shell(&script, &environment, Duration::from_millis(400));
    call.children.stop = &stop;
    let asks = async {
        until(&heard, |text| !text.is_empty()).await;
        stopper.stop();
        tokio::time::sleep(Duration::from_millis(300)).await;
    };
    // Over its limit first, then the run is stopped, then nobody waits any more.
    tokio::select! {
        ended = call.run(|_| {}) => panic!("{ended:?}"),
        () = asks => {}
    }
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(std::fs::read_to_string(&heard).unwrap(), "heard\n");
}

#[tokio::test]
async fn a_dropped_call_interrupts_once_and_the_deaf_are_killed_with_their_own() {
    let (environment, folder) = (environment(), tempfile::tempdir().unwrap());
    let (heard, pids) = (folder.path().join("heard"), folder.path().join("pids"));
    let script = format!(
        "trap 'echo heard >> {}' INT; sleep 600 & echo $$ $! > {}; while :; do sleep 0.05; done",
        heard.display(),
        pids.display()
    );
    let call = shell(&script, &environment, Duration::from_mins(1));
    tokio::select! {
        ended = call.run(|_| {}) => panic!("{ended:?}"),
        () = until(&pids, |text| text.contains('\n')) => {}
    }
    until(&heard, |text| text.contains("heard")).await;
    tokio::time::sleep(STOP_GRACE + Duration::from_secs(1)).await;
    assert_eq!(std::fs::read_to_string(&heard).unwrap(), "heard\n");
    for pid in std::fs::read_to_string(&pids).unwrap().split_whitespace() {
        let state = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        assert!(state.is_empty() || state.contains(") Z "), "{pid} lives: {state}");
    }
}

#[tokio::test]
async fn another_user_brings_no_group_along() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let environment = environment();
    let mut call = shell("id -u; id -g; id -G", &environment, Duration::from_secs(20));
    call.children.user = Some(ChildUser { uid: 54321, gid: 54322 });
    assert_eq!(call.run(|_| {}).await.unwrap().stdout, "54321\n54322\n54322\n");
}

#[test]
fn programs_are_found_by_name_or_path() {
    let environment = environment();
    assert!(find("sh", &environment).is_some_and(|path| path.is_absolute()));
    assert!(find("/bin/sh", &environment).is_some());
    for none in ["", "no-such-program", "/bin", "/etc/passwd"] {
        assert_eq!(find(none, &environment), None, "{none}");
    }
    assert_eq!(find("sh", &BTreeMap::from([("PATH".to_owned(), ".:bin".to_owned())])), None);
}
