# SPDX-License-Identifier: Apache-2.0
"""Compare what the vendor's tools say with what the kernel shows. A tool alone is never a verdict."""

from __future__ import annotations

import collections.abc as c
import typing as t

from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.hardware import (
    Json,
    kfd_bdf,
    kfd_gpus,
    pci_gpus,
    xgmi_peers,
)
from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.model import (
    OK,
    WARN,
    CheckContext,
    Finding,
    skipped,
    unknown,
)
from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.registry import check
from ansible_collections.instinct.bringup.plugins.plugin_utils.tools.amd_smi import parse_amd_smi
from ansible_collections.instinct.bringup.plugins.plugin_utils.tools.model import ToolOutput
from ansible_collections.instinct.bringup.plugins.plugin_utils.tools.rocm_smi import parse_rocm_smi


@check(
    "tools.agree",
    "What rocm-smi and amd-smi show is what the kernel shows",
    areas=("tools", "pci.gpus"),
    required=False,
    remedy=(
        "Believe the kernel. Look for the tool's release notes of this release: some print wrong addresses, and a tool of "
        "another release than the driver may see nothing."
    ),
)
def agree(context: CheckContext) -> c.Iterator[Finding]:
    """Parse each tool's output and compare addresses, VBIOS and link types with sysfs and KFD.

    Agreement is noted, disagreement is warned of with both. Output that cannot be read is unknown, not wrong.
    """
    tools: dict[str, Json | None] | None = context.snapshot.get("tools")
    if tools is None:
        yield skipped("the tools were not asked: bringup_tools")
        return
    asked = {name: answer for name, answer in tools.items() if answer is not None}
    if not asked:
        yield skipped("neither rocm-smi nor amd-smi is installed")
    for tool, parse in (("rocm_smi", parse_rocm_smi), ("amd_smi", parse_amd_smi)):
        outputs = {
            name: parse(f"{answer['err']}\n{answer['out']}") for name, answer in asked.items() if name.startswith(tool)
        }
        if outputs:
            yield from _compare(context, tool.replace("_", "-"), outputs)


def _compare(context: CheckContext, tool: str, outputs: dict[str, ToolOutput]) -> c.Iterator[Finding]:
    for name, output in outputs.items():
        if not output.readable:
            said = "; ".join(output.warnings[:2]) or "nothing that is a report"
            yield unknown(f"{name}: the output cannot be read: {said}", tool, name)
    readable = [output for output in outputs.values() if output.readable]
    if not readable:
        return
    gpus = {str(gpu["bdf"]): gpu for gpu in pci_gpus(context)}
    named = {gpu.bdf: gpu for output in readable for gpu in output.gpus if gpu.bdf}
    address = {gpu.index: gpu.bdf for output in readable for gpu in output.gpus if gpu.bdf}
    differences = list(_differences(gpus, named)) if named else []
    differences += _link_differences(context, readable, address)
    observed = f"{len(named) or max(len(output.gpus) for output in readable)} GPUs"
    if differences:
        yield Finding(WARN, tool, f"{len(gpus)} GPUs as in sysfs", observed, "; ".join(differences[:6]), tool)
    else:
        yield Finding(OK, tool, f"{len(gpus)} GPUs as in sysfs", observed, "", tool)


def _differences(gpus: dict[str, Json], named: dict[str, t.Any]) -> c.Iterator[str]:
    for bdf in sorted(set(named) - set(gpus)):
        yield f"the tool shows {bdf}, which sysfs does not"
    for bdf in sorted(set(gpus) - set(named)):
        yield f"sysfs shows {bdf}, which the tool does not"
    for bdf in sorted(set(gpus) & set(named)):
        for field, value in (("vbios", named[bdf].vbios), ("device", named[bdf].device_id)):
            if value is not None and gpus[bdf].get(field) is not None and value != gpus[bdf][field]:
                yield f"{field} of {bdf} is {value} for the tool and {gpus[bdf][field]} in sysfs"


def _link_differences(context: CheckContext, readable: list[ToolOutput], address: dict[int, str]) -> list[str]:
    nodes = kfd_gpus(context)
    if nodes is None:
        return []
    by_id = {node["id"]: kfd_bdf(node) for node in nodes}
    linked = {(by_id[one], by_id[other]) for one, other in xgmi_peers(nodes) if one in by_id and other in by_id}
    known = set(by_id.values())
    return [
        f"{one} and {other} are {kind} for the tool and {'XGMI' if (one, other) in linked else 'PCIE'} in KFD"
        for output in readable
        for (first, second), kind in sorted(output.links.items())
        if first < second
        and (one := address.get(first)) in known
        and (other := address.get(second)) in known
        # A pair that is only reached through another card is XGMI for the tools too.
        and (kind == "XGMI") != ((one, other) in linked)
        and not (kind == "XGMI" and _same_hive(nodes, str(one), str(other)))
    ]


def _same_hive(nodes: list[Json], one: str, other: str) -> bool:
    hives = {kfd_bdf(node): (node.get("properties") or {}).get("hive_id") for node in nodes}
    return bool(hives.get(one)) and hives.get(one) == hives.get(other)
