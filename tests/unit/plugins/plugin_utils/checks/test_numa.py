# SPDX-License-Identifier: Apache-2.0
"""The check of numa.py."""

from __future__ import annotations

from support.rows import Row, change, changes, each, hole, not_held

FILE = "/sys/bus/pci/devices/0000:83:00.0/numa_node"


@each(
    {
        "known": Row("ok", observed="node 0"),
        "one NUMA node": Row("skipped", "one NUMA node", machine="mi210-4gpu-quad"),
        "-1, inferred from the CPUs": Row(
            "warn",
            "inferred from local_cpulist 64-127: node 1",
            change("pci/gpus/4/numa_node", -1),
            subject="0000:83:00.0",
            evidence=FILE,
        ),
        "-1, and the CPUs tell nothing": Row(
            "warn",
            "is no single node's",
            changes(change("pci/gpus/4/numa_node", -1), change("pci/gpus/4/local_cpulist", "0-127")),
        ),
        "not readable": Row("unknown", "EACCES", hole("pci/gpus/4/numa_node", FILE), required=False),
        "captured tree without NUMA": Row("skipped", "does not hold", not_held("numa")),
    }
)
def test_numa_gpu_node_known(row: Row) -> None:
    row.assert_holds("numa.gpu_node_known")
