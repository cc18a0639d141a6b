#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Build dist/instinct-bringup-VERSION.tar.gz.
# ansible-galaxy leaves out links that lead outside of the collection, and the roles are such a link:
# it is given a copy in which the links are files.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -aL python_modules "$work/bringup"
find "$work/bringup" -name __pycache__ -prune -exec rm -rf {} +
.venv/bin/ansible-galaxy collection build --force --output-path dist "$work/bringup"
