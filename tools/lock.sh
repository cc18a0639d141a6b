#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Make the locks in requirements/ again from the .in files, with the newest versions that fit.
# The tool that resolves them is used for this alone, so it lives in a folder that is removed at the end.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${PYTHON:-/usr/bin/python3}" -m venv "$work"
"$work/bin/python" -m pip install --quiet --disable-pip-version-check uv

# One lock for Python 3.11 and newer. It names no index: each site's pip settings say where packages come from.
compile() {
    "$work/bin/uv" pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes \
        --no-emit-index-url --no-emit-find-links --no-header "$@"
}
cd requirements
compile --output-file run.txt run.in
compile --constraints run.txt --output-file dev.txt dev.in
