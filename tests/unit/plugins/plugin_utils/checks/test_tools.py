# SPDX-License-Identifier: Apache-2.0
"""tools.agree: the vendor's tools against the kernel. CASES H-09."""

from __future__ import annotations

import dataclasses
from typing import Any

from support.rows import Row, change, each, not_held

HEAD = "GPU  NODE  DID     GUID  GFX VER  GFX RAS  SDMA RAS  UMC RAS  VBIOS           BUS           PARTITION ID\n"
BUSES = (0x03, 0x23, 0x43, 0x63)
TOPO = "=== Link Type between two GPUs ===\n       GPU0 GPU1 GPU2 GPU3\n"


def hardware(vbios: str = "113-D67301-059", buses: tuple[int, ...] = BUSES) -> str:
    rows = [
        f"{index}    {index + 1}     0x740f  100   gfx90a   N/A      N/A       N/A      {vbios}  0000:{bus:02X}:00.0  0\n"
        for index, bus in enumerate(buses)
    ]
    return HEAD + "".join(rows)


def links(word: str = "XGMI") -> str:
    rows = [" ".join("0" if one == other else word for other in range(4)) for one in range(4)]
    return TOPO + "".join(f"GPU{index}   {row}\n" for index, row in enumerate(rows))


def said(err: str = "", **outputs: str) -> Any:
    tools = dict.fromkeys(("rocm_smi_hw", "rocm_smi_topo", "amd_smi_list", "amd_smi_topology"))
    return change("tools", {**tools, **{name: {"rc": 0, "out": out, "err": err} for name, out in outputs.items()}})


@each(
    {
        "not asked": Row("skipped", "bringup_tools"),
        "not installed": Row("skipped", "neither", said()),
        "they agree": Row("ok", change=said(rocm_smi_hw=hardware(), rocm_smi_topo=links()), observed="4 GPUs"),
        "with a warning before it": Row(
            "ok", change=said("WARNING: AMD GPU device(s) is/are in a low-power state.\n", rocm_smi_hw=hardware())
        ),
        "another VBIOS": Row(
            "warn",
            "vbios of 0000:03:00.0 is 113-D67301-063 for the tool and 113-D67301-059 in sysfs",
            said(rocm_smi_hw=hardware("113-D67301-063")),
        ),
        "N/A is no disagreement": Row("ok", change=said(rocm_smi_hw=hardware("N/A           "))),
        "a card less": Row(
            "warn", "sysfs shows 0000:63:00.0, which the tool does not", said(rocm_smi_hw=hardware(buses=BUSES[:3]))
        ),
        "an address that is none": Row(
            "warn", "0000:99:00.0, which sysfs does not", said(rocm_smi_hw=hardware(buses=(*BUSES, 0x99)))
        ),
        "other links": Row(
            "warn", "are PCIE for the tool and XGMI in KFD", said(rocm_smi_hw=hardware(), rocm_smi_topo=links("PCIE"))
        ),
        "nothing at all": Row("unknown", "cannot be read", said(rocm_smi_hw=""), required=False),
        "captured tree": Row("skipped", "does not hold", not_held("tools")),
    }
)
def test_agree(row: Row) -> None:
    dataclasses.replace(row, machine="mi210-4gpu-quad").assert_holds("tools.agree")
