# SPDX-License-Identifier: Apache-2.0
"""The check of binding.py."""

from __future__ import annotations

from collections.abc import Callable

from support.machines import Json
from support.rows import Row, change, changes, each, not_held

from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.topology import WRAPPER_PATH
from ansible_collections.instinct.bringup.plugins.plugin_utils.topology.binding import Binding, render_wrapper

LINKS = "/sys/class/kfd/kfd/topology/nodes/2/io_links"


def wrapper(*bound: tuple[int, int, str]) -> Callable[[Json], None]:
    """Return a change that puts a wrapper on the node: bus, NUMA node and processors of each GPU."""
    bindings = [Binding(at, f"0000:{bus:02x}:00.0", node, cpus, ()) for at, (bus, node, cpus) in enumerate(bound)]
    text = render_wrapper(bindings, WRAPPER_PATH)

    def apply(snapshot: Json) -> None:
        snapshot["watch"][WRAPPER_PATH] = {"type": "file", "text": text}

    return apply


def far(snapshot: Json) -> None:
    """Let PCI name the other socket for the first card, while the driver links it to its own."""
    for gpu in snapshot["pci"]["gpus"]:
        if gpu["bdf"] == "0000:63:00.0":
            gpu["numa_node"] = 1


PAIR = "mi210-2gpu-pcie"


@each(
    {
        "as rendered": Row("ok", expected="node 0", observed="node 0, CPUs 0-15"),
        "one NUMA node": Row("skipped", "one NUMA node", machine="mi210-4gpu-quad"),
        "PCI names the farther socket": Row(
            "fail",
            "weight none to node 1, and 20 to node 0",
            far,
            subject="0000:63:00.0",
            expected="node 0",
            evidence=LINKS,
        ),
        "wrapper of the node is right": Row(
            "ok", change=wrapper((0x08, 0, "0-63"), (0x88, 1, "64-127")), machine=PAIR, observed="node 0, CPUs 0-63"
        ),
        "wrapper binds far": Row(
            "fail",
            f"{WRAPPER_PATH}: weight none to node 1",
            wrapper((0x08, 1, "64-127"), (0x88, 1, "64-127")),
            machine=PAIR,
            subject="0000:08:00.0",
        ),
        "wrapper names foreign processors": Row(
            "fail", "are not all of node 0", wrapper((0x08, 0, "0-70"), (0x88, 1, "64-127")), machine=PAIR
        ),
        "wrapper misses a card": Row(
            "fail", "does not name this GPU", wrapper((0x08, 0, "0-63")), machine=PAIR, observed="not bound"
        ),
        "the driver lists no processor": Row(
            "unknown",
            "no link to a processor",
            changes(change("kfd/nodes/2/io_links", [])),
            required=False,
            evidence=LINKS,
        ),
        "no driver": Row("skipped", "shows no GPU", change("kfd", None)),
        "captured tree without KFD": Row("skipped", "does not hold", not_held("kfd")),
    }
)
def test_numa_binding_nearest(row: Row) -> None:
    row.assert_holds("numa.binding_nearest")
