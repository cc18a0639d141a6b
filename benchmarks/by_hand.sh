#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What a person would type on a bare node for the same result as site.yml's first run: the measure of its cost.
# Called over one ssh as root. Arguments: mirror, key's URL, codename, ROCm path, driver path, installer's URL, venv,
# index's URL; the wheels' lock comes on stdin.
set -eu
mirror=$1 key=$2 codename=$3 apt_path=$4 driver_path=$5 installer=$6 venv=$7 index=$8
export DEBIAN_FRONTEND=noninteractive LC_ALL=C
lock=$(mktemp)
cat >"$lock"

fetch() { python3 -c 'import sys, urllib.request; urllib.request.urlretrieve(*sys.argv[1:])' "$1" "$2"; }

mkdir -p /etc/apt/keyrings
fetch "$key" /etc/apt/keyrings/rocm.asc
printf 'Package: *\nPin: release o=repo.radeon.com\nPin-Priority: 600\n' >/etc/apt/preferences.d/rocm-pin-600
fetch "$installer" /tmp/amdgpu-install.deb
apt-get -qq update
apt-get -qqy install /tmp/amdgpu-install.deb
options="[arch=amd64 signed-by=/etc/apt/keyrings/rocm.asc]"
echo "deb $options $mirror/$apt_path $codename main" >/etc/apt/sources.list.d/rocm.list
echo "deb $options $mirror/$driver_path $codename main" >/etc/apt/sources.list.d/amdgpu.list
apt-get -qq update
apt-get -qqy install "linux-headers-$(cat /proc/sys/kernel/osrelease)"
amdgpu-install -y --usecase=dkms,hiplibsdk >/dev/null
apt-get -qqy install openmpi-bin libopenmpi-dev python3-venv python3-packaging
python3 -m venv "$venv"
"$venv/bin/pip" --quiet install --index-url "$index" --trusted-host "$(echo "$index" | cut -d/ -f3)" \
    --require-hashes --no-cache-dir --only-binary :all: -r "$lock"
usermod -a -G render,video deploy
rm -f "$lock"
