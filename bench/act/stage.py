"""The events of scripts/act and the scene of the stand-in for GitHub: usage stage.py REPOSITORY FLOW API FOLDER.

Writes event.json (the pull request), companion.json (the workflow_run that follows a fork's run), scene.json and run.json (the tokens) into FOLDER. Commits are those of
REPOSITORY, whose HEAD is the merge of the pull request into its base.
"""

import json
import pathlib
import subprocess
import sys

repository, flow, api, folder = sys.argv[1:]
folder = pathlib.Path(folder)
fork = flow == "review-forks"


def git(*arguments):
    return subprocess.run(["git", "-C", repository, *arguments], check=True, capture_output=True, text=True).stdout.strip()


merge, base, head = (git("rev-parse", name) for name in ("HEAD", "HEAD^1", "HEAD^2"))
title = git("log", "-1", "--format=%s", head)
upstream = {"id": 811, "name": "harbor", "full_name": "acme/harbor", "private": not fork, "fork": False, "default_branch": "main", "owner": {"login": "acme"}}
theirs = {**upstream, "id": 812, "full_name": "stranger/harbor", "fork": True, "owner": {"login": "stranger"}} if fork else upstream
author = {"login": "stranger" if fork else "mona", "type": "User"}
pull = {
    "number": 7,
    "state": "open",
    "draft": False,
    "merged": False,
    "title": title,
    "body": "",
    "user": author,
    "author_association": "NONE" if fork else "MEMBER",
    "head": {"ref": "grow", "sha": head, "repo": theirs, "user": theirs["owner"]},
    "base": {"ref": "main", "sha": base, "repo": upstream, "user": upstream["owner"]},
    "merge_commit_sha": merge,
    "html_url": "https://github.com/acme/harbor/pull/7",
}
# act takes the number for GITHUB_REF from the top.
event = {"action": "opened", "number": 7, "pull_request": pull, "repository": upstream, "sender": author}
run = {
    # What act gives every run.
    "id": 1,
    "name": "csis",
    "event": "pull_request",
    "status": "completed",
    "conclusion": "success",
    "run_attempt": 1,
    "path": ".github/workflows/review.yml",
    "head_branch": "grow",
    "head_sha": head,
    "head_repository": theirs,
    # GitHub leaves this empty for a fork's run: the pull request is found by its head.
    "pull_requests": [] if fork else [{"number": 7}],
    "actor": author,
    "triggering_actor": author,
}
companion = {"action": "completed", "workflow_run": run, "repository": upstream, "sender": author}

# A fork's token reads whatever the workflow asks for; the others hold what the two examples ask for, and nothing else.
read_only = {"contents": "read", "pull_requests": "read", "checks": "read", "actions": "read"}
review = {"contents": "read", "pull_requests": "write", "checks": "write"}
tokens = {
    "token": "ghs_benchReviewToken0000000000000000001",
    "companion_token": "ghs_benchCompanionToken000000000000001",
    "request_token": "bench-request-token-0000000000000001",
}
scene = {
    "repositories": [
        {
            "name": "acme/harbor",
            "id": upstream["id"],
            "private": upstream["private"],
            "head": base,
            "permissions": {"mona": "write"},
            "commits": [base, head, merge],
            "pulls": [
                {
                    "number": pull["number"],
                    "branch": "grow",
                    "head": head,
                    "base": "main",
                    "author": author["login"],
                    "title": title,
                    "files": git("diff", "--name-only", base, merge).splitlines(),
                    "run": {"id": run["id"], "path": run["path"]},
                    **({"fork": theirs["full_name"]} if fork else {}),
                }
            ],
        }
    ],
    "tokens": [
        {"token": tokens["token"], "repository": "acme/harbor", "permissions": read_only if fork else review},
        {"token": tokens["companion_token"], "repository": "acme/harbor", "permissions": {"actions": "read", "pull_requests": "write"}},
    ],
    "oidc": {
        "request_token": tokens["request_token"],
        "repository": "acme/harbor",
        "ref": "refs/pull/7/merge",
        "event_name": "pull_request",
        "workflow": run["path"],
    },
}
for name, value in {"event": event, "companion": companion, "scene": scene, "run": tokens}.items():
    (folder / f"{name}.json").write_text(json.dumps(value, indent=1))
