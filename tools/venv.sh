#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Make .venv, or bring it up to date with locks: tools/venv.sh LOCK...
# Every package is pinned and checked against the hashes of the lock. pip's own settings are used as they are.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

python=${PYTHON:-/usr/bin/python3}
if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
    echo "$python is not Python 3.11 or newer, which ansible-core 2.19 needs. Name another one: make setup PYTHON=/path/to/python3" >&2
    exit 1
fi

# A virtual environment holds its own path and the path of its Python: after a move or an upgrade it is made again.
interpreter=$(sed -n '1s/^#!//p' .venv/bin/pip 2>/dev/null || true)
if [[ $interpreter != "$PWD/.venv/bin/"* ]] || ! .venv/bin/python -c 'import pip' 2>/dev/null; then
    echo "Making .venv with $("$python" --version)"
    rm -rf .venv
    "$python" -m venv .venv
fi

for lock in "$@"; do
    stamp=.venv/$(basename "$lock").installed
    if cmp -s "$lock" "$stamp"; then
        continue
    fi
    echo "Installing $lock"
    .venv/bin/python -m pip install --quiet --quiet --disable-pip-version-check --require-hashes --requirement "$lock"
    .venv/bin/python -m pip check >/dev/null
    cp "$lock" "$stamp"
done
