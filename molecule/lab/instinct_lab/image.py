# SPDX-License-Identifier: Apache-2.0
"""Images of the lab, built on the spot from Debian packages and kept in podman's storage.

Every image is tagged by a hash of what it is made of, so that a second run and
another clone of the repository find it again instead of building it.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tempfile
from pathlib import Path

from . import podman, settings
from .podman import LabError

BASE_PACKAGES = (
    "systemd", "systemd-sysv", "dbus", "openssh-server", "sudo", "python3",
    "ca-certificates", "iproute2", "procps", "kmod",
)  # fmt: skip

# The releases that a node can be presented as: Ubuntu's code name to version.
RELEASES = {"focal": ("20.04", "20.04.6 LTS (Focal Fossa)"), "jammy": ("22.04", "22.04.3 LTS (Jammy Jellyfish)")}

# Keys that Debian's package made while the image was built would be the same
# on every node; each node gets its own when it starts.
_CUSTOMIZE = 'rm -f "$1"/etc/ssh/ssh_host_*; : > "$1/etc/machine-id"; rm -f "$1/etc/hostname"'


def digest(*parts: str) -> str:
    """Return the tag of an image made of these parts."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:12]


def reference(kind: str, tag: str) -> str:
    """Return the full name of an image of the lab."""
    return f"localhost/{settings.IMAGE_PREFIX}-{kind}:{tag}"


def image_id(ref: str) -> str:
    """Return podman's id of an image that exists."""
    return podman.run("image", "inspect", "--format", "{{.Id}}", ref).stdout.strip()


def ensure_base() -> str:
    """Return the reference of the base image, building it when it is not there (about 40 s)."""
    ref = reference("base", digest(settings.DEBIAN_SUITE, *BASE_PACKAGES, _CUSTOMIZE))
    if podman.exists("image", ref):
        return ref
    podman.require_tools()
    with tempfile.TemporaryDirectory(prefix="instinct-lab-") as scratch:
        archive = Path(scratch) / "base.tar"
        command = [
            "mmdebstrap", "--quiet", "--variant=apt", f"--include={','.join(BASE_PACKAGES)}",
            f"--customize-hook={_CUSTOMIZE}",
        ]  # fmt: skip
        if settings.DEBIAN_KEYRING.exists():
            command.append(f"--keyring={settings.DEBIAN_KEYRING}")
        done = subprocess.run(
            [*command, settings.DEBIAN_SUITE, str(archive)], check=False, text=True, capture_output=True
        )
        if done.returncode != 0:
            raise LabError(f"mmdebstrap failed ({done.returncode}):\n{done.stderr[-3000:]}")
        podman.run("import", str(archive), ref)
    return ref


def ensure_derived(name: str, packages: list[str], script: str | None = None) -> str:
    """Return an image that is the base plus Debian packages plus a shell script run as root.

    The packages come straight from Debian's archive, not through the lab's
    mirror, which may be what is being built.
    """
    base = ensure_base()
    ref = reference(name, digest(image_id(base), *sorted(packages), script or ""))
    if podman.exists("image", ref):
        return ref
    lines = [f"FROM {base}"]
    if packages:
        lines.append(
            "RUN apt-get -q update && DEBIAN_FRONTEND=noninteractive apt-get -qy install --no-install-recommends "
            f"{' '.join(sorted(packages))} && apt-get clean && rm -rf /var/lib/apt/lists/*"
        )
    with tempfile.TemporaryDirectory(prefix="instinct-lab-") as scratch:
        context = Path(scratch)
        if script:
            (context / "script").write_text(script)
            lines += ["COPY script /tmp/script", "RUN sh -eu /tmp/script && rm /tmp/script"]
        _build(context, lines, ref)
    return ref


def ensure_node(release: str, parent: str | None = None) -> str:
    """Return the image of a node presented as this Ubuntu release.

    Args:
        release: "focal" or "jammy".
        parent: an image to stand on instead of the base (the tests add tools that way).
    """
    if release not in RELEASES:
        raise LabError(f"unknown release {release!r}: known are {', '.join(sorted(RELEASES))}")
    parent = parent or ensure_base()
    with tempfile.TemporaryDirectory(prefix="instinct-lab-") as scratch:
        context = Path(scratch)
        stage_files(context / "files", release)
        ref = reference(f"node-{release}", digest(image_id(parent), tree_digest(context / "files"), *_SETUP))
        if not podman.exists("image", ref):
            lines = [f"FROM {parent}", "COPY files/ /", f"RUN {' && '.join(_SETUP)}"]
            _build(context, lines, ref)
    return ref


_SETUP = (
    "useradd -m -s /bin/bash deploy",
    "getent group render >/dev/null || groupadd -r render",
    "update-grub",
    "rm -f /etc/motd",
)


def stage_files(destination: Path, release: str) -> None:
    """Write the files of a node image to a folder: files/ and what depends on the release."""
    shutil.copytree(settings.FILES_DIR, destination, symlinks=True)
    version, title = RELEASES[release]
    etc = destination / "etc"
    (etc / "os-release").write_text(
        f'PRETTY_NAME="Ubuntu {title.split(" (")[0]}"\nNAME="Ubuntu"\nVERSION_ID="{version}"\n'
        f'VERSION="{title}"\nVERSION_CODENAME={release}\nID=ubuntu\nID_LIKE=debian\nUBUNTU_CODENAME={release}\n'
    )
    (etc / "lsb-release").write_text(
        f"DISTRIB_ID=Ubuntu\nDISTRIB_RELEASE={version}\nDISTRIB_CODENAME={release}\n"
        f'DISTRIB_DESCRIPTION="Ubuntu {title.split(" (")[0]}"\n'
    )
    (etc / "debian_version").write_text(f"{'bullseye' if release == 'focal' else 'bookworm'}/sid\n")
    apt = etc / "apt" / "apt.conf.d"
    apt.mkdir(parents=True)
    (apt / "01lab-proxy").write_text(
        "// Debian's packages come through the lab's cache, the lab's own repositories directly.\n"
        f'Acquire::http::Proxy "http://{settings.MIRROR_HOST}:{settings.APT_PROXY_PORT}";\n'
        f'Acquire::http::Proxy::{settings.MIRROR_HOST} "DIRECT";\n'
    )
    stage_kernel(destination, settings.KERNEL)
    _set_modes(destination)


_PROGRAMS = ("usr/lib/instinct-lab", "usr/bin", "usr/sbin")


def _set_modes(root: Path) -> None:
    """Give every file its mode: a checkout's own depend on the umask."""
    for path in root.rglob("*"):
        if path.is_symlink():
            continue
        folder = str(path.parent.relative_to(root))
        if path.is_dir() or folder in _PROGRAMS:
            path.chmod(0o755)
        else:
            path.chmod(0o440 if folder == "etc/sudoers.d" else 0o644)


def stage_kernel(destination: Path, kernel: str) -> None:
    """Write the traces that an installed kernel leaves, as labelled stand-ins."""
    boot = destination / "boot"
    boot.mkdir()
    for name in ("vmlinuz", "initrd.img"):
        (boot / f"{name}-{kernel}").write_text(f"Lab stand-in for {name} of {kernel}: it cannot be booted.\n")
    (boot / f"config-{kernel}").write_text(
        "# Lab stand-in: the few options that bring-up asks about.\n"
        "CONFIG_HSA_AMD=y\nCONFIG_PCI_P2PDMA=y\nCONFIG_IOMMU_DEFAULT_DMA_LAZY=y\nCONFIG_NUMA_BALANCING=y\n"
    )
    # On Debian /lib is a link to usr/lib: copy to where it leads.
    modules = destination / "usr" / "lib" / "modules" / kernel
    modules.mkdir(parents=True)
    for name in ("modules.dep", "modules.alias", "modules.builtin", "modules.order"):
        (modules / name).write_text("")


def tree_digest(root: Path) -> str:
    """Return a hash of every path, mode, link target and content below a folder."""
    total = hashlib.sha256()
    for path in sorted(root.rglob("*")):
        total.update(f"{path.relative_to(root)}\0{path.lstat().st_mode:o}\0".encode())
        if path.is_symlink():
            total.update(str(path.readlink()).encode())
        elif path.is_file():
            total.update(path.read_bytes())
    return total.hexdigest()


def _build(context: Path, lines: list[str], ref: str) -> None:
    (context / "Containerfile").write_text("\n".join(lines) + "\n")
    podman.run(
        "build", "--quiet", "--label", settings.LABEL, "--tag", ref,
        "--file", str(context / "Containerfile"), str(context),
    )  # fmt: skip


def remove_all() -> None:
    """Remove the images that the labs of this machine have made, but for those that another lab's nodes run from."""
    listed = podman.run("images", "--format", "{{.Repository}}:{{.Tag}}").stdout.split()
    ours = [ref for ref in listed if ref.startswith(f"localhost/{settings.IMAGE_PREFIX}-")]
    for ref in ours:
        # Without force podman refuses an image that a container uses, and that is what is wanted.
        podman.run("rmi", ref, check=False)
