"""What the account of harbor holds before anything of csis is applied: the state bucket and the instance profile.

The bucket holds an empty state per root, so that the states have the lineages which the standing records name.

usage: harbor_account.py [BUCKET]        (endpoint and credentials from the environment; harmless when run again)"""

import json
import sys

import boto3
from botocore.exceptions import ClientError

BUCKET = sys.argv[1] if len(sys.argv) > 1 else "harbor-state"
PROFILE = "harbor-ssm"


def unless_there(call, *codes, **arguments):
    try:
        return call(**arguments)
    except ClientError as error:
        if error.response["Error"]["Code"] not in codes:
            raise
        return None


s3 = boto3.client("s3", region_name="us-west-2")
place = {"LocationConstraint": "us-west-2"}
taken = ("BucketAlreadyOwnedByYou", "BucketAlreadyExists")
unless_there(s3.create_bucket, *taken, Bucket=BUCKET, CreateBucketConfiguration=place)
s3.put_bucket_versioning(Bucket=BUCKET, VersioningConfiguration={"Status": "Enabled"})

LINEAGES = {
    "buckets": "b0c4e75a-0000-4000-8000-00000000b0c4",
    "fleet": "f1ee7000-0000-4000-8000-00000000f1ee",
    "shares": "5a7e5000-0000-4000-8000-000000005a7e",
    "volumes": "701d0e50-0000-4000-8000-00000000701d",
}
held = {item["Key"] for item in s3.list_objects_v2(Bucket=BUCKET).get("Contents", [])}
for workspace, lineage in LINEAGES.items():
    key = f"roots/harbor/{workspace}.tfstate"
    state = {"version": 4, "terraform_version": "1.6.0", "serial": 1, "lineage": lineage, "outputs": {}, "resources": []}
    if key not in held:
        s3.put_object(Bucket=BUCKET, Key=key, Body=json.dumps(state).encode())

iam = boto3.client("iam", region_name="us-west-2")
trust = {"Version": "2012-10-17", "Statement": [
    {"Effect": "Allow", "Principal": {"Service": "ec2.amazonaws.com"}, "Action": "sts:AssumeRole"}]}
there = "EntityAlreadyExists"
unless_there(iam.create_role, there, RoleName=PROFILE, AssumeRolePolicyDocument=json.dumps(trust))
unless_there(iam.create_instance_profile, there, InstanceProfileName=PROFILE)
unless_there(iam.add_role_to_instance_profile, there, "LimitExceeded", InstanceProfileName=PROFILE, RoleName=PROFILE)
