# SPDX-License-Identifier: Apache-2.0
"""Find the GPUs, XGMI links and network devices that RCCL would use, in a snapshot."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.instinct.bringup.plugins.module_utils.rccl_model import Gpu, Net, TopologyError, XgmiLink
from ansible_collections.instinct.bringup.plugins.module_utils.rccl_pci import busid

Raw = t.Mapping[str, t.Any]

# KFD's HSA_IOLINKTYPE. Only these weights are a direct link to RCCL (misc/rocm_smi_wrap.cc):
# 15 between cards, 13 and 41 between partitions of one card and of two.
XGMI_LINK = 11
DIRECT_WEIGHTS = frozenset((15, 41, 13))

# What RCCL takes for a network device whose speed it cannot read, in Mb/s.
UNKNOWN_NET_SPEED = 10000

# RCCL takes anything that begins so for a GPU.
DISPLAY_CLASS = "03"

# hipDeviceArch_t as a bit field; every gfx9 card has this one.
ARCH_GFX9 = 38911
# Kernels before 5.14 give no gfx_target_version.
_GFX_OF_DEVICE = {"738c": 90008, "7408": 90010, "740c": 90010, "740f": 90010}
# RCCL before 2.18 (ROCm 6.0) compares numbers, and knows these.
_OLD_GCN = {"gfx906": "906", "gfx908": "908", "gfx90a": "910"}


def version_tuple(rccl_version: str) -> t.Tuple[int, ...]:
    """Return an RCCL version such as "2.13.4" as integers.

    :raises TopologyError: the text is not a version.
    """
    if not re.fullmatch(r"[0-9]+\.[0-9]+(\.[0-9]+)*", rccl_version):
        raise TopologyError("rccl_version {!r} is not a version such as 2.13.4".format(rccl_version))
    return tuple(int(part) for part in rccl_version.split("."))


def find_gpus(snapshot: Raw, rccl_version: str, warnings: t.List[str]) -> t.List[t.Tuple[Gpu, Raw]]:
    """Return the GPUs that both PCI and KFD show, in the order of dev, each with its PCI entry.

    :raises TopologyError: KFD shows no GPU that PCI shows too.
    """
    if snapshot.get("kfd") is None:
        raise TopologyError("/sys/class/kfd/kfd/topology is not there: without the driver no XGMI link can be read")
    nodes = {node["bdf"]: node for node in snapshot["kfd"].get("nodes") or [] if node.get("bdf")}
    _refuse_partitions(nodes)
    usable = []
    for raw in (snapshot.get("pci") or {}).get("gpus") or ():
        node = nodes.pop(raw["bdf"], None)
        if node is None:
            warnings.append("{}: on PCI and not in /sys/class/kfd: left out, RCCL cannot use it".format(raw["bdf"]))
            continue
        gfx = _gfx(raw, node)
        gcn = _gcn(gfx, rccl_version)
        if gcn is None:
            warnings.append("{}: RCCL {} does not know {}; left out".format(raw["bdf"], rccl_version, gfx or "its gfx"))
            continue
        usable.append((busid(raw["bdf"]), raw, node, gfx, gcn))
    for bdf in sorted(nodes):
        warnings.append("{}: in /sys/class/kfd and not among the PCI devices; left out".format(bdf))
    if not usable:
        raise TopologyError(
            "no usable GPU stands both in /sys/bus/pci/devices and in /sys/class/kfd/kfd/topology/nodes"
            + "".join("; " + warning for warning in warnings)
        )
    # dev is RCCL's key for asking ROCm SMI about links: for each GPU of the file it asks for the
    # neighbours of card number dev and adds those it does not find. ROCm SMI numbers cards by
    # bus id, while HIP numbers them as KFD lists its GPU nodes, and on eight MI210 the two differ
    # (captured: KFD 63 43 03 26, ROCm SMI 03 26 43 63). With HIP's number RCCL would add the links
    # of another card, some of them from a GPU to itself. Ranks are found by bus id, never by dev.
    usable.sort(key=lambda entry: entry[0])
    kfd_order = sorted(node["id"] for _name, _raw, node, _gfx, _gcn in usable)
    return [
        (
            Gpu(
                busid=name,
                dev=dev,
                hip=kfd_order.index(node["id"]),
                sm=_sm(gfx),
                gcn=gcn,
                arch=ARCH_GFX9,
                # Whether the GPU may do RDMA at all. RCCL combines it with what it finds of each
                # network device, so that 1 allows and never forces it.
                gdr=1,
                pci_class="0x" + (raw.get("class") or DISPLAY_CLASS),
                kfd_node=node["id"],
            ),
            raw,
        )
        for dev, (name, raw, node, gfx, gcn) in enumerate(usable)
    ]


def _refuse_partitions(nodes: t.Mapping[str, Raw]) -> None:
    """Refuse cards that are cut into partitions: KFD numbers them as functions that PCI does not have."""
    cards: t.Dict[str, t.List[Raw]] = {}
    for bdf, node in nodes.items():
        cards.setdefault(bdf.rpartition(".")[0], []).append(node)
    parts = {card: found for card, found in cards.items() if len(found) > 1}
    if parts:
        card = min(parts)
        raise TopologyError(
            "/sys/class/kfd/kfd/topology/nodes/{} and {} others are partitions of the card {}, and there are {} such "
            "cards: RCCL's file names one GPU a PCI function, and a partition is none".format(
                min(node["id"] for node in parts[card]), len(parts[card]) - 1, card, len(parts)
            )
        )


def find_links(snapshot: Raw, gpus: t.Sequence[Gpu], warnings: t.List[str]) -> t.List[XgmiLink]:
    """Return the direct XGMI links between these GPUs, both directions of each pair, sorted."""
    name_of = {gpu.kfd_node: gpu.busid for gpu in gpus}
    counts: t.Dict[t.Tuple[str, str], int] = {}
    for node in snapshot["kfd"]["nodes"]:
        if node["id"] not in name_of:
            continue
        for link in node.get("io_links") or ():
            if link.get("type") != XGMI_LINK or link.get("weight") not in DIRECT_WEIGHTS:
                continue
            target = name_of.get(link.get("node_to", -1))
            if target is None or target == name_of[node["id"]]:
                warnings.append(
                    "{}: KFD node {} lists an XGMI link to node {}, no other GPU of this file; left out".format(
                        name_of[node["id"]], node["id"], link.get("node_to")
                    )
                )
                continue
            least, most = link.get("min_bandwidth") or 0, link.get("max_bandwidth") or 0
            counts[name_of[node["id"]], target] = max(1, most // least) if least else 1
    result = []
    for (source, target), count in sorted(counts.items()):
        result.append(XgmiLink(source, target, count))
        back = counts.get((target, source))
        if back is None:
            # RCCL refuses a one-way link ("Failed to find reverse path"), its own detection's too.
            warnings.append(
                "{} to {}: KFD lists this XGMI link and not its reverse; the file names both".format(source, target)
            )
            result.append(XgmiLink(target, source, count, mirrored=True))
        elif back != count and source < target:
            warnings.append(
                "{} and {}: KFD counts {} XGMI links one way and {} back".format(source, target, count, back)
            )
    return sorted(result, key=lambda link: (link.source, link.target))


def find_nets(snapshot: Raw, warnings: t.List[str]) -> t.List[t.Tuple[t.Tuple[Net, ...], Raw]]:
    """Return the PCI devices that carry a network RCCL would use, in the order of the bus ids.

    Where there is an active HCA, RCCL's verbs transport takes all HCAs and no plain interface.
    Otherwise the sockets take the interfaces. Addresses are not looked at, nor NCCL_SOCKET_IFNAME:
    RCCL drops from the file what it does not find itself.
    """
    tables = snapshot.get("net") or {}
    nics = sorted((snapshot.get("pci") or {}).get("nics") or (), key=lambda nic: nic["bdf"])
    hcas = {hca["name"]: hca for hca in tables.get("hcas") or ()}
    interfaces = {entry["name"]: entry for entry in tables.get("interfaces") or ()}
    found = [(nic, _hca_nets(nic, hcas, warnings)) for nic in nics]
    if not any(nets for _nic, nets in found):
        found = [(nic, _socket_nets(nic, interfaces, warnings)) for nic in nics]
    result = []
    dev = 0
    for nic, nets in found:
        numbered = tuple(
            Net(name, busid(nic["bdf"]), dev + step, speed, port) for step, (name, speed, port) in enumerate(nets)
        )
        dev += len(numbered)
        if numbered:
            result.append((numbered, nic))
    if not result:
        warnings.append(
            "no network device on PCI is up: the file names none. RCCL adds the interfaces that it finds, "
            "and on EPYC hosts it fails to start where NCCL_SOCKET_IFNAME leaves it none"
        )
    return result


_NetValues = t.Tuple[str, int, t.Optional[int]]


def _hca_nets(nic: Raw, hcas: t.Mapping[str, Raw], warnings: t.List[str]) -> t.List[_NetValues]:
    result = []
    for name in sorted(nic.get("hcas") or ()):
        ports = (hcas.get(name) or {}).get("ports") or ()
        active = [port for port in ports if str(port.get("state") or "").upper().endswith("ACTIVE")]
        if not active:
            warnings.append("{} ({}): no port is active; left out, as RCCL does".format(name, nic["bdf"]))
            continue
        result.append((name, _net_speed(name, active[0].get("rate_mbps"), warnings), active[0]["port"]))
    return result


def _socket_nets(nic: Raw, interfaces: t.Mapping[str, Raw], warnings: t.List[str]) -> t.List[_NetValues]:
    result: t.List[_NetValues] = []
    for name in sorted(nic.get("interfaces") or ()):
        entry = interfaces.get(name) or {}
        if entry.get("operstate") == "up":
            result.append((name, _net_speed(name, entry.get("speed_mbps"), warnings), None))
    return result


def _net_speed(name: str, speed: t.Optional[int], warnings: t.List[str]) -> int:
    if speed is not None and speed > 0:
        return speed
    warnings.append(
        "{}: no speed can be read; the file says {} Mb/s, what RCCL assumes".format(name, UNKNOWN_NET_SPEED)
    )
    return UNKNOWN_NET_SPEED


def _gfx(raw: Raw, node: Raw) -> str:
    version = (node.get("properties") or {}).get("gfx_target_version") or _GFX_OF_DEVICE.get(raw.get("device") or "")
    if not version:
        return ""
    # 90010 is 9.0.10: the last part is written in hexadecimal, gfx90a.
    return "gfx{:d}{:x}{:x}".format(version // 10000, version // 100 % 100, version % 100)


def _gcn(gfx: str, rccl_version: str) -> t.Optional[str]:
    if not gfx.startswith("gfx9") or len(gfx) != len("gfx90a"):
        return None
    return gfx if version_tuple(rccl_version) >= (2, 18) else _OLD_GCN.get(gfx)


def _sm(gfx: str) -> int:
    # Major times ten plus minor: 90 for gfx90a, 94 for gfx942.
    return int(gfx[3]) * 10 + int(gfx[4], 16)
