# SPDX-License-Identifier: Apache-2.0
"""Make the amdgpu-install packages: the stand-in script, the lists it brings and AMD's key's place."""

from __future__ import annotations

from .data import FILES_DIR, Release, load
from .deb import Entry, Package
from .userspace import LABEL, MAINTAINER

KEYRING = "/etc/apt/trusted.gpg.d/rocm-keyring.gpg"


def package(release: Release, suite: str, url: str, keyring: bytes) -> Package:
    """Return the installer of a release for one suite.

    Args:
        suite: the Ubuntu code name, "focal" or "jammy".
        url: the mirror's address that the lists name, without a slash at the end.
        keyring: the mirror's key, binary.
    """
    rocm_suite = release.installer.rocm_suite.get(suite, suite)
    amdgpu = f"{url}/{release.driver.path} {suite}"
    lists = {
        "amdgpu": f"deb {amdgpu} main\n#deb-src {amdgpu} main\n",
        "rocm": f"deb [arch=amd64] {url}/{release.path} {rocm_suite} main\n",
        "amdgpu-proprietary": f"# Enabled by --accept-eula\n#deb {amdgpu} proprietary\n",
    }
    script = (FILES_DIR / "amdgpu-install.sh").read_text(encoding="utf-8")
    for key, value in (("@LABEL@", LABEL), ("@VERSION@", release.installer.version), ("@USECASES@", _usecases())):
        script = script.replace(key, value)
    entries = [
        Entry("/usr/bin/amdgpu-install", script.encode(), mode=0o755),
        Entry("/etc/amdgpu-install/amdgpu-setup.conf", f"# {LABEL}\n".encode(), conffile=True),
        Entry(KEYRING, keyring, conffile=True),
        Entry("/usr/share/doc/amdgpu-install/STAND-IN", f"{LABEL}\n".encode()),
    ]
    entries += [
        Entry(f"/etc/apt/sources.list.d/{name}.list", text.encode(), conffile=True) for name, text in lists.items()
    ]
    return Package(
        name="amdgpu-install",
        version=release.installer.version,
        architecture="all",
        summary=f"installer of ROCm {release.rocm} (lab stand-in)",
        description=f"{LABEL}\nThe script is our own writing, it behaves as AMD's is described to; its lists name the lab's mirror.",
        fields=(("Maintainer", MAINTAINER), ("Section", "utils"), ("Priority", "optional")),
        entries=tuple(sorted(entries, key=lambda entry: entry.path)),
    )


def _usecases() -> str:
    """Render the table of use cases as lines "name packages", for a here-document of the script."""
    table: dict[str, list[str]] = load("usecases.yml")
    return "\n".join(f"{name} {' '.join(packages)}" for name, packages in table.items())
