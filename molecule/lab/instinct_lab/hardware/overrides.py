# SPDX-License-Identifier: Apache-2.0
"""Changes to a machine, each `KEY=VALUE`: how a fault is made.

Keys:
    driver=none|loaded                   the amdgpu module on the whole machine
    driver_version=TEXT|none             offline trees only; a live node asks its dkms
    acs=on|off                           access control services on the ports
    cmdline=TEXT                         offline trees only; a live node asks its boot loader
    gpus.BDF.FIELD=VALUE                 one card; FIELD is one of GPU_FIELDS
    gpus.BDF.firmware.NAME=NUMBER        one firmware of one card
    xgmi.BDF+BDF=missing|routed          a bridge link: gone (PCIe remains), or two hops through a neighbour
    nics.BDF.FIELD=VALUE                 state (ACTIVE, DOWN), width, speed, numa_node
    numa.NUMBER.cpus=LIST                the processors of a NUMA node, such as 0 or 0-7,64-71
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TypeVar

from .machine import SPEEDS, WIDTHS, Gpu, Machine, MachineError, Nic, check

V = TypeVar("V")

_ADDRESS = r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]"
_GPU_KEY = re.compile(rf"^gpus\.({_ADDRESS})\.(\w+)(?:\.(\w+))?$")
_NIC_KEY = re.compile(rf"^nics\.({_ADDRESS})\.(\w+)$")
_NUMA_KEY = re.compile(r"^numa\.([0-9]+)\.cpus$")
_CPU_LIST = re.compile(r"[0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*")
_XGMI_KEY = re.compile(rf"^xgmi\.({_ADDRESS})\+({_ADDRESS})$")


def apply(machine: Machine, changes: Iterable[str]) -> Machine:
    """Change a machine in place, one KEY=VALUE after the other, and return it.

    Raises MachineError that names the key, what it takes and what was given.
    """
    for change in changes:
        key, separator, value = change.partition("=")
        if not separator:
            raise MachineError(f"{change!r} is not KEY=VALUE")
        _apply_one(machine, key.strip(), value.strip())
    check(machine)
    return machine


def _apply_one(machine: Machine, key: str, value: str) -> None:
    if match := _GPU_KEY.match(key):
        bdf, name, part = match.groups()
        _set_gpu(machine, machine.gpu(bdf), key, name, part, value)
    elif match := _XGMI_KEY.match(key):
        _set_xgmi(machine, key, match.group(1), match.group(2), value)
    elif match := _NIC_KEY.match(key):
        _set_nic(machine, key, match.group(1), match.group(2), value)
    elif match := _NUMA_KEY.match(key):
        _set_cpus(machine, key, int(match.group(1)), value)
    elif key == "driver":
        machine.driver = _choice(key, value, {"none": False, "loaded": True})
    elif key == "driver_version":
        machine.driver_version = None if value == "none" else value
    elif key == "acs":
        machine.acs = _choice(key, value, {"off": False, "on": True})
    elif key == "cmdline":
        machine.cmdline = value
    else:
        raise MachineError(
            f"unknown key {key!r}: known are driver, driver_version, acs, cmdline, gpus.BDF.FIELD "
            f"({', '.join(sorted(GPU_FIELDS))}, firmware.NAME, present), xgmi.BDF+BDF, "
            f"nics.BDF.FIELD ({', '.join(sorted(NIC_FIELDS))}), numa.NUMBER.cpus; BDF is like 0000:63:00.0"
        )


def _set_gpu(machine: Machine, gpu: Gpu, key: str, name: str, part: str | None, value: str) -> None:
    if name == "firmware" and part:
        if part not in gpu.firmware:
            raise MachineError(f"{key}: no such firmware; known are {', '.join(sorted(gpu.firmware))}")
        gpu.firmware[part] = _number(key, value)
    elif part is None and name == "present":
        if not _choice(key, value, {"false": False, "true": True}):
            machine.gpus.remove(gpu)
    elif part is None and name in GPU_FIELDS:
        GPU_FIELDS[name](gpu, key, value)
    else:
        raise MachineError(f"{key}: known fields are {', '.join(sorted(GPU_FIELDS))}, firmware.NAME, present")


def _set_xgmi(machine: Machine, key: str, one: str, other: str, value: str) -> None:
    first, second = machine.gpu(one), machine.gpu(other)
    if first is second or first.hive is None or first.hive != second.hive:
        raise MachineError(f"{key}: these two cards are not in one hive")
    machine.broken_xgmi[frozenset((one, other))] = _choice(key, value, {"missing": "missing", "routed": "routed"})


def _set_nic(machine: Machine, key: str, bdf: str, name: str, value: str) -> None:
    for nic in machine.nics:
        if nic.bdf == bdf:
            if name not in NIC_FIELDS:
                raise MachineError(f"{key}: known fields are {', '.join(sorted(NIC_FIELDS))}")
            NIC_FIELDS[name](nic, key, value)
            return
    raise MachineError(f"{machine.name} has no NIC at {bdf}: it has {', '.join(n.bdf for n in machine.nics)}")


def _set_cpus(machine: Machine, key: str, number: int, value: str) -> None:
    if number >= len(machine.numa):
        raise MachineError(f"{key}: {machine.name} has {len(machine.numa)} NUMA nodes, counted from 0")
    if not _CPU_LIST.fullmatch(value):
        raise MachineError(f"{key}: {value!r} is no list of processors such as 0-7,64-71")
    machine.numa[number].cpus = value


def _choice(key: str, value: str, known: dict[str, V]) -> V:
    if value not in known:
        raise MachineError(f"{key}: {value!r} is not one of {', '.join(known)}")
    return known[value]


def _number(key: str, value: str) -> int:
    try:
        return int(value, 0)
    except ValueError:
        raise MachineError(f"{key}: {value!r} is not a whole number") from None


def _width(key: str, value: str) -> int:
    return _choice(key, value.removeprefix("x"), {str(width): width for width in WIDTHS})


def _speed(key: str, value: str) -> float:
    return _choice(key, f"{float(value):.1f}" if _is_float(value) else value, {str(s): s for s in SPEEDS})


def _is_float(value: str) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return True


def _int_field(name: str) -> Callable[[Gpu, str, str], None]:
    return lambda gpu, key, value: setattr(gpu, name, _number(key, value))


GPU_FIELDS: dict[str, Callable[[Gpu, str, str], None]] = {
    "slot_width": lambda gpu, key, value: setattr(gpu.slot, "width", _width(key, value)),
    "slot_speed": lambda gpu, key, value: setattr(gpu.slot, "speed", _speed(key, value)),
    "endpoint_width": lambda gpu, key, value: setattr(gpu.endpoint, "width", _width(key, value)),
    "endpoint_speed": lambda gpu, key, value: setattr(gpu.endpoint, "speed", _speed(key, value)),
    "vbios": lambda gpu, key, value: setattr(gpu, "vbios", value),
    "hive": lambda gpu, key, value: setattr(gpu, "hive", None if value == "none" else value),
    "driver": lambda gpu, key, value: setattr(gpu, "driver", _choice(key, value, {"none": False, "loaded": True})),
    "runtime_status": lambda gpu, key, value: setattr(
        gpu, "runtime_status", _choice(key, value, {"active": "active", "suspended": "suspended"})
    ),
    **{
        name: _int_field(name)
        for name in (
            "numa_node", "aer_correctable", "aer_nonfatal", "aer_fatal",
            "replays", "ecc_correctable", "ecc_uncorrectable",
        )
    },
}  # fmt: skip

NIC_FIELDS: dict[str, Callable[[Nic, str, str], None]] = {
    "state": lambda nic, key, value: setattr(nic, "state", _choice(key, value, {"ACTIVE": "ACTIVE", "DOWN": "DOWN"})),
    "width": lambda nic, key, value: setattr(nic.link, "width", _width(key, value)),
    "speed": lambda nic, key, value: setattr(nic.link, "speed", _speed(key, value)),
    "numa_node": lambda nic, key, value: setattr(nic, "numa_node", _number(key, value)),
}
