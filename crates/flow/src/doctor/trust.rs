//! Who may assume the two roles: their trust policies for the repository at hand, in both forms in which GitHub writes a token's subject.

use super::read_role::partition;
use crate::git::Repository;
use csis_github::Repo;
use csis_kinds::registry;
use csis_values::Class;
use csis_values::tree::Tree;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// The environment of the job that lands. Such a job's subject is the environment's, whatever its branch, for the read role too.
const ENVIRONMENT: &str = "csis-apply";
const WORKFLOW: &str = ".github/workflows/land.yml";
const AUDIENCE: &str = "sts.amazonaws.com";
const GITHUB: &str = "github.com";

/// Where the tree is kept. What is not known stands as a word to replace, with the command that tells it.
struct Place {
    host: String,
    repo: String,
    owner_id: String,
    repo_id: String,
    branch: String,
    partition: String,
    account: String,
    /// Words of the policies, and how to learn what they stand for.
    unknown: Vec<(&'static str, String)>,
}

/// Both policies, each under the role it is for, and what is left to fill in.
pub(super) fn text(tree: &Tree, environment: &BTreeMap<String, String>, repository: Option<&Repository>) -> String {
    let place = Place::of(tree, environment, repository);
    let mut told = String::new();
    for (role, conditions) in [("read", place.reads()), ("apply", place.applies())] {
        let statement = json!({
            "Effect": "Allow",
            "Principal": { "Federated": format!("arn:{}:iam::{}:oidc-provider/{}", place.partition, place.account, place.issuer()) },
            "Action": "sts:AssumeRoleWithWebIdentity",
            "Condition": conditions,
        });
        let policy = json!({ "Version": "2012-10-17", "Statement": [statement] });
        let policy = serde_json::to_string_pretty(&policy).unwrap_or_default();
        let _ = writeln!(
            told,
            "\nWho may assume the {role} role: its trust policy for {} of {}\n{policy}",
            place.repo, place.host
        );
    }
    let _ = writeln!(
        told,
        "\n`{ENVIRONMENT}` is the environment of the job that lands: let it allow the default branch alone, and write its name if it has another.\n\
         GitHub compares names letter by letter: `{}` has to be written as {} writes it.",
        place.repo, place.host
    );
    if place.is_own_server() {
        let _ = writeln!(
            told,
            "AWS knows `repository_id` and `job_workflow_ref` of the tokens of github.com. Where it knows neither of those of {}, nobody can assume the apply role \
             until the two are left out; then the environment alone protects it.",
            place.host
        );
    }
    if !place.unknown.is_empty() {
        told.push_str("\nTo fill in:\n");
    }
    for (word, command) in &place.unknown {
        let _ = writeln!(told, "  {word:<14} {command}");
    }
    told
}

impl Place {
    fn of(tree: &Tree, environment: &BTreeMap<String, String>, repository: Option<&Repository>) -> Place {
        let get = |name: &str| environment.get(name).map(|value| value.trim()).filter(|value| !value.is_empty());
        let origin = repository.and_then(Repository::origin).and_then(|url| address(&url));
        // The ids of a run belong to the run's repository, not to the one that a checkout comes from.
        let (repo, ids) = match get("GITHUB_REPOSITORY").and_then(Repo::parse) {
            Some(repo) => (Some(repo), [get("GITHUB_REPOSITORY_OWNER_ID"), get("GITHUB_REPOSITORY_ID")]),
            None => (origin.as_ref().map(|(_, repo)| repo.clone()), [None, None]),
        };
        let host = get("GITHUB_SERVER_URL").map(|url| host_of(url.split_once("://").map_or(url, |(_, rest)| rest)));
        let host = host.unwrap_or_else(|| origin.map_or_else(|| Some(GITHUB.to_owned()), |(host, _)| Some(host)));
        let mut unknown = Vec::new();
        if host.is_none() {
            unknown.push(("HOST", "the name of your GitHub server".to_owned()));
        }
        if repo.is_none() {
            unknown.push(("OWNER/REPO", "gh repo view --json nameWithOwner --jq .nameWithOwner".to_owned()));
        }
        let host = host.unwrap_or_else(|| "HOST".to_owned());
        let repo = repo.map_or_else(|| "OWNER/REPO".to_owned(), |repo| repo.to_string());
        let of_host = if host == GITHUB { String::new() } else { format!(" --hostname {host}") };
        let mut told = |known: Option<String>, word: &'static str, command: String| {
            known.unwrap_or_else(|| {
                unknown.push((word, command));
                word.to_owned()
            })
        };
        let ask = |field: &str| format!("gh api{of_host} repos/{repo} --jq {field}");
        let number = |id: Option<&str>| id.filter(|id| id.chars().all(|c| c.is_ascii_digit())).map(str::to_owned);
        let owner_id =
            if is_own_server(&host) { None } else { Some(told(number(ids[0]), "OWNER-ID", ask(".owner.id"))) };
        let repo_id = told(number(ids[1]), "REPO-ID", ask(".id"));
        let branch = repository.and_then(Repository::default_branch);
        let branch =
            branch.as_deref().and_then(|name| name.strip_prefix("refs/remotes/origin/")).filter(|b| is_plain(b));
        let branch = told(branch.map(str::to_owned), "DEFAULT-BRANCH", ask(".default_branch"));
        let (partition, account) = accounts(tree, &mut told);
        Place { host, repo, owner_id: owner_id.unwrap_or_default(), repo_id, branch, partition, account, unknown }
    }

    fn is_own_server(&self) -> bool {
        is_own_server(&self.host)
    }

    /// The host and path of whoever signs the tokens; AWS begins its condition keys with it.
    fn issuer(&self) -> String {
        match self.host.strip_suffix(".ghe.com") {
            _ if self.host == GITHUB => "token.actions.githubusercontent.com".to_owned(),
            Some(tenant) => format!("token.actions.{tenant}.ghe.com"),
            None => format!("{}/_services/token", self.host),
        }
    }

    /// The beginnings of a subject: by names, and, where GitHub has it, by ids that outlive a new name.
    fn subjects(&self, rest: &str) -> Vec<String> {
        let by_name = format!("repo:{}:{rest}", self.repo);
        let by_id = self.repo.split_once('/').filter(|_| !self.is_own_server());
        let by_id = by_id.map(|(owner, name)| format!("repo:{owner}@{}/{name}@{}:{rest}", self.owner_id, self.repo_id));
        std::iter::once(by_name).chain(by_id).collect()
    }

    fn keyed(&self, claims: &[(&str, Value)]) -> Value {
        let issuer = self.issuer();
        Value::Object(
            claims.iter().map(|(claim, value)| (format!("{issuer}:{claim}"), value.clone())).collect::<Map<_, _>>(),
        )
    }

    fn reads(&self) -> Value {
        let branch = &self.branch;
        let whence = [
            "pull_request".to_owned(),
            format!("ref:refs/heads/gh-readonly-queue/{branch}/*"),
            format!("ref:refs/heads/{branch}"),
            format!("environment:{ENVIRONMENT}"),
        ];
        let subjects: Vec<String> = whence.iter().flat_map(|rest| self.subjects(rest)).collect();
        json!({
            "StringEquals": self.keyed(&[("aud", json!(AUDIENCE))]),
            "StringLike": self.keyed(&[("sub", json!(subjects))]),
        })
    }

    fn applies(&self) -> Value {
        let workflow = format!("{}/{WORKFLOW}@refs/heads/{}", self.repo, self.branch);
        json!({ "StringEquals": self.keyed(&[
            ("aud", json!(AUDIENCE)),
            ("sub", json!(self.subjects(&format!("environment:{ENVIRONMENT}")))),
            ("repository_id", json!(self.repo_id)),
            ("job_workflow_ref", json!(workflow)),
        ])})
    }
}

fn is_own_server(host: &str) -> bool {
    host != GITHUB && !host.ends_with(".ghe.com")
}

/// Partition and account of the roles, where all runtimes are in one.
fn accounts(tree: &Tree, told: &mut impl FnMut(Option<String>, &'static str, String) -> String) -> (String, String) {
    let runtimes = || tree.builders_of(Class::Runtime);
    let partitions: BTreeSet<&str> = runtimes().map(|runtime| partition(runtime.fields.text("region"))).collect();
    let declared: Vec<(String, String)> = runtimes()
        .filter_map(|runtime| Some((runtime.name.written.clone(), registry::runtime(runtime)?.account(runtime)?)))
        .filter(|(_, account)| account.len() == 12 && account.chars().all(|c| c.is_ascii_digit()))
        .collect();
    let distinct: BTreeSet<&String> = declared.iter().map(|(_, account)| account).collect();
    let only =
        |one: &BTreeSet<&String>| (one.len() == 1).then(|| one.first().map(|account| (*account).clone())).flatten();
    let each = || declared.iter().map(|(runtime, account)| format!("{account} for the role of runtime `{runtime}`"));
    let how = if declared.is_empty() {
        "aws sts get-caller-identity --query Account --output text".to_owned()
    } else {
        each().collect::<Vec<_>>().join(", ")
    };
    let of_all = match partitions.first() {
        Some(one) if partitions.len() == 1 => Some((*one).to_owned()),
        None => Some("aws".to_owned()),
        Some(_) => None,
    };
    let partition = told(of_all, "PARTITION", partitions.into_iter().collect::<Vec<_>>().join(" or "));
    (partition, told(only(&distinct), "ACCOUNT-ID", how))
}

/// Letters that mean themselves in a policy and in a shell.
fn is_plain(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_./".contains(c))
}

/// The host at the beginning of an address without its scheme; who asks and the port are left out.
fn host_of(address: &str) -> Option<String> {
    let authority = address.split('/').next()?;
    let host = authority.rsplit('@').next()?.split(':').next()?.to_ascii_lowercase();
    let host = if host == "ssh.github.com" || host == "www.github.com" { GITHUB.to_owned() } else { host };
    is_plain(&host).then_some(host)
}

/// Host and repository of a remote: `https://HOST/O/R.git`, `ssh://git@HOST:PORT/O/R`, `git@HOST:O/R.git`.
fn address(url: &str) -> Option<(String, Repo)> {
    let (is_ssh, host, path) = match url.split_once("://") {
        Some((scheme @ ("https" | "http" | "ssh" | "git"), rest)) => {
            let (host, path) = rest.split_once('/')?;
            (scheme == "ssh", host, path)
        }
        Some(_) => return None,
        None => {
            let (host, path) = url.split_once(':')?;
            (true, host, path)
        }
    };
    let host = host_of(host)?;
    // A name without a dot is an alias of somebody's own for ssh, most of all for an account on github.com.
    let host = if is_ssh && !host.contains('.') { GITHUB.to_owned() } else { host };
    let path = path.trim_matches('/');
    Some((host, Repo::parse(path.strip_suffix(".git").unwrap_or(path))?))
}

#[cfg(test)]
mod tests {
    use super::address;

    #[test]
    fn a_remote_tells_host_and_repository_however_it_is_written() {
        let told = |url: &str| address(url).map(|(host, repo)| format!("{host} {repo}"));
        for (url, expected) in [
            ("https://github.com/Acme/harbor.git", "github.com Acme/harbor"),
            ("https://github.com/Acme/harbor/", "github.com Acme/harbor"),
            ("https://x-access-token:s3cr3t@github.com/Acme/harbor", "github.com Acme/harbor"),
            ("git@github.com:Acme/harbor.git", "github.com Acme/harbor"),
            ("git@work:Acme/harbor.git", "github.com Acme/harbor"),
            ("ssh://git@ssh.github.com:443/Acme/harbor.git", "github.com Acme/harbor"),
            ("ssh://git@GHE.example.com:2222/Acme/harbor.v2", "ghe.example.com Acme/harbor.v2"),
            ("https://acme.ghe.com/Acme/harbor", "acme.ghe.com Acme/harbor"),
            ("https://forge/Acme/harbor", "forge Acme/harbor"),
        ] {
            assert_eq!(told(url).as_deref(), Some(expected), "{url}");
        }
        for url in [
            "/srv/git/harbor.git",
            "file:///srv/git/harbor.git",
            "../harbor",
            "https://example.com/a/b/c",
            "git@h$x:a/b",
            "",
        ] {
            assert_eq!(told(url), None, "{url}");
        }
    }
}
