"""Shows what the stand-in for GitHub was left with after scripts/act: usage show.py FOLDER RUN FLOW.

Exit 1 when no comment was posted, when there is more than one, when it does not hold what is certain of the flow's (the planned roots by name), or when a token
stands in a call, a comment or the log. Without a token nothing may be called, and the log holds the report.
"""

import json
import pathlib
import sys

folder, run, flow = pathlib.Path(sys.argv[1]), json.loads(pathlib.Path(sys.argv[2]).read_text()), sys.argv[3]
# What the comment of a flow holds for certain.
planned = ["applies 2 of 3 roots", "`storage/buckets`", "`storage/volumes`", "`storage/shares`", "`instance-image/fleet`", "m7i.large → m7i.xlarge"]
holds = {
    "review": planned,
    "local": planned,
    "review-forks": ["with no credential", "storage/buckets", "instance-image/fleet"],
    "cancelled": ["cancelled"],
}[flow]
state = json.loads((folder / "state.json").read_text())
calls = json.loads((folder / "calls.json").read_text())
repo = state["repos"]["acme/harbor"]
comments = list(repo["comments"].values())
failures = []

for comment in comments:
    print(f"-- comment by {comment['author']}, {len(comment['body'].encode())} bytes\n{comment['body']}\n")
for check in repo["check_runs"].values():
    print(f"-- check run {check['name']}: {check.get('conclusion') or check['status']}, {len(check['annotations'])} annotations")
print(f"-- {len(calls)} calls to GitHub, {sum(call['mutation'] for call in calls)} of them writes")
for call in calls:
    print(f"   {call['status']} {call['method']:6} {call['path']}{'?' + call['query'] if call['query'] else ''} {' '.join(call['operations'])}")

log = (folder / "act.log").read_text(errors="replace")
if flow == "local":
    if calls:
        failures.append(f"{len(calls)} calls to GitHub without a token")
    failures += [f"the log does not hold `{text}`" for text in holds if text not in log]
elif len(comments) != 1:
    failures.append(f"{len(comments)} comments instead of one")
else:
    failures += [f"the comment does not hold `{text}`" for text in holds if text not in comments[0]["body"]]
    (folder / "comment.md").write_text(comments[0]["body"])
    print(f"\nThe comment as Markdown: {folder / 'comment.md'}")
for name in ("token", "companion_token", "request_token"):
    if run[name] in log or run[name] in json.dumps(state):
        failures.append(f"the {name} stands in the log or in what was posted")
if any(call["leaked"] for call in calls):
    failures.append("a token stands in a path, a query or a body")
for failure in failures:
    print(f"scripts/act: {failure}", file=sys.stderr)
sys.exit(bool(failures))
