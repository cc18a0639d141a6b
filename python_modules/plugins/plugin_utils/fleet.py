# SPDX-License-Identifier: Apache-2.0
"""Compare nodes with each other: the odd one out by majority, or each with a pinned baseline."""

from __future__ import annotations

import collections
import collections.abc as c
import dataclasses
import pathlib
import typing as t

import yaml

from ansible_collections.instinct.bringup.plugins.plugin_utils.catalog import LOADER

Facts = dict[str, str]
SCHEMA = 1
# What must be alike on the nodes of a fleet, and how a person calls it.
TITLES = {
    "gpus": "GPUs",
    "vbios": "VBIOS",
    "microcode": "microcode",
    "link_widths": "link widths",
    "hives": "hives",
    "driver": "driver",
    "kernel": "kernel",
    "system": "distribution",
    "hcas": "RDMA devices",
    "numa_nodes": "NUMA nodes",
    "rocm": "ROCm",
}
# Of fewer nodes none is the odd one.
FEWEST = 3
# Nodes with other cards are another fleet.
GROUP = "gpus"


class BaselineError(Exception):
    """A baseline file cannot be used; the message says why."""


@dataclasses.dataclass(frozen=True)
class OddOne:
    """A node that differs. usual: the majority's value, "" where there is no majority."""

    host: str
    fact: str
    value: str
    usual: str
    like_usual: int
    nodes: int

    def sentence(self) -> str:
        """Return the finding in one line."""
        title = TITLES[self.fact]
        if not self.usual:
            return f"{self.host}: {title} {self.value or 'not known'}; the {self.nodes} nodes have no majority"
        return (
            f"{self.host}: {title} {self.value or 'not known'}, on {self.like_usual} of {self.nodes} nodes {self.usual}"
        )


def fleet_facts(snapshot: c.Mapping[str, t.Any]) -> Facts:
    """Return what is compared of a node, each as a text; what could not be read is ""."""
    gpus = [
        gpu
        for gpu in (snapshot.get("pci") or {}).get("gpus") or []
        if str(gpu.get("class") or "").startswith(("0380", "12"))
    ]
    system, packages = snapshot.get("os") or {}, (snapshot.get("dpkg") or {}).get("packages") or {}
    kfd = [node for node in (snapshot.get("kfd") or {}).get("nodes") or [] if node.get("properties")]
    hives = collections.Counter(
        node["properties"].get("hive_id") for node in kfd if node["properties"].get("hive_id") and node.get("bdf")
    )
    widths = [_narrowest(gpu) for gpu in gpus]
    return {
        "gpus": _counted(f"{gpu.get('vendor')}:{gpu.get('device')}" for gpu in gpus),
        "vbios": _counted(str(gpu.get("vbios")) for gpu in gpus if gpu.get("vbios")),
        "microcode": _microcode(gpus),
        "link_widths": "" if None in widths else _counted(f"x{width}" for width in widths),
        "hives": "+".join(str(number) for number in sorted(hives.values(), reverse=True)),
        "driver": str(((snapshot.get("modules") or {}).get("amdgpu") or {}).get("version") or ""),
        "kernel": str((snapshot.get("kernel") or {}).get("release") or ""),
        "system": f"{system.get('id')} {system.get('version_id')}" if system else "",
        "hcas": ", ".join(sorted(str(hca["name"]) for hca in (snapshot.get("net") or {}).get("hcas") or [])),
        "numa_nodes": str(len((snapshot.get("numa") or {}).get("nodes") or []) or ""),
        "rocm": str((packages.get("rocm-core") or {}).get("version") or ""),
    }


def _narrowest(gpu: c.Mapping[str, t.Any]) -> int | None:
    links = [gpu.get("link") or {}, *(port.get("link") or {} for port in gpu.get("path") or [])]
    widths = [int(link["current_width"]) for link in links if link.get("current_width")]
    return min(widths) if widths else None


def _counted(values: c.Iterable[str]) -> str:
    return ", ".join(f"{number} x {value}" for value, number in sorted(collections.Counter(values).items()))


def _microcode(gpus: c.Sequence[c.Mapping[str, t.Any]]) -> str:
    seen: dict[str, set[str]] = {}
    for gpu in gpus:
        for field, value in (gpu.get("firmware") or {}).items():
            if value not in (None, "0x00000000"):
                seen.setdefault(field, set()).add(str(value))
    return ", ".join(f"{field} {'/'.join(sorted(values))}" for field, values in sorted(seen.items()))


def odd_ones_out(nodes: c.Mapping[str, Facts]) -> list[OddOne]:
    """Return the nodes that differ from the majority of those with the same cards.

    Where a fact has no value on more than half of them, every one is named. Two nodes that differ say nothing of
    which one is odd, so nothing is said. A node of which a fact could not be read is left out of that fact's count.
    """
    groups: dict[str, dict[str, Facts]] = {}
    for host, facts in nodes.items():
        groups.setdefault(_models(facts.get(GROUP, "")), {})[host] = facts
    found: list[OddOne] = []
    for members in groups.values():
        for fact in TITLES:
            found += _odd_in(fact, {host: facts.get(fact, "") for host, facts in members.items() if facts.get(fact)})
    return sorted(found, key=lambda one: (one.fact, one.host))


def _models(counted: str) -> str:
    return ", ".join(part.partition(" x ")[2] for part in counted.split(", "))


def _odd_in(fact: str, values: dict[str, str]) -> list[OddOne]:
    counts = collections.Counter(values.values())
    if len(counts) < 2 or len(values) < FEWEST:
        return []
    usual, number = counts.most_common(1)[0]
    if number * 2 > len(values):
        return [
            OddOne(host, fact, value, usual, number, len(values)) for host, value in values.items() if value != usual
        ]
    return [OddOne(host, fact, value, "", 0, len(values)) for host, value in values.items()]


def make_baseline(nodes: c.Mapping[str, Facts]) -> dict[str, t.Any]:
    """Return the baseline of some nodes: the majority's value of each fact, by the model of the cards.

    A fact without a majority is left out: a person decides it.
    """
    groups: dict[str, list[Facts]] = {}
    for facts in nodes.values():
        groups.setdefault(_models(facts.get(GROUP, "")), []).append(facts)
    models = {}
    for model, members in sorted(groups.items()):
        pinned = {}
        for fact in TITLES:
            counts = collections.Counter(facts[fact] for facts in members if facts.get(fact))
            if counts and counts.most_common(1)[0][1] * 2 > sum(counts.values()):
                pinned[fact] = counts.most_common(1)[0][0]
        models[model or "no GPU"] = pinned
    return {"schema": SCHEMA, "models": models}


def baseline_text(baseline: c.Mapping[str, t.Any]) -> str:
    """Return a baseline as a YAML file with a head that says what it is."""
    head = "# What every node of the fleet must be like: bringup_baseline names this file. Made by playbooks/capture.yml.\n---\n"
    return head + yaml.safe_dump(dict(baseline), sort_keys=True, width=120)


def load_baseline(path: str | pathlib.Path) -> dict[str, t.Any]:
    """Return a baseline file. Raises BaselineError."""
    try:
        loaded = yaml.load(pathlib.Path(path).read_text(encoding="utf-8"), Loader=LOADER)
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise BaselineError(f"the baseline {path} cannot be read: {error}") from error
    if not isinstance(loaded, dict) or loaded.get("schema") != SCHEMA or not isinstance(loaded.get("models"), dict):
        raise BaselineError(f"{path} is no baseline of schema {SCHEMA}: playbooks/capture.yml writes one")
    return loaded


def expected_of(baseline: c.Mapping[str, t.Any], facts: Facts) -> dict[str, str]:
    """Return what a baseline says of a node with these cards, nothing where it knows no such cards."""
    models = baseline["models"]
    return dict(models.get(_models(facts.get(GROUP, "")) or "no GPU") or {})
