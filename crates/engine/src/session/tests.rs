use super::*;
use crate::credentials::Roles;
use std::path::PathBuf;

fn env(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn profiles() -> BTreeSet<String> {
    BTreeSet::from(["harbor".to_owned()])
}

#[test]
fn nothing_passes_that_is_not_on_the_list() {
    let temporary = tempfile::tempdir().unwrap();
    let ambient = env(&[
        ("PATH", "/bin"),
        ("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:1"),
        ("TF_CLI_ARGS_plan", "-destroy"),
        ("TF_WORKSPACE", "x"),
        ("TF_VAR_a", "b"),
        ("TF_LOG", "trace"),
        ("AWS_ACCESS_KEY_ID", "id"),
        ("AWS_SECRET_ACCESS_KEY", "hush"),
        ("AWS_PROFILE", "mine"),
        ("ACTIONS_ID_TOKEN_REQUEST_TOKEN", "t"),
        ("INPUT_GITHUB-TOKEN", "t"),
        ("GITHUB_TOKEN", "t"),
    ]);
    let session = Session::open(&ambient, &profiles(), temporary.path()).unwrap();
    let names: Vec<&str> = session.environment().keys().map(String::as_str).collect();
    assert_eq!(
        names,
        [
            "AWS_CONFIG_FILE",
            "AWS_ENDPOINT_URL_S3",
            "AWS_SHARED_CREDENTIALS_FILE",
            "CHECKPOINT_DISABLE",
            "PATH",
            "TF_IN_AUTOMATION"
        ]
    );
    assert_eq!(session.secrets(), ["hush"]);
    assert!(!format!("{session:?} {:?}", Held::of(&ambient)).contains("hush"));
}

#[test]
fn every_profile_is_backed_by_the_session_at_hand() {
    let temporary = tempfile::tempdir().unwrap();
    let ambient = env(&[("AWS_ACCESS_KEY_ID", "id"), ("AWS_SECRET_ACCESS_KEY", "key"), ("AWS_SESSION_TOKEN", "tok")]);
    let session = Session::open(&ambient, &profiles(), temporary.path()).unwrap();
    let config = PathBuf::from(&session.environment()["AWS_CONFIG_FILE"]);
    let section = "aws_access_key_id = id\naws_secret_access_key = key\naws_session_token = tok\n\n";
    assert_eq!(fs::read_to_string(&config).unwrap(), format!("[default]\n{section}[profile harbor]\n{section}"));
    assert_eq!(fs::read_to_string(&session.environment()["AWS_SHARED_CREDENTIALS_FILE"]).unwrap(), "");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(fs::metadata(&config).unwrap().permissions().mode() & 0o777, 0o600);
    }
    drop(session);
    assert!(!config.exists());
}

#[test]
fn a_web_identity_comes_before_keys() {
    let temporary = tempfile::tempdir().unwrap();
    let ambient = env(&[
        ("AWS_ROLE_ARN", "arn:aws:iam::1:role/r"),
        ("AWS_WEB_IDENTITY_TOKEN_FILE", "/t"),
        ("AWS_ACCESS_KEY_ID", "id"),
        ("AWS_SECRET_ACCESS_KEY", "key"),
    ]);
    let session = Session::open(&ambient, &profiles(), temporary.path()).unwrap();
    let text = fs::read_to_string(&session.environment()["AWS_CONFIG_FILE"]).unwrap();
    assert!(text.ends_with(
        "[profile harbor]\nrole_arn = arn:aws:iam::1:role/r\nweb_identity_token_file = /t\nrole_session_name = csis\n\n"
    ));
    assert!(!text.contains("key"));
}

#[test]
fn without_a_session_the_users_own_files_serve_where_they_have_the_profile() {
    let home = tempfile::tempdir().unwrap();
    fs::create_dir(home.path().join(".aws")).unwrap();
    fs::write(home.path().join(".aws/config"), "[profile harbor]\nregion = x\n").unwrap();
    let ambient = env(&[("HOME", &home.path().to_string_lossy())]);
    let named = BTreeSet::from(["harbor".to_owned(), "other".to_owned()]);
    let session = Session::open(&ambient, &named, home.path()).unwrap();
    assert_eq!(session.missing(), &BTreeSet::from(["other".to_owned()]));
    assert!(!session.environment().contains_key("AWS_CONFIG_FILE"));
}

#[test]
fn a_profile_cannot_write_a_section_of_its_own() {
    let named = BTreeSet::from(["x]\n[profile admin".to_owned()]);
    let held = Held::Keys { id: "i".into(), secret: "s".into(), token: None };
    assert!(!sections(&held, &named).contains("admin"));
}

/// Everything that a runner or a shell may hold and no child may see.
fn loaded(home: &Path) -> BTreeMap<String, String> {
    env(&[
        ("PATH", "/bin"),
        ("HOME", &home.to_string_lossy()),
        ("XDG_CONFIG_HOME", "/c"),
        ("AWS_REGION", "r"),
        ("AWS_ACCESS_KEY_ID", "id"),
        ("AWS_SECRET_ACCESS_KEY", "hush-hush"),
        ("AWS_SESSION_TOKEN", "hush-token"),
        ("AWS_ROLE_ARN", "arn:ambient"),
        ("AWS_WEB_IDENTITY_TOKEN_FILE", "/ambient"),
        ("AWS_PROFILE", "mine"),
        ("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://169.254.170.2/"),
        ("AWS_CONTAINER_AUTHORIZATION_TOKEN", "hush"),
        ("AWS_CONFIG_FILE", "/mine"),
    ])
}

fn roles(default: Option<&str>, by_profile: &[(&str, &str)]) -> Roles {
    Roles {
        default: default.map(str::to_owned),
        by_profile: env(by_profile),
        token_file: "/run/token".into(),
        session_name: "csis-7".into(),
    }
}

fn read(session: &Session, variable: &str) -> String {
    fs::read_to_string(&session.environment()[variable]).unwrap()
}

const APART: [&str; 8] = [
    "AWS_CONFIG_FILE",
    "AWS_EC2_METADATA_DISABLED",
    "AWS_REGION",
    "AWS_SHARED_CREDENTIALS_FILE",
    "CHECKPOINT_DISABLE",
    "HOME",
    "PATH",
    "TF_IN_AUTOMATION",
];

fn names(session: &Session) -> Vec<&str> {
    session.environment().keys().map(String::as_str).collect()
}

#[test]
fn nothing_of_a_runner_passes_whatever_the_credentials() {
    let home = tempfile::tempdir().unwrap();
    let mut ambient = loaded(home.path());
    for name in [
        "ACTIONS_ID_TOKEN_REQUEST_TOKEN",
        "ACTIONS_ID_TOKEN_REQUEST_URL",
        "ACTIONS_RUNTIME_TOKEN",
        "ACTIONS_CACHE_URL",
        "INPUT_GITHUB-TOKEN",
        "INPUT_AWS-READ-ROLE",
        "GITHUB_TOKEN",
        "GITHUB_OUTPUT",
        "GITHUB_ENV",
        "GITHUB_EVENT_PATH",
        "GH_TOKEN",
        "RUNNER_TEMP",
        "RUNNER_TOOL_CACHE",
        "STATE_x",
    ] {
        ambient.insert(name.into(), "runner".into());
    }
    let nothing = Credentials::Nothing { why: "no".into() };
    for credentials in [Credentials::Ambient, nothing, Credentials::Roles(roles(Some("arn:r"), &[]))] {
        let session = Session::with(&ambient, &profiles(), home.path(), &credentials, None).unwrap();
        assert!(!session.environment().values().any(|value| value == "runner"), "{credentials:?}: {session:?}");
    }
}

#[test]
fn nothing_is_nothing_and_says_why() {
    let home = tempfile::tempdir().unwrap();
    fs::create_dir(home.path().join(".aws")).unwrap();
    fs::write(home.path().join(".aws/credentials"), "[harbor]\naws_secret_access_key = hush\n").unwrap();
    let credentials = Credentials::Nothing { why: "the change widens what the tree may reach".into() };
    let session = Session::with(&loaded(home.path()), &profiles(), home.path(), &credentials, None).unwrap();
    assert_eq!(names(&session), APART);
    assert_eq!(session.environment()["AWS_EC2_METADATA_DISABLED"], "true");
    assert_eq!(read(&session, "AWS_CONFIG_FILE") + &read(&session, "AWS_SHARED_CREDENTIALS_FILE"), "");
    let own_home = Path::new(&session.environment()["HOME"]);
    assert!(own_home != home.path() && fs::read_dir(own_home).unwrap().next().is_none());
    assert_eq!((session.missing(), session.why_missing()), (&profiles(), "the change widens what the tree may reach"));
    assert_eq!(session.no_default(), Some("the change widens what the tree may reach"));
    assert_eq!(session.secrets(), ["hush-hush", "hush-token"], "what is not used is hidden all the same");
}

#[test]
fn every_profile_has_its_role_or_the_default_one() {
    let home = tempfile::tempdir().unwrap();
    let named = BTreeSet::from(["harbor".to_owned(), "other".to_owned()]);
    let open = |roles: Roles| {
        Session::with(&loaded(home.path()), &named, home.path(), &Credentials::Roles(roles), None).unwrap()
    };
    let section = |title: &str, role: &str| {
        format!("{title}\nrole_arn = {role}\nweb_identity_token_file = /run/token\nrole_session_name = csis-7\n\n")
    };
    let both = open(roles(Some("arn:read"), &[("harbor", "arn:harbor"), ("unnamed", "arn:x")]));
    let text = read(&both, "AWS_CONFIG_FILE");
    assert_eq!(
        text,
        section("[default]", "arn:read")
            + &section("[profile harbor]", "arn:harbor")
            + &section("[profile other]", "arn:read")
    );
    assert_eq!(read(&both, "AWS_SHARED_CREDENTIALS_FILE"), "");
    assert_eq!(names(&both), APART, "no key of the environment passes");
    assert!(both.missing().is_empty() && both.no_default().is_none());

    let one = open(roles(None, &[("harbor", "arn:harbor")]));
    assert_eq!(read(&one, "AWS_CONFIG_FILE"), section("[profile harbor]", "arn:harbor"));
    assert_eq!(one.missing(), &BTreeSet::from(["other".to_owned()]));
    assert!(one.why_missing().contains("no role") && one.no_default().is_some());
}

#[test]
fn a_role_cannot_write_a_line_of_its_own() {
    let home = tempfile::tempdir().unwrap();
    for role in ["arn:x\ncredential_process = /bin/sh", "", " arn:x"] {
        let credentials = Credentials::Roles(roles(Some(role), &[]));
        let refused = Session::with(&loaded(home.path()), &profiles(), home.path(), &credentials, None);
        assert_eq!(refused.unwrap_err().kind(), io::ErrorKind::InvalidInput, "{role:?}");
    }
}

#[test]
fn a_proxy_passes_and_its_password_is_hidden() {
    let home = tempfile::tempdir().unwrap();
    let ambient =
        env(&[("HTTPS_PROXY", "http://me:pass:word@proxy:3128/"), ("http_proxy", "plain:80"), ("NO_PROXY", "a@b")]);
    let session = Session::open(&ambient, &profiles(), home.path()).unwrap();
    assert_eq!(session.environment()["HTTPS_PROXY"], "http://me:pass:word@proxy:3128/");
    for secret in ["me:pass:word", "pass:word"] {
        assert!(session.secrets().iter().any(|known| known == secret), "{:?}", session.secrets());
    }
}

#[cfg(unix)]
#[test]
fn another_user_owns_what_it_is_given_and_nothing_more() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let temporary = tempfile::tempdir().unwrap();
    let open = |mode| fs::set_permissions(temporary.path(), fs::Permissions::from_mode(mode)).unwrap();
    let token = temporary.path().join("token");
    fs::write(&token, "jwt").unwrap();
    fs::set_permissions(&token, fs::Permissions::from_mode(0o600)).unwrap();
    let mut ambient = loaded(temporary.path());
    ambient.extend(env(&[("USER", "root"), ("TMPDIR", "/t"), ("TF_PLUGIN_CACHE_DIR", "/cache")]));
    let user = ChildUser { uid: 4321, gid: 4322 };
    let credentials = Credentials::Roles(Roles { token_file: token.clone(), ..roles(Some("arn:r"), &[]) });
    let session = || Session::with(&ambient, &profiles(), temporary.path(), &credentials, Some(user));
    open(0o700);
    assert!(session().unwrap_err().to_string().contains("cannot be read by user 4321"));
    open(0o711);
    let session = session().unwrap();
    let of = |path: &Path| path.metadata().map(|meta| (meta.uid(), meta.mode() & 0o777)).unwrap();
    for (variable, mode) in [
        ("AWS_CONFIG_FILE", 0o600),
        ("AWS_SHARED_CREDENTIALS_FILE", 0o600),
        ("HOME", 0o700),
        ("TMPDIR", 0o700),
        ("TF_PLUGIN_CACHE_DIR", 0o700),
    ] {
        assert_eq!(of(Path::new(&session.environment()[variable])), (4321, mode), "{variable}");
    }
    assert!(!session.environment().contains_key("USER"));
    assert_eq!(of(&token), (4321, 0o600));
    let folder = Path::new(&session.environment()["HOME"]).parent().unwrap().to_owned();
    assert_eq!(of(&folder), (4321, 0o700));
    drop(session);
    assert!(!folder.exists());
    assert_eq!(of(&token).0, 0);
}

#[cfg(unix)]
#[test]
fn the_users_own_files_are_copied_for_another_user() {
    use std::os::unix::fs::PermissionsExt;
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    fs::set_permissions(home.path(), fs::Permissions::from_mode(0o711)).unwrap();
    fs::create_dir(home.path().join(".aws")).unwrap();
    fs::write(home.path().join(".aws/config"), "[profile harbor]\nregion = x\n").unwrap();
    let ambient = env(&[("HOME", &home.path().to_string_lossy())]);
    let user = Some(ChildUser { uid: 4321, gid: 4322 });
    let session = Session::with(&ambient, &profiles(), home.path(), &Credentials::Ambient, user).unwrap();
    assert!(session.missing().is_empty());
    assert_eq!(read(&session, "AWS_CONFIG_FILE"), "[profile harbor]\nregion = x\n");
}
