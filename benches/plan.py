"""Writes a plan JSON of about MEGABYTES to stdout: usage plan.py MEGABYTES. Half of its objects change; some are destroyed, some have large attributes."""
import json
import sys

size, written, n = int(sys.argv[1]) * 1_000_000, 0, 0
out = sys.stdout


def emit(text):
    global written
    out.write(text)
    written += len(text)


def change(n):
    volume = {"id": f"vol-{n:017x}", "size": 50, "type": "gp3", "encrypted": True, "availability_zone": "us-west-2a", "tags": {"Name": f"s{n}", "csis_config": "harbor"}}
    # A comment's worth of text, as policies and scripts are.
    volume["description"] = "a long text that fills a plan " * 60
    after = {**volume, "tags": {**volume["tags"], "tier": "data"}}
    actions, unknown = ["update"], {}
    if n % 2:
        actions, after = ["no-op"], volume
    elif n % 1000 == 0:
        actions, after = ["delete"], None
    return {
        "address": f"module.storage_s{n}.aws_ebs_volume.this", "module_address": f"module.storage_s{n}", "mode": "managed", "type": "aws_ebs_volume",
        "name": "this", "provider_name": "registry.terraform.io/hashicorp/aws",
        "change": {"actions": actions, "before": volume, "after": after, "after_unknown": unknown, "before_sensitive": {}, "after_sensitive": {}},
    }


emit('{"format_version":"1.2","terraform_version":"1.11.4","planned_values":{"root_module":{}},"resource_changes":[')
while written < size:
    emit(("," if n else "") + json.dumps(change(n)))
    n += 1
emit('],"complete":true,"errored":false,"applyable":true}')
