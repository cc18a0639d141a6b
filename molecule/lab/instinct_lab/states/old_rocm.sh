#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# State `old-rocm`: makes a fresh 20.04 node one that has carried ROCm for years. Run as root on the node, once.
#
# ROCm 5.2.0 (rocm-hip-sdk and amdgpu-dkms) comes from the mirror through the amdgpu-install package 22.20, as its
# owner would have installed it. On top of it (old_rocm.yml lists the same for tests):
#   leftovers that an upgrade must find and clear
#     held package        rocm-hip-runtime
#     orphaned dkms tree  /var/lib/dkms/amdgpu/5.13.20.22.10-1420322.20.04, its source link dangles
#     old list            /etc/apt/sources.list.d/rocm-old.list, without signed-by
#     unowned tree        /opt/rocm-5.1.3, also a second choice of the alternative `rocm`
#     distribution's own  rocminfo 5.0.0-1, over AMD's lower version
#     stale alternative   hipcc -> /opt/rocm-5.0.2/bin/hipcc, which is gone
#   things of the site's own that must survive
#     another vendor's list, a blacklist, a hold on linux-image-generic, /opt/site
set -eu
export DEBIAN_FRONTEND=noninteractive LC_ALL=C

mirror=${LAB_MIRROR:-http://mirror.lab}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# While a node boots, /tmp is cleaned under apt's feet and the kernel is not yet the node's.
wait_for_boot() {
    for _ in $(seq 150); do
        case $(systemctl is-system-running 2>/dev/null || true) in
        running | degraded) return 0 ;;
        esac
        sleep 0.2
    done
    echo "old_rocm.sh: the node has not booted after 30 s" >&2
    return 1
}

install_release() {
    package="$scratch/amdgpu-install_22.20.50200-1_all.deb"
    kernel=$(cat /proc/sys/kernel/osrelease)
    apt-get -q update
    apt-get -qy install --no-install-recommends linux-image-generic "linux-headers-$kernel"
    # A bare node has neither curl nor wget.
    python3 -c 'import sys, urllib.request; urllib.request.urlretrieve(*sys.argv[1:])' \
        "$mirror/amdgpu-install/22.20/ubuntu/focal/amdgpu-install_22.20.50200-1_all.deb" "$package"
    dpkg -i "$package"
    # 20.04 had no packages of these names; the lab's nodes do, so AMD's are preferred for this one install only.
    mkdir "$scratch/preferences.d"
    printf 'Package: *\nPin: release o=repo.radeon.com\nPin-Priority: 1001\n' >"$scratch/preferences.d/lab"
    amdgpu-install -y --no-install-recommends -o "Dir::Etc::PreferencesParts=$scratch/preferences.d" --usecase=dkms,hiplibsdk
    apt-get -qy install --no-install-recommends rocminfo=5.0.0-1
    apt-mark hold rocm-hip-runtime
}

leave_traces() {
    mkdir -p /var/lib/dkms/amdgpu/5.13.20.22.10-1420322.20.04
    ln -s /usr/src/amdgpu-5.13.20.22.10-1420322.20.04 /var/lib/dkms/amdgpu/5.13.20.22.10-1420322.20.04/source

    echo "deb [arch=amd64] $mirror/rocm/apt/5.2 focal main" >/etc/apt/sources.list.d/rocm-old.list

    mkdir -p /opt/rocm-5.1.3/.info /opt/rocm-5.1.3/bin /opt/rocm-5.1.3/lib
    echo 5.1.3-66 >/opt/rocm-5.1.3/.info/version
    echo 'Lab stand-in: left by an unpacked archive, owned by no package.' >/opt/rocm-5.1.3/lib/librccl.so.1.0.50103
    printf '#!/bin/sh\necho "hipcc of 5.1.3 (lab stand-in)"\n' >/opt/rocm-5.1.3/bin/hipcc
    chmod 0755 /opt/rocm-5.1.3/bin/hipcc
    update-alternatives --install /opt/rocm rocm /opt/rocm-5.1.3 50103

    mkdir -p /opt/rocm-5.0.2/bin
    touch /opt/rocm-5.0.2/bin/hipcc
    update-alternatives --install /usr/bin/hipcc hipcc /opt/rocm-5.0.2/bin/hipcc 50002
    rm -r /opt/rocm-5.0.2
}

keep_for_the_site() {
    suite=/srv/othervendor/dists/stable
    mkdir -p "$suite/main/binary-amd64" /opt/site
    : >"$suite/main/binary-amd64/Packages"
    {
        printf 'Origin: Other Vendor (lab stand-in)\nSuite: stable\nCodename: stable\nArchitectures: amd64\nComponents: main\n'
        printf 'Date: Wed, 08 Feb 2023 00:00:00 UTC\nSHA256:\n'
        printf ' %s 0 main/binary-amd64/Packages\n' "$(sha256sum <"$suite/main/binary-amd64/Packages" | cut -d' ' -f1)"
    } >"$suite/Release"
    echo 'deb [trusted=yes] file:/srv/othervendor stable main' >/etc/apt/sources.list.d/othervendor.list
    printf '# Site: consoles use the BMC.\nblacklist nouveau\n' >/etc/modprobe.d/site-blacklist.conf
    echo 'Site notes, made by hand.' >/opt/site/README
    apt-mark hold linux-image-generic
}

wait_for_boot
install_release
leave_traces
keep_for_the_site
apt-get -q update
