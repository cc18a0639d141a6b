# SPDX-License-Identifier: Apache-2.0
"""Assemble the snapshot of a node: one JSON document, schema 1, made of what every reader saw.

A reader that meets something nobody thought of costs its own area, never the others: the area
is then None and the problem names the error.
"""

from __future__ import annotations

import json
import os
import resource
import time
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, TypeVar

from ansible_collections.instinct.bringup.plugins.module_utils import (
    alternatives,
    apt_keyrings,
    apt_locks,
    apt_policy,
    apt_preferences,
    apt_sources,
    cpu,
    cpu_power,
    deepspeed_ops,
    devices,
    dkms,
    dpkg,
    environment,
    firmware_files,
    gpu,
    iommu,
    journal_reader,
    kernel,
    kernel_log,
    kfd,
    launch_access,
    leftovers,
    loader,
    memory_settings,
    modules,
    mounts,
    mpi_build,
    network,
    numa,
    opt_rocm,
    os_release,
    pci,
    processes,
    python_env,
    secure_boot,
    services,
    slurm,
    smi,
    sysctl,
    users,
    watch,
)
from ansible_collections.instinct.bringup.plugins.module_utils.probe import Probe
from ansible_collections.instinct.bringup.plugins.module_utils.text import Tree

SCHEMA = 1

Json = Dict[str, Any]
Value = TypeVar("Value")


class Request(NamedTuple):
    """What a snapshot looks at beyond what is always read; paths are absolute."""

    watch: Sequence[str] = ()
    users: Sequence[str] = ()
    packages: Sequence[str] = ()
    venvs: Sequence[str] = ()
    spaces: Sequence[str] = ()
    env_logs: Sequence[str] = ()
    leftovers: Sequence[str] = ()
    launch_user: str = ""
    mpi_prefix: str = ""
    tools: bool = False
    deepspeed_ops: Optional[Dict[str, str]] = None


# What a tree must hold for an area to be looked at in it: one of these paths. Areas that are not
# here are told from absence too: no /opt is a node without ROCm.
HELD_BY = {
    "os": ("/etc/os-release", "/usr/lib/os-release"),
    "kernel": ("/proc/sys/kernel/osrelease", "/proc/cmdline", "/boot", "/lib/modules"),
    "cpu": (cpu.CPU_ROOT, cpu.CPUINFO),
    "memory": ("/proc/meminfo",),
    "numa": (numa.NODE_ROOT,),
    "pci": (pci.PCI_ROOT,),
    # With PCI devices and without KFD, the driver is not loaded: that is seen, not skipped.
    "kfd": (kfd.TOPOLOGY, pci.PCI_ROOT),
    "modules": (modules.MODULE_ROOT, "/etc/modprobe.d"),
    "dkms": ("/var/lib/dkms", dpkg.STATUS),
    "devices": ("/dev",),
    "users": ("/etc/passwd",),
    "dpkg": (dpkg.STATUS,),
    "apt": ("/etc/apt",),
    "opt": (opt_rocm.OPT,),
    "alternatives": (alternatives.LINKS, alternatives.ADMIN),
    "leftovers": ("/etc",),
    "net": (network.NET_ROOT, network.HCA_ROOT),
    "watch": ("/etc",),
    "environment": ("/etc",),
    "python_envs": ("/opt", "/home", "/usr"),
    "journal": ("/var/lib",),
    "system": ("/sys/class/dmi", "/run/systemd/container"),
    "iommu": (iommu.GROUPS, iommu.UNITS),
    "cpu_power": (cpu.CPU_ROOT,),
    "secure_boot": (secure_boot.EFI, secure_boot.KEYS),
    "sysctl": ("/proc/sys/kernel/numa_balancing", "/etc/sysctl.d"),
    "thp": (memory_settings.THP,),
    "firmware_files": ("/lib/firmware",),
    "rccl_libraries": (loader.CACHE, "/opt"),
    "kernel_log": (kernel_log.FILE,),
    "slurm": ("/etc",),
    "launch": ("/etc/passwd",),
}
# Parts of the kernel's area that a tree may hold or not, each by its own folder.
KERNEL_PARTS = {"kernel.headers": "/lib/modules", "kernel.next_release": "/boot", "kernel.next_cmdline": "/etc/default"}
# What only the machine itself tells: never asked of a captured or made tree.
LIVE = {
    "python": "it is the interpreter of the machine that runs this",
    "devices.open_as": "a captured tree has no device to open",
    "gpu_processes": "processes are of the machine that runs this",
    "apt.policy": "no command is run for another root",
    "apt.locks": "locks are of the machine that runs this",
    "space": "free space is of the machine that runs this",
    "shm": "shared memory is of the machine that runs this",
    "services": "processes are of the machine that runs this",
    "mpi": "no command is run for another root",
    "tools": "no command is run for another root",
    "deepspeed_ops": "nothing is compiled for another root",
}


def build_snapshot(
    root: str, request: Request, probe: Optional[Probe], own_pid: int = 0, tree: Optional[Tree] = None
) -> Json:
    """Return the snapshot of what lies under root. It never raises.

    probe: runs the few commands; None for a root that is not this machine's own, where no command
    is run and nothing of this machine is asked.
    tree: what the readers go through, for one who wants to know what they read.
    """
    started = _cpu_seconds()
    tree = tree or Tree(root)
    builder = _Builder(tree, probe is not None)
    if probe is not None:
        tree.far.update(builder.guard("mounts", lambda: mounts.read_far_mounts(tree)) or {})
    snapshot = builder.read(request, probe, own_pid)
    snapshot = {
        "schema": SCHEMA,
        "collected": apt_keyrings.utc(int(time.time())),
        "root": root,
        "cpu_seconds": round(_cpu_seconds() - started, 3),
        "problems": tree.problems(),
        "skipped": builder.skipped,
        **snapshot,
    }
    return _printable(snapshot)


def _cpu_seconds() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


class _Builder:
    """Calls the readers, area by area."""

    def __init__(self, tree: Tree, live: bool) -> None:
        self.tree = tree
        self.live = live
        self.skipped: Dict[str, str] = {}
        self.gpus: Optional[List[Json]] = None
        self.files = dpkg.FileLists(tree)

    def guard(self, area: str, read: Callable[[], Value]) -> Optional[Value]:
        """Return what a reader returns, None and a problem when it breaks."""
        try:
            return read()
        except Exception as error:  # noqa: BLE001 - whatever it is, it must not cost the other areas
            self.tree.problem(area, "", "the reader broke: %s: %s" % (type(error).__name__, error))
            return None

    def area(self, name: str, read: Callable[[], Value]) -> Optional[Value]:
        """Return an area, None when this tree does not hold it or only the live machine tells."""
        if not self.live and name in LIVE:
            self.skipped[name] = LIVE[name]
            return None
        places = HELD_BY.get(name, ())
        if not self.live and places and not any(self.tree.exists(place) for place in places):
            self.skipped[name] = "this tree does not hold %s" % " or ".join(places)
            return None
        return self.guard(name, read)

    def read(self, request: Request, probe: Optional[Probe], own_pid: int) -> Json:
        """Return all areas of the snapshot."""
        tree = self.tree
        local = self.area("users", lambda: users.read_local(tree)) or users.LocalAccounts()
        people = self.area("users", lambda: users.read_users(tree, local, request.users, self.live))
        holders = self.area("gpu_processes", lambda: processes.read_gpu_processes(tree, own_pid, os.geteuid() == 0))
        return {
            "os": self.area("os", lambda: os_release.read_os(tree)),
            "kernel": self.area("kernel", self._kernel),
            "python": self.area("python", python_env.read_interpreter),
            "cpu": self.area("cpu", lambda: cpu.read_cpu(tree)),
            "memory": self.area("memory", lambda: cpu.read_memory(tree)),
            "numa": self.area("numa", lambda: numa.read_numa(tree)),
            "pci": self.area("pci", self._pci),
            "kfd": self.area("kfd", lambda: kfd.read_kfd(tree)),
            "modules": self.area("modules", lambda: modules.read_modules(tree, probe)),
            "dkms": self.area("dkms", lambda: dkms.read_dkms(tree)),
            "devices": self.area("devices", lambda: self._devices(local, people or {})),
            "gpu_processes": holders,
            "users": people,
            "groups": self.guard("users", lambda: users.read_groups(local)) if "users" not in self.skipped else None,
            "dpkg": self.area("dpkg", lambda: dpkg.read_dpkg(tree, probe)),
            "apt": self.area("apt", lambda: self._apt(request, probe)),
            "opt": self.area("opt", lambda: opt_rocm.read_opt(tree, self.files)),
            "alternatives": self.area("alternatives", lambda: alternatives.read_alternatives(tree)),
            "leftovers": self.area("leftovers", lambda: leftovers.read_leftovers(tree, request.leftovers, self.files)),
            "space": self.area("space", lambda: mounts.read_space(tree, request.spaces)),
            "python_envs": self.area("python_envs", lambda: python_env.read_environments(tree, request.venvs)),
            "net": self.area("net", lambda: network.read_net(tree)),
            "watch": self.area("watch", lambda: watch.read_watched(tree, local, request.watch)),
            "environment": self.area(
                "environment",
                lambda: environment.read_environment(tree, request.users, request.env_logs, holders),
            ),
            "journal": self.area("journal", lambda: journal_reader.read_journal(tree)),
            "system": self.area("system", lambda: {"virtualization": os_release.read_virtualization(tree)}),
            **self._platform(request, probe),
        }

    def _platform(self, request: Request, probe: Optional[Probe]) -> Json:
        """Return the areas about how the machine is set up."""
        tree = self.tree
        asked = request.tools or not self.live
        return {
            "iommu": self.area("iommu", lambda: iommu.read_iommu(tree, self._gpu_addresses())),
            "cpu_power": self.area("cpu_power", lambda: cpu_power.read_cpu_power(tree)),
            "secure_boot": self.area("secure_boot", lambda: secure_boot.read_secure_boot(tree)),
            "sysctl": self.area("sysctl", lambda: sysctl.read_sysctl(tree)),
            "thp": self.area("thp", lambda: memory_settings.read_thp(tree)),
            "shm": self.area("shm", lambda: memory_settings.read_shm(tree)),
            "services": self.area("services", lambda: services.read_services(tree)),
            "firmware_files": self.area(
                "firmware_files", lambda: firmware_files.read_firmware_files(tree, self._release())
            ),
            "rccl_libraries": self.area("rccl_libraries", lambda: loader.read_rccl_libraries(tree, request.venvs)),
            "kernel_log": self.area("kernel_log", lambda: kernel_log.read_kernel_log(tree, self.live)),
            "slurm": self.area("slurm", lambda: slurm.read_slurm(tree)),
            "launch": self.area("launch", lambda: launch_access.read_launch(tree, request.launch_user, self.live)),
            "mpi": self.area("mpi", lambda: mpi_build.read_mpi(tree, request.mpi_prefix, probe)),
            "tools": self.area("tools", lambda: smi.run_tools(tree, probe)) if asked else None,
            "deepspeed_ops": self._ops(request, probe),
        }

    def _ops(self, request: Request, probe: Optional[Probe]) -> Optional[Json]:
        def read() -> Optional[Json]:
            if probe is None or not request.deepspeed_ops:
                return None
            return deepspeed_ops.read_ops(self.tree, probe, deepspeed_ops.OpsRequest(**request.deepspeed_ops))

        return self.area("deepspeed_ops", read)

    def _gpu_addresses(self) -> List[str]:
        return [card["bdf"] for card in self.gpus or []]

    def _release(self) -> str:
        return self.tree.read_line("kernel", kernel.RELEASE, optional=True) or ""

    def _kernel(self) -> Json:
        for name, place in KERNEL_PARTS.items():
            if not self.live and not self.tree.exists(place):
                self.skipped[name] = "this tree does not hold %s" % place
        return kernel.read_kernel(self.tree)

    def _pci(self) -> Optional[Json]:
        bus = pci.PciBus(self.tree)
        addresses = bus.addresses()
        if addresses is None:
            return None
        self.gpus = self.guard("pci", lambda: gpu.read_gpus(self.tree, bus, addresses))
        return {
            "gpus": self.gpus,
            "nics": self.guard("pci", lambda: network.read_nics(self.tree, bus, addresses)),
        }

    def _devices(self, local: users.LocalAccounts, people: Json) -> Json:
        nodes = devices.read_nodes(self.tree, local)
        return {
            "nodes": nodes,
            "open_as": self.area("devices.open_as", lambda: devices.open_as(self.tree, people, nodes)),
        }

    def _apt(self, request: Request, probe: Optional[Probe]) -> Json:
        tree = self.tree
        sources = self.guard("apt", lambda: apt_sources.read_sources(tree))
        pins = self.guard("apt", lambda: apt_preferences.read_preferences(tree)) or (None, None)
        named = apt_sources.key_files(sources or [])
        policy: Optional[Json] = None
        if probe is None:
            self.skipped["apt.policy"] = LIVE["apt.policy"]
        else:
            release = tree.read_line("kernel", "/proc/sys/kernel/osrelease") or ""
            names = [name.replace("{kernel}", release) for name in request.packages]
            policy = self.guard("apt", lambda: apt_policy.read_policy(tree, probe, names))
        return {
            "sources": sources,
            "preferences": pins[0],
            "preference_problems": pins[1],
            "keyrings": self.guard("apt", lambda: apt_keyrings.read_keyrings(tree, named)),
            "policy": policy,
            "locks": self.area("apt.locks", lambda: apt_locks.read_locks(tree)),
        }


def _printable(snapshot: Json) -> Json:
    """Return the snapshot as it is, or with the file names that are not UTF-8 made printable."""
    try:
        json.dumps(snapshot, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        cleaned: Json = _clean(snapshot)
        return cleaned
    return snapshot


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, dict):
        return {_clean(key): _clean(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [_clean(entry) for entry in value]
    return value
