# SPDX-License-Identifier: Apache-2.0
"""mpi_provider: source builds UCX and Open MPI with ROCm on one node and copies them to the other. It takes long.

Stand-ins, since the publishers' tarballs are out of reach: Debian's sources of UCX 1.13.1, which is served as 1.14.1,
and of Open MPI 5.0.7, and Debian's ROCm headers and libraries. Real: the role's whole way, the compilers, the result.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import tarfile
import typing as t
from pathlib import Path

import pytest

from instinct_lab import settings

from .conftest import REPOSITORY, Lab, Playbook

pytestmark = [pytest.mark.lab, pytest.mark.slow]
BUILDER, OTHER = "node2", "node1"
PREFIX = "/opt/instinct-bringup/mpi"
SOURCES = {"ucx": ("bookworm", "1.13.1"), "openmpi": ("trixie", "5.0.7")}
HEADERS = ["xz-utils", "libamdhip64-dev", "libhsa-runtime-dev", "libhsakmt-dev"]


def served(lab: Lab, folder: Path) -> dict[str, str]:
    """Fetch the sources on a node, put them where the lab's mirror serves them, and return the options that name them."""
    # The archive that the node has its packages from also has their sources, and those of the next suite.
    lines = "; ".join(
        f"sed -n 's/^deb \\(\\S*\\) bookworm main$/deb-src \\1 {suite} main/p' /etc/apt/sources.list"
        for suite, _version in SOURCES.values()
    )
    wanted = " ".join(
        f"{name}=$(apt-cache showsrc {name} | sed -n 's/^Version: //p' | grep '^{version}' | head -n 1)"
        for name, (_suite, version) in SOURCES.items()
    )
    lab.on(
        BUILDER,
        f"{{ {lines}; }} > /etc/apt/sources.list.d/test-src.list; apt-get update -qq; mkdir -p /lab-src; cd /lab-src; "
        f"apt-get source -qq --download-only {wanted}; rm /etc/apt/sources.list.d/test-src.list; apt-get update -qq",
    )
    fetched = lab.on(BUILDER, "ls /lab-src").split()
    place = REPOSITORY / ".lab" / "mirror" / "mpi"
    place.mkdir(mode=0o755, parents=True, exist_ok=True)
    options = {}
    for name, as_version in (("ucx", "1.14.1"), ("openmpi", "5.0.7")):
        found = next(entry for entry in fetched if re.fullmatch(rf"{name}_[0-9.]+\.orig\.tar\.xz", entry))
        inside = f"{settings.container_name(BUILDER)}:/lab-src/{found}"
        subprocess.run(["podman", "cp", inside, folder], check=True)
        path = place / f"{name}-{as_version}.tar.gz"
        _repack(folder / found, path, folder / name)
        options[f"mpi_{name}_version"] = as_version
        options[f"mpi_{name}_url"] = f"http://mirror.lab/mpi/{name}-{{version}}.tar.gz"
        options[f"mpi_{name}_sha256"] = hashlib.sha256(path.read_bytes()).hexdigest()
    return options


def _repack(source: Path, target: Path, folder: Path) -> None:
    """Undo what Debian did to UCX's tarball: the folder that its own build wants has another name there."""
    subprocess.run(["tar", "-xf", source, "--one-top-level=" + str(folder)], check=True)
    for renamed in folder.glob("*/debian.upstream"):
        shutil.move(renamed, renamed.with_name("debian"))
    with tarfile.open(target, "w:gz", compresslevel=1) as archive:
        archive.add(next(folder.iterdir()), arcname=target.name.removesuffix(".tar.gz"))
    target.chmod(0o644)


@pytest.fixture(scope="module")
def options(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> dict[str, t.Any]:
    packages = ["build-essential", "autoconf", "automake", "libtool", "pkg-config", "libnuma-dev", "zlib1g-dev"]
    return {
        "bringup_only": ["mpi"], "mpi_provider": "source", "mpi_builder": BUILDER, "mpi_rocm_path": "/usr",
        "mpi_build_packages": [*packages, *HEADERS], **served(lab, tmp_path_factory.mktemp("sources")),
    }  # fmt: skip


def test_both_nodes_have_what_one_has_built(lab: Lab, options: dict[str, t.Any], playbook: Playbook) -> None:
    # The other node has no compiler's packages, but the libraries that the result is linked to.
    lab.on(OTHER, "DEBIAN_FRONTEND=noninteractive apt-get install -y -qq libamdhip64-5 libhsa-runtime64-1 >/dev/null")
    run = playbook("site.yml", **options)
    assert run.results["nodes"][BUILDER]["verdict"] != "apply_failed", run.output
    for node in (BUILDER, OTHER):
        assert "ompi:version:full:5.0.7" in lab.on(node, f"{PREFIX}/bin/ompi_info --parsable")
        assert "mca:accelerator:rocm:" in lab.on(node, f"{PREFIX}/bin/ompi_info --parsable")
        assert "--with-rocm=/usr" in lab.on(node, f"{PREFIX}/bin/ucx_info -v")
        assert "libamdhip64" in lab.on(
            node, f"readelf -d {PREFIX}/lib/ucx/libuct_rocm.so || objdump -p {PREFIX}/lib/ucx/libuct_rocm.so"
        )
    again = playbook("site.yml", **options)
    assert again.output.count("changed=0") == 2
    checks = {check["id"]: check for check in again.results["nodes"][OTHER]["checks"] if check["id"].startswith("mpi.")}
    assert checks["mpi.rocm_support"]["outcome"] == "ok"
    # The stand-in is found out: it says 1.13.1 of itself.
    assert checks["mpi.version_pair"]["observed"] == "1.13.1"
    assert checks["mpi.version_pair"]["outcome"] == "fail"
