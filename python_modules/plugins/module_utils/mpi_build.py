# SPDX-License-Identifier: Apache-2.0
"""Read which Open MPI and UCX lie below a prefix, and whether they were built with ROCm."""

from __future__ import annotations

import re
from typing import Any, Dict, Optional

from ansible_collections.instinct.bringup.plugins.module_utils.probe import Probe, ask
from ansible_collections.instinct.bringup.plugins.module_utils.text import Tree

Json = Dict[str, Any]

_OMPI_VERSION = re.compile(r"^ompi:version:full:(\S+)$", re.MULTILINE)
_OMPI_ROCM = re.compile(r"^mca:accelerator:rocm:version:", re.MULTILINE)
_OMPI_UCX = re.compile(r"^mca:pml:ucx:version:", re.MULTILINE)
_UCX_VERSION = re.compile(r"^# (?:UCT version=|Library version: )([0-9.]+)", re.MULTILINE)


def read_mpi(tree: Tree, prefix: str, probe: Optional[Probe]) -> Optional[Json]:
    """Return the snapshot's "mpi", None where no prefix is asked for or no command may be run.

    prefix: as asked for. openmpi, ucx: {"version", "rocm"}, Open MPI's also {"ucx"}; None where the program is not
    there or gives no answer, which is then a problem.
    """
    if not prefix or probe is None:
        return None
    mpirun, info = prefix + "/bin/ompi_info", prefix + "/bin/ucx_info"
    openmpi = ask(tree, "mpi", probe, [mpirun, "--parsable"]) if tree.exists(mpirun) else None
    ucx = ask(tree, "mpi", probe, [info, "-v"]) if tree.exists(info) else None
    return {
        "prefix": prefix,
        "openmpi": None if openmpi is None else parse_openmpi(openmpi),
        "ucx": None if ucx is None else dict(parse_ucx(ucx), rocm=_has_module(tree, prefix)),
    }


def parse_openmpi(text: str) -> Json:
    """Return what ompi_info --parsable says. Open MPI before 5 has no accelerators, so no ROCm."""
    found = _OMPI_VERSION.search(text)
    return {
        "version": found.group(1) if found else None,
        "rocm": bool(_OMPI_ROCM.search(text)),
        "ucx": bool(_OMPI_UCX.search(text)),
    }


def parse_ucx(text: str) -> Json:
    """Return what ucx_info -v says."""
    found = _UCX_VERSION.search(text)
    return {"version": found.group(1) if found else None}


def _has_module(tree: Tree, prefix: str) -> bool:
    """Say whether UCX has its transports for ROCm: a node without a card does not list them."""
    return any(tree.exists("%s/%s/ucx/libuct_rocm.so" % (prefix, folder)) for folder in ("lib", "lib64"))
