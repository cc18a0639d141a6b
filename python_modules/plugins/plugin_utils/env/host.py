# SPDX-License-Identifier: Apache-2.0
"""Hold what values may refer to on a node: interfaces, adapters, GPUs and files."""

from __future__ import annotations

import collections.abc as c
import dataclasses
import typing as t

Json = c.Mapping[str, t.Any]


@dataclasses.dataclass(frozen=True)
class Gpu:
    """A GPU as the driver numbers it. uuid: "GPU-" and 16 digits; hive: 0 outside of any XGMI hive."""

    bdf: str
    uuid: str
    hive: int | None


@dataclasses.dataclass(frozen=True)
class Host:
    """What a node has. None is what could not be looked at, so that nothing is said of it.

    hcas: adapter to the numbers of its ports. files: path to text, None for a file that is not there or no text.
    """

    interfaces: tuple[str, ...] | None = None
    hcas: c.Mapping[str, tuple[int, ...]] | None = None
    gpus: tuple[Gpu, ...] | None = None
    addresses: tuple[str, ...] | None = None
    files: c.Mapping[str, str | None] = dataclasses.field(default_factory=dict)


def host_from(snapshot: Json, files: c.Mapping[str, str | None] | None = None) -> Host:
    """Return the host of a snapshot, or of what the module env_lint read on the node."""
    net, kfd, pci = (snapshot.get(area) or {} for area in ("net", "kfd", "pci"))
    interfaces, hcas, cards = net.get("interfaces"), net.get("hcas"), pci.get("gpus")
    return Host(
        # Every machine has a loopback: an empty list was not looked at.
        interfaces=tuple(str(entry["name"]) for entry in interfaces) if interfaces else None,
        hcas=None if hcas is None else {str(entry["name"]): _ports(entry) for entry in hcas},
        gpus=_gpus(kfd) if kfd else None,
        addresses=None if cards is None else tuple(sorted(str(card["bdf"]) for card in cards if _computes(card))),
        files=files or {},
    )


def _computes(card: Json) -> bool:
    """Say whether a GPU is one for computing: no integrated one, whose class is 0x0300."""
    return str(card.get("class") or "0380").startswith(("0380", "12"))


def _ports(hca: Json) -> tuple[int, ...]:
    return tuple(int(port["port"]) for port in hca.get("ports") or ())


def _gpus(kfd: Json) -> tuple[Gpu, ...] | None:
    """Return the GPUs in the driver's order; None where a node is hidden, since the numbers then mean others."""
    nodes = kfd.get("nodes")
    if nodes is None or any(node.get("properties") is None for node in nodes):
        return None
    found = []
    for node in nodes:
        properties = node["properties"]
        if int(properties.get("simd_count") or 0) > 0:
            uuid = f"GPU-{int(properties.get('unique_id') or 0):016x}"
            hive = properties.get("hive_id")
            found.append(
                Gpu(str(node.get("bdf") or f"KFD node {node['id']}"), uuid, None if hive is None else int(hive))
            )
    return tuple(found)
