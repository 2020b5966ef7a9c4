#!/usr/bin/env bash
# Runs every runner script of this emission, in order.
# Written by csis generate; run it with `bash final_execution.sh`.
set -euo pipefail
unset CDPATH
cd "$(dirname "${BASH_SOURCE[0]}")"
for lifecycle in identity storage base-image instance-image release retention; do
  script="$lifecycle/run-$lifecycle.sh"
  if [ -f "$script" ]; then
    bash "$script"
  fi
done
