#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Write the lock of DeepSpeed and its stack beside a release's lock of wheels: what the catalog pairs with its torch.
# Usage: tools/deepspeed_lock.sh RELEASE WHEELS_LOCK [PYTHON]; the file is locks/deepspeed-rocmRELEASE.txt, for a person
# to review and for deepspeed_lock_file. pip's own settings say where it comes from.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
release=$1 wheels=$2 python=${3:-3.10}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${PYTHON:-/usr/bin/python3}" -m venv "$work/venv"
"$work/venv/bin/python" -m pip install --quiet --disable-pip-version-check uv pyyaml
"$work/venv/bin/python" tools/deepspeed_wanted.py "$release" "$wheels" "$work"
[[ -s $work/wanted.in ]] || { echo "the catalog pairs no DeepSpeed with the torch of $release: no lock is written"; exit 0; }
mkdir -p locks
mapfile -t options <"$work/newer.txt"
"$work/venv/bin/uv" pip compile --quiet --python-version "$python" --generate-hashes --no-emit-index-url --no-header \
    --python-platform x86_64-manylinux_2_28 --override "$work/overrides.txt" --constraint "$work/constraints.txt" \
    "${options[@]}" --output-file "locks/deepspeed-rocm$release.txt" "$work/wanted.in"
echo "locks/deepspeed-rocm$release.txt"
