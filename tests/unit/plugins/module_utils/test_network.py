# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ansible_collections.instinct.bringup.plugins.module_utils.network import parse_rate, read_net, read_nics
from ansible_collections.instinct.bringup.plugins.module_utils.pci import PciBus
from ansible_collections.instinct.bringup.plugins.module_utils.text import Tree

Plant = Callable[[dict[str, Any]], Tree]
BDF = "0000:21:00.0"
DEVICE = f"/sys/devices/pci0000:20/0000:20:01.1/{BDF}"


def adapter(config: Callable[..., bytes]) -> dict[str, Any]:
    """Return an InfiniBand adapter behind a root port, with its interface, RDMA device and loopback."""
    port = "/sys/devices/pci0000:20/0000:20:01.1"
    ib = f"{DEVICE}/infiniband/mlx5_0"
    return {
        f"/sys/bus/pci/devices/{BDF}": f"-> ../../../devices/pci0000:20/0000:20:01.1/{BDF}",
        "/sys/bus/pci/devices/0000:20:01.1": "-> ../../../devices/pci0000:20/0000:20:01.1",
        f"{port}/vendor": "0x1022\n",
        f"{port}/device": "0x1483\n",
        f"{port}/class": "0x060400\n",
        f"{port}/config": config(4),
        f"{port}/current_link_speed": "16.0 GT/s PCIe\n",
        f"{port}/current_link_width": "16\n",
        f"{port}/max_link_speed": "16.0 GT/s PCIe\n",
        f"{port}/max_link_width": "16\n",
        f"{DEVICE}/vendor": "0x15b3\n",
        f"{DEVICE}/device": "0x101b\n",
        f"{DEVICE}/class": "0x020700\n",
        f"{DEVICE}/numa_node": "1\n",
        f"{DEVICE}/driver": "-> ../../../../bus/pci/drivers/mlx5_core",
        f"{DEVICE}/net/ibp33s0/operstate": "up\n",
        f"{DEVICE}/net/ibp33s0/mtu": "2044\n",
        f"{DEVICE}/net/ibp33s0/speed": "200000\n",
        f"{DEVICE}/net/ibp33s0/device": "-> ../..",
        f"{ib}/device": "-> ../..",
        f"{ib}/ports/1/state": "4: ACTIVE\n",
        f"{ib}/ports/1/rate": "200 Gb/sec (4X HDR)\n",
        f"{ib}/ports/1/link_layer": "InfiniBand\n",
        "/sys/class/net/ibp33s0": f"-> ../../devices/pci0000:20/0000:20:01.1/{BDF}/net/ibp33s0",
        "/sys/class/net/bonding_masters": "\n",
        "/sys/class/net/lo": "-> ../../devices/virtual/net/lo",
        "/sys/devices/virtual/net/lo/operstate": "unknown\n",
        "/sys/devices/virtual/net/lo/mtu": "65536\n",
        "/sys/class/infiniband/mlx5_0": f"-> ../../devices/pci0000:20/0000:20:01.1/{BDF}/infiniband/mlx5_0",
    }


def test_an_adapter_on_pci(plant: Plant, config: Callable[..., bytes]) -> None:
    tree = plant(adapter(config))
    bus = PciBus(tree)
    (nic,) = read_nics(tree, bus, bus.addresses() or [])
    assert [port["bdf"] for port in nic.pop("path")] == ["0000:20:01.1"]
    assert nic == {
        "bdf": BDF,
        "vendor": "15b3",
        "device": "101b",
        "class": "020700",
        "driver": "mlx5_core",
        "numa_node": 1,
        "interfaces": ["ibp33s0"],
        "hcas": ["mlx5_0"],
        # A function of conventional PCI has no link files, and no problem either.
        "link": {"current_speed": None, "current_width": None, "max_speed": None, "max_width": None},
    }
    assert tree.problems() == []


def test_interfaces_and_rdma_devices(plant: Plant, config: Callable[..., bytes]) -> None:
    tree = plant(adapter(config))
    assert read_net(tree) == {
        "interfaces": [
            {"name": "ibp33s0", "operstate": "up", "mtu": 2044, "speed_mbps": 200000, "bdf": BDF, "virtual": False},
            {"name": "lo", "operstate": "unknown", "mtu": 65536, "speed_mbps": None, "bdf": None, "virtual": True},
        ],
        "hcas": [
            {
                "name": "mlx5_0",
                "bdf": BDF,
                "numa_node": 1,
                "ports": [{"port": 1, "state": "ACTIVE", "rate_mbps": 200000, "link_layer": "InfiniBand"}],
            }
        ],
    }
    assert tree.problems() == []


@pytest.mark.parametrize("speed", ["-1\n", "", "fast\n"])
def test_a_speed_that_the_kernel_does_not_tell_is_none(plant: Plant, config: Callable[..., bytes], speed: str) -> None:
    tree = plant({**adapter(config), f"{DEVICE}/net/ibp33s0/speed": speed})
    assert read_net(tree)["interfaces"][0]["speed_mbps"] is None


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        ("200 Gb/sec (4X HDR)", 200000),
        ("2.5 Gb/sec (1X SDR)", 2500),
        ("10 Gb/sec (4X SDR)", 10000),
        ("", None),
        ("-", None),
    ],
)
def test_rates(text: str, rate: int | None) -> None:
    assert parse_rate(text) == rate
