#!/usr/bin/env bash
# Runs the storage roots: each is planned and gated, and applied where its flag allows.
# Written by csis generate; run it with `bash run-storage.sh`.
# state: workspace buckets -> s3://harbor-state/roots/harbor/buckets.tfstate
# state: workspace shares -> s3://harbor-state/roots/harbor/shares.tfstate
# state: workspace volumes -> s3://harbor-state/roots/harbor/volumes.tfstate
set -euo pipefail
unset CDPATH
cd "$(dirname "${BASH_SOURCE[0]}")"
CSIS_ROOT="$(cd ../.. && pwd)"
export CSIS_ROOT

# --- storage-generation: buckets ---
( cd buckets/storage-generation && copy="$(csis --root "$CSIS_ROOT" materialize .)" && cd "$copy" && rm -f tfplan )
( cd buckets/storage-generation && copy="$(csis --root "$CSIS_ROOT" materialize .)" && cd "$copy" && tofu init -input=false -reconfigure -backend-config=buckets-storage-generation.tfbackend.hcl )
( cd buckets/storage-generation && copy="$(csis --root "$CSIS_ROOT" materialize .)" && cd "$copy" && tofu plan -input=false -out=tfplan )
( cd buckets/storage-generation && copy="$(csis --root "$CSIS_ROOT" materialize .)" && cd "$copy" && csis gate-plan --planfile tfplan --tofu tofu )
( cd buckets/storage-generation && copy="$(csis --root "$CSIS_ROOT" materialize .)" && cd "$copy" && csis apply-check --lifecycle storage --root buckets --root-alias aws-west )
( cd buckets/storage-generation && copy="$(csis --root "$CSIS_ROOT" materialize .)" && cd "$copy" && tofu apply -input=false tfplan )

# --- storage-generation: shares ---
( cd shares/storage-generation && copy="$(csis --root "$CSIS_ROOT" materialize .)" && cd "$copy" && rm -f tfplan )
( cd shares/storage-generation && copy="$(csis --root "$CSIS_ROOT" materialize .)" && cd "$copy" && tofu init -input=false -reconfigure -backend-config=shares-storage-generation.tfbackend.hcl )
( cd shares/storage-generation && copy="$(csis --root "$CSIS_ROOT" materialize .)" && cd "$copy" && tofu plan -input=false -out=tfplan )
( cd shares/storage-generation && copy="$(csis --root "$CSIS_ROOT" materialize .)" && cd "$copy" && csis gate-plan --planfile tfplan --tofu tofu )
( cd shares/storage-generation && copy="$(csis --root "$CSIS_ROOT" materialize .)" && cd "$copy" && csis apply-check --lifecycle storage --root shares --root-alias aws-west )
( cd shares/storage-generation && copy="$(csis --root "$CSIS_ROOT" materialize .)" && cd "$copy" && tofu apply -input=false tfplan )

# --- storage-generation: volumes ---
( cd volumes/storage-generation && copy="$(csis --root "$CSIS_ROOT" materialize .)" && cd "$copy" && rm -f tfplan )
( cd volumes/storage-generation && copy="$(csis --root "$CSIS_ROOT" materialize .)" && cd "$copy" && tofu init -input=false -reconfigure -backend-config=volumes-storage-generation.tfbackend.hcl )
( cd volumes/storage-generation && copy="$(csis --root "$CSIS_ROOT" materialize .)" && cd "$copy" && tofu plan -input=false -out=tfplan )
( cd volumes/storage-generation && copy="$(csis --root "$CSIS_ROOT" materialize .)" && cd "$copy" && csis gate-plan --planfile tfplan --tofu tofu )
( cd volumes/storage-generation && copy="$(csis --root "$CSIS_ROOT" materialize .)" && cd "$copy" && csis apply-check --lifecycle storage --root volumes --root-alias aws-west )
( cd volumes/storage-generation && copy="$(csis --root "$CSIS_ROOT" materialize .)" && cd "$copy" && tofu apply -input=false tfplan )
