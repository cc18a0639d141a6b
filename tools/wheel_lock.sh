#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Write the wheels' lock of a ROCm release: every wheel by version and SHA-256, from the one index of that release.
# Usage: tools/wheel_lock.sh RELEASE [INDEX_BASE] [PYTHON]; the file is locks/pytorch-rocmRELEASE.txt, for a person to
# review and for pytorch_lock_file. PYTHON is the nodes' own, such as 3.10.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
release=$1 base=${2:-https://download.pytorch.org/whl} python=${3:-3.10}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${PYTHON:-/usr/bin/python3}" -m venv "$work/venv"
"$work/venv/bin/python" -m pip install --quiet --disable-pip-version-check uv pyyaml
# What the catalog pins, and the index that it names.
"$work/venv/bin/python" - "$release" >"$work/wheels.in" <<'END'
import sys

import yaml

torch = yaml.safe_load(open(f"python_modules/catalog/releases/{sys.argv[1]}.yml"))["torch"]
print("# index", torch["index_tag"])
for name, version in torch["packages"].items():
    print(f"{name}=={version}")
print("numpy" + (torch["numpy"] or ""))
END
tag=$(sed -n 's/^# index //p' "$work/wheels.in")
mkdir -p locks
"$work/venv/bin/uv" pip compile --python-version "$python" --generate-hashes --no-emit-index-url --no-header \
    --default-index "$base/$tag" --python-platform x86_64-manylinux_2_28 --output-file "locks/pytorch-rocm$release.txt" "$work/wheels.in" >/dev/null
echo "locks/pytorch-rocm$release.txt"
