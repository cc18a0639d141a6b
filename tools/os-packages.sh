#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Install the operating-system packages that are missing: tools/os-packages.sh PURPOSE PACKAGE...
# Names them first. Without root and sudo: says what to run, and exits 1.
set -euo pipefail

purpose=$1
shift

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    echo "This machine has no apt, so nothing is installed. Needed for $purpose, under Debian's names: $*" >&2
    exit 0
fi

missing=()
for package in "$@"; do
    # The middle letter is the state: "i" is unpacked and configured, a hold in front does not matter.
    status=$(dpkg-query -W -f '${db:Status-Abbrev}' "$package" 2>/dev/null || true)
    [[ ${status:1:1} == i ]] || missing+=("$package")
done
[[ ${#missing[@]} -gt 0 ]] || exit 0

install="apt-get install --yes --no-install-recommends ${missing[*]}"
as_root=()
if [[ $(id -u) -ne 0 ]]; then
    # A person at a terminal may type a password. Nobody else can.
    if command -v sudo >/dev/null && { sudo -n true 2>/dev/null || [[ -t 0 ]]; }; then
        as_root=(sudo)
    else
        echo "For $purpose these packages are missing: ${missing[*]}. Install them as root, then start again: apt-get update && $install" >&2
        exit 1
    fi
fi

echo "Installing operating-system packages for $purpose: ${missing[*]}"
"${as_root[@]}" apt-get update -qq
# shellcheck disable=SC2086 # the words of the command that was named
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive $install -qq -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0 >/dev/null
