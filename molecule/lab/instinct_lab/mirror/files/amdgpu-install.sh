#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# amdgpu-install @VERSION@
# @LABEL@
# Our own writing: it takes the options, prints the messages and ends with the codes that are described of AMD's
# script, and calls the real apt-get. The running kernel is read from /proc/sys/kernel/osrelease, since `uname -r`
# in a container names the host's.

set -u

usecase_table() {
    cat <<'TABLE'
@USECASES@
TABLE
}

usage() {
    cat <<USAGE
Usage: ${0##*/} [options...]
  -h|--help                 this help
  --usecase=NAME[,NAME]     what to install, default graphics,opencl,hip
  --list-usecase            list the use cases
  --opencl=rocr|legacy      OpenCL implementation
  --vulkan=amdvlk|pro|radv  Vulkan implementation
  --no-dkms                 do not install the kernel driver
  --no-32                   do not install 32-bit packages
  --rocmrelease=X.Y.Z|all   a certain release of a multi-release host
  --accept-eula             enable the proprietary packages
  --dryrun                  print what would be run
  --pro                     deprecated
  --uninstall               remove the driver and ROCm
Other options are passed to apt-get.
USAGE
}

die() {
    echo "ERROR: $*" >&2
    exit 1
}

run() {
    if [[ $dryrun == 1 ]]; then
        echo "$*"
    else
        "$@"
    fi
}

packages_of() {
    usecase_table | awk -v name="$1" '$1 == name { $1 = ""; sub(/^ /, ""); print }'
}

# Packages of this name or of a versioned form of it that dpkg has installed, held ones included.
installed() {
    dpkg -l 2>/dev/null | awk -v pattern="^($1)\$" '$1 ~ /^[hi]i/ { name = $2; sub(/:.*/, "", name); if (name ~ pattern) print name }'
}

usecases=graphics,opencl,hip
opencl=rocr
dkms=1
lib32=1
rocmrelease=
eula=0
dryrun=0
uninstall=0
args=()
[[ ${0##*/} == amdgpu-uninstall ]] && uninstall=1

for option in "$@"; do
    case "$option" in
    -h | --help) usage; exit 0 ;;
    --list-usecase) echo "Available use cases:"; usecase_table | awk '{ print "  " $1 }'; exit 0 ;;
    --usecase=*) usecases=${option#*=} ;;
    --opencl=*) opencl=${option#*=} ;;
    --vulkan=*) ;;
    --no-dkms) dkms=0 ;;
    --no-32) lib32=0 ;;
    --rocmrelease=*) rocmrelease=${option#*=} ;;
    --accept-eula) eula=1 ;;
    --dryrun) dryrun=1 ;;
    --uninstall) uninstall=1 ;;
    --pro) echo "WARNING: --pro is deprecated" >&2 ;;
    *) args+=("$option") ;;
    esac
done

if [[ -n $rocmrelease && $rocmrelease != all && ! $rocmrelease =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]]; then
    die "Invalid ROCm release '$rocmrelease', three numbers are wanted"
fi
if [[ -z $rocmrelease && -n $(installed 'rocm-core[0-9].*') ]]; then
    die "Multiple ROCm releases are installed, use --rocmrelease"
fi

if [[ $uninstall == 1 ]]; then
    case "$rocmrelease" in
    '') found=$(installed 'amdgpu-dkms|amdgpu-dkms-firmware|amdgpu-core|rocm-core') ;;
    all) found=$(installed 'amdgpu-dkms|amdgpu-dkms-firmware|amdgpu-core|rocm-core.*') ;;
    *) found=$(installed "rocm-core${rocmrelease//./[.]}") ;;
    esac
    if [[ -z $found ]]; then
        echo "Nothing to uninstall"
        exit 0
    fi
    # One word a package: the list is meant to be split.
    # shellcheck disable=SC2086
    run apt-get purge "${args[@]}" $found || exit $?
    [[ $dryrun == 1 ]] || rm -f /usr/bin/amdgpu-uninstall
    exit 0
fi

if [[ $dkms == 0 ]]; then
    [[ $usecases == *dkms* ]] && die "--no-dkms cannot be used with use case dkms"
    [[ $usecases == *workstation* || $opencl == legacy ]] && die "--no-dkms cannot be used with workstation or legacy OpenCL"
fi

packages=()
IFS=, read -r -a wanted <<<"$usecases"
for usecase in "${wanted[@]}"; do
    found=$(packages_of "$usecase")
    [[ -n $found ]] || die "Usecase implementation '$usecase' is not supported or invalid"
    for package in $found; do
        [[ $lib32 == 0 && $package == *-lib32 ]] && continue
        if [[ -n $rocmrelease && $rocmrelease != all && $package == rocm-* ]]; then
            package+=$rocmrelease
        fi
        packages+=("$package")
    done
done

if [[ $eula == 1 ]]; then
    run sed -i 's/^#deb /deb /' /etc/apt/sources.list.d/amdgpu-proprietary.list
fi
[[ $dryrun == 1 ]] || apt-get update || exit $?

kernel=$(cat /proc/sys/kernel/osrelease)
if [[ $dkms == 1 ]]; then
    [[ " ${packages[*]} " == *" amdgpu-dkms "* ]] || packages+=(amdgpu-dkms)
    for package in "linux-headers-$kernel" "linux-modules-extra-$kernel"; do
        if apt-cache show "$package" >/dev/null 2>&1; then
            packages=("$package" "${packages[@]}")
        fi
    done
fi

run apt-get install "${args[@]}" "${packages[@]}" || exit $?
[[ $dryrun == 1 ]] && exit 0

ln -sf amdgpu-install /usr/bin/amdgpu-uninstall
if [[ $dkms == 1 ]] && ! dkms status amdgpu 2>/dev/null | grep -F "$kernel" | grep -q installed; then
    echo "WARNING: amdgpu dkms failed for running kernel"
fi
exit 0
