#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Run a command as root with the lab's settings: tools/as-root.sh COMMAND...
# The simulated nodes need root (systemd in containers, bridges, mounts). What the lab wrote for its user,
# the ssh key and the inventory, is handed to the person who called.
set -euo pipefail

settings=("LC_ALL=$LC_ALL" "PATH=$PATH" "PYTHONPATH=$PWD/molecule/lab" "ANSIBLE_CONFIG=$PWD/ansible.cfg" "INSTINCT_LAB=${INSTINCT_LAB:-}")
if [[ $(id -u) -eq 0 ]]; then
    exec env "${settings[@]}" "$@"
fi

if ! command -v sudo >/dev/null || ! { sudo -n true 2>/dev/null || [[ -t 0 ]]; }; then
    echo "The simulated nodes need root. Call make again as root, or install sudo and allow it to $(id -un)." >&2
    exit 1
fi
result=0
sudo env "${settings[@]}" "$@" || result=$?
for path in .lab/keys .lab/known_hosts inventory/lab reports; do
    [[ ! -e $path ]] || sudo chown -R "$(id -u):$(id -g)" "$path"
done
exit "$result"
