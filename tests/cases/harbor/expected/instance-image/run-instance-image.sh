#!/usr/bin/env bash
# Runs the instance-image roots: each is planned and gated, and applied where its flag allows.
# Written by csis generate; run it with `bash run-instance-image.sh`.
# state: workspace fleet -> s3://harbor-state/roots/harbor/fleet.tfstate
set -euo pipefail
unset CDPATH
cd "$(dirname "${BASH_SOURCE[0]}")"
CSIS_ROOT="$(cd ../.. && pwd)"
export CSIS_ROOT

# --- instance-generation: fleet ---
( cd fleet/instance-generation && copy="$(csis --root "$CSIS_ROOT" materialize .)" && cd "$copy" && rm -f tfplan )
( cd fleet/instance-generation && copy="$(csis --root "$CSIS_ROOT" materialize .)" && cd "$copy" && tofu init -input=false -reconfigure -backend-config=fleet-instance-generation.tfbackend.hcl )
( cd fleet/instance-generation && copy="$(csis --root "$CSIS_ROOT" materialize .)" && cd "$copy" && tofu plan -input=false -out=tfplan -var=ephemeral_present=false )
( cd fleet/instance-generation && copy="$(csis --root "$CSIS_ROOT" materialize .)" && cd "$copy" && csis gate-plan --planfile tfplan --tofu tofu )
