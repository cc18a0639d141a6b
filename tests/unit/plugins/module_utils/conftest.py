# SPDX-License-Identifier: Apache-2.0
"""Made nodes for the readers: every file is written here, none was copied from a machine."""

from __future__ import annotations

import os
import pwd
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from support import binaries

from ansible_collections.instinct.bringup.plugins.module_utils.child import call_in_child
from ansible_collections.instinct.bringup.plugins.module_utils.text import Tree

BDF = "0000:63:00.0"
UPSTREAM = "0000:61:00.0"
DOWNSTREAM = "0000:62:00.0"
ROOT_PORT = "0000:60:01.1"
PCI = "/sys/bus/pci/devices"
NODES = "/sys/class/kfd/kfd/topology/nodes"


# Text, bytes, "-> target" for a link, or None for an empty folder.
Content = str | bytes | None
Files = Mapping[str, Content]
Plant = Callable[[Files], Tree]


def lay(root: Path, files: Files) -> None:
    """Write files below a root by absolute path."""
    for path, content in files.items():
        place = root / path.lstrip("/")
        if content is None:
            place.mkdir(parents=True, exist_ok=True)
            continue
        place.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, str) and content.startswith("-> "):
            os.symlink(content[3:], place)
        else:
            place.write_bytes(content if isinstance(content, bytes) else content.encode())


@pytest.fixture
def plant(tmp_path: Path) -> Plant:
    """Return a function that makes a root from files and gives its Tree."""

    def make(files: Files) -> Tree:
        lay(tmp_path / "root", files)
        (tmp_path / "root").mkdir(exist_ok=True)
        return Tree(str(tmp_path / "root"))

    return make


def config_space(port_type: int | None = None, size: int = 4096) -> bytes:
    """Return a configuration space with a power management and, with a port type, a PCI Express capability."""
    space = bytearray(size)
    space[0:4] = bytes.fromhex("02100f74")
    space[6] = 0x10
    space[0x34] = 0x48
    if size > 0x50:
        space[0x48:0x4A] = bytes((0x01, 0x64 if port_type is not None else 0))
    if size > 0x70 and port_type is not None:
        space[0x64:0x68] = bytes((0x10, 0, port_type << 4 | 2, 0))
    if size > 0x2B0 and port_type in (4, 6):
        # An access control capability with everything switched off.
        space[0x100:0x104] = (0x000D | 1 << 16).to_bytes(4, "little")
    return bytes(space)


def link_files(place: str, speed: str = "16.0 GT/s PCIe", width: int = 16) -> dict[str, Content]:
    """Return the link attributes of a PCI function."""
    return {
        f"{place}/current_link_speed": f"{speed}\n",
        f"{place}/current_link_width": f"{width}\n",
        f"{place}/max_link_speed": f"{speed}\n",
        f"{place}/max_link_width": f"{width}\n",
    }


def port_files(place: str, vendor: str, device: str, port_type: int) -> dict[str, Content]:
    """Return a bridge."""
    return {
        f"{place}/vendor": f"0x{vendor}\n",
        f"{place}/device": f"0x{device}\n",
        f"{place}/class": "0x060400\n",
        f"{place}/config": config_space(port_type),
        **link_files(place),
    }


def gpu_files(**changes: Content) -> dict[str, Content]:
    """Return one MI210 behind its own switch, driven by amdgpu. A change replaces an attribute; None drops it."""
    root = f"/sys/devices/pci0000:60/{ROOT_PORT}"
    upstream, downstream = f"{root}/{UPSTREAM}", f"{root}/{UPSTREAM}/{DOWNSTREAM}"
    gpu = f"{downstream}/{BDF}"
    attributes: dict[str, Content] = {
        "vendor": "0x1002\n",
        "device": "0x740f\n",
        "subsystem_vendor": "0x1002\n",
        "subsystem_device": "0x0c34\n",
        "class": "0x038000\n",
        "revision": "0x02\n",
        "config": config_space(0),
        "numa_node": "0\n",
        "local_cpulist": "0-63\n",
        "resource": "0x0000014000000000 0x0000014fffffffff 0x000000000014220c\n"
        + "0x0000000000000000 0x0000000000000000 0x0000000000000000\n" * 12,
        "vbios_version": "113-D67301-059\n",
        "mem_info_vram_total": "68702699520\n",
        "fw_version/mec_fw_version": "0x00000047\n",
        "fw_version/ta_xgmi_fw_version": "0x2000000d\n",
        "xgmi_hive_info/xgmi_hive_id": "2305843009213693953\n",
        "drm/card1/dev": "226:1\n",
        "drm/renderD128/dev": "226:128\n",
        "iommu_group": "-> ../../../../../../kernel/iommu_groups/17",
        "hwmon/hwmon3/temp1_label": "edge\n",
        "hwmon/hwmon3/temp1_input": "33000\n",
        "hwmon/hwmon3/temp1_crit": "105000\n",
        "hwmon/hwmon3/power1_average": "41000000\n",
        "hwmon/hwmon3/power1_cap": "300000000\n",
        "ras/features": "feature mask: 0x3fff\n",
        "ras/umc_err_count": "ue: 0\nce: 3\n",
        "ras/gpu_vram_bad_pages": "0x00001234 : 0x00001000 : R\n",
        "aer_dev_correctable": "RxErr 2\nTOTAL_ERR_COR 2\n",
        "aer_dev_nonfatal": "TOTAL_ERR_NONFATAL 0\n",
        "aer_dev_fatal": "TOTAL_ERR_FATAL 0\n",
        "xgmi_num_links": "00 01 01 01\n",
        "pcie_replay_count": "0\n",
        "driver": "-> ../../../../../../bus/pci/drivers/amdgpu",
        **{path.rpartition("/")[2]: content for path, content in link_files("").items()},
    }
    attributes.update(changes)
    return {
        f"{PCI}/{ROOT_PORT}": f"-> ../../../devices/pci0000:60/{ROOT_PORT}",
        f"{PCI}/{UPSTREAM}": f"-> ../../../devices/pci0000:60/{ROOT_PORT}/{UPSTREAM}",
        f"{PCI}/{DOWNSTREAM}": f"-> ../../../devices/pci0000:60/{ROOT_PORT}/{UPSTREAM}/{DOWNSTREAM}",
        f"{PCI}/{BDF}": f"-> ../../../devices/pci0000:60/{ROOT_PORT}/{UPSTREAM}/{DOWNSTREAM}/{BDF}",
        **port_files(root, "1022", "1483", 4),
        **port_files(upstream, "1022", "14c7", 5),
        **port_files(downstream, "1002", "14c8", 6),
        **{f"{gpu}/{name}": content for name, content in attributes.items() if content is not None},
        "/sys/kernel/iommu_groups/17/type": "identity\n",
    }


def kfd_files() -> dict[str, Content]:
    """Return a KFD topology of one CPU and the GPU of gpu_files."""
    cpu, gpu = f"{NODES}/0", f"{NODES}/1"
    return {
        f"{cpu}/name": "\n",
        f"{cpu}/gpu_id": "0\n",
        f"{cpu}/properties": "cpu_cores_count 64\nsimd_count 0\nlocation_id 0\n",
        f"{cpu}/mem_banks/0/properties": "heap_type 0\nsize_in_bytes 1024\n",
        f"{cpu}/io_links/0/properties": "type 2\nnode_from 0\nnode_to 1\nweight 20\n",
        f"{gpu}/name": "aldebaran\n",
        f"{gpu}/gpu_id": "34681\n",
        f"{gpu}/properties": "cpu_cores_count 0\nsimd_count 416\nlocation_id 25344\ndomain 0\nhive_id 18446744073709551615\n",
        f"{gpu}/mem_banks/0/properties": "heap_type 1\nsize_in_bytes 68702699520\n",
        f"{gpu}/io_links/0/properties": "type 2\nnode_from 1\nnode_to 0\nweight 20\n",
        f"{gpu}/p2p_links": None,
    }


def system_files() -> dict[str, Content]:
    """Return what else a node holds: distribution, kernel, packages, sources, ROCm's traces."""
    kernel = "5.15.0-91-generic"
    dkms = "/var/lib/dkms/amdgpu/5.18.13-1510348.22.04"
    return {
        "/etc/os-release": 'ID=ubuntu\nID_LIKE=debian\nVERSION_ID="22.04"\nVERSION_CODENAME=jammy\n',
        "/bin/sh": b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x03\x00\x3e\x00",
        "/proc/sys/kernel/osrelease": f"{kernel}\n",
        "/proc/sys/kernel/random/boot_id": "00000000-0000-4000-8000-000000000001\n",
        "/proc/cmdline": f"BOOT_IMAGE=/boot/vmlinuz-{kernel} ro iommu=pt\n",
        "/proc/meminfo": "MemTotal:       1024 kB\n",
        "/proc/cpuinfo": "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: 1\nphysical id\t: 0\n",
        "/sys/devices/system/cpu/online": "0\n",
        "/sys/devices/system/cpu/cpu0/topology/physical_package_id": "0\n",
        "/sys/devices/system/cpu/smt/active": "0\n",
        "/sys/devices/system/node/node0/cpulist": "0\n",
        "/sys/devices/system/node/node0/distance": "10\n",
        "/sys/module/amdgpu/initstate": "live\n",
        "/sys/module/amdgpu/version": "5.18.13\n",
        "/sys/module/amdgpu/refcnt": "0\n",
        f"/boot/vmlinuz-{kernel}": "",
        f"/lib/modules/{kernel}/build": f"-> /usr/src/linux-headers-{kernel}",
        f"/usr/src/linux-headers-{kernel}": None,
        "/etc/default/grub": 'GRUB_DEFAULT=0\nGRUB_CMDLINE_LINUX_DEFAULT="iommu=pt"\nGRUB_CMDLINE_LINUX=""\n',
        f"{dkms}/source": "-> /usr/src/amdgpu-5.18.13-1510348.22.04",
        "/usr/src/amdgpu-5.18.13-1510348.22.04/dkms.conf": "",
        f"{dkms}/{kernel}/x86_64/module/amdgpu.ko": "",
        f"/var/lib/dkms/amdgpu/kernel-{kernel}-x86_64": f"-> 5.18.13-1510348.22.04/{kernel}/x86_64",
        "/dev/kfd": "",
        "/dev/dri/renderD128": "",
        "/etc/passwd": "root:x:0:0:root:/root:/bin/bash\ndeploy:x:1000:1000::/home/deploy:/bin/bash\n",
        "/etc/group": "root:x:0:\nvideo:x:44:\nrender:x:104:deploy\ndeploy:x:1000:\n",
        "/var/lib/dpkg/status": "Package: dpkg\nStatus: install ok installed\nArchitecture: amd64\nVersion: 1.21.1\n\n"
        "Package: rocm-core\nStatus: hold ok installed\nArchitecture: amd64\nVersion: 5.4.2.50402-104~22.04\n\n",
        "/var/lib/dpkg/info/rocm-core.list": "/.\n/opt\n/opt/rocm-5.4.2\n/opt/rocm-5.4.2/.info\n/opt/rocm-5.4.2/.info/version\n",
        "/var/lib/apt/extended_states": "Package: rocm-core\nArchitecture: amd64\nAuto-Installed: 1\n",
        "/etc/apt/sources.list.d/rocm.list": "deb [arch=amd64 signed-by=/etc/apt/keyrings/rocm.gpg] "
        "https://repo.radeon.com/rocm/apt/5.4.2 jammy main\n",
        "/etc/apt/sources.list.d/ubuntu.sources": "Types: deb\nURIs: http://archive.example/ubuntu\nSuites: jammy\nComponents: main\n",
        "/etc/apt/preferences.d/rocm-pin-600": "Package: *\nPin: release o=repo.radeon.com\nPin-Priority: 600\n",
        "/etc/apt/keyrings/rocm.gpg": "<!DOCTYPE html>",
        "/opt/rocm": "-> /etc/alternatives/rocm",
        "/etc/alternatives/rocm": "-> /opt/rocm-5.4.2",
        "/opt/rocm-5.4.2/.info/version": "5.4.2-104\n",
        "/var/lib/dpkg/alternatives/rocm": "auto\n/opt/rocm\n\n/opt/rocm-5.4.2\n50402\n\n",
        "/opt/instinct/venv/pyvenv.cfg": "home = /usr/bin\nversion = 3.11.2\n",
        "/opt/instinct/venv/lib/python3.11/site-packages/torch-2.0.1.dist-info/METADATA": "Name: torch\nVersion: 2.0.1\n\n",
        "/opt/instinct/venv/lib/python3.11/site-packages/torch/version.py": "__version__ = '2.0.1+rocm5.4.2'\n",
        "/sys/class/net/lo": "-> ../../devices/virtual/net/lo",
        "/sys/devices/virtual/net/lo/operstate": "unknown\n",
        "/sys/devices/virtual/net/lo/mtu": "65536\n",
        "/sys/devices/virtual/net/lo/speed": "10\n",
        "/var/lib/instinct-bringup/runs/20261201.json": '{"schema": 1, "state": "finished", "packages": ["rccl"], "steps": ["rocm"]}',
        "/sys/class/dmi/id/sys_vendor": "Maker of servers\n",
        **platform_files(kernel),
    }


def platform_files(kernel: str) -> dict[str, Content]:
    """Return what a node holds about how it is set up: power, trust, tunables, firmware, libraries, the log."""
    efivars = "/sys/firmware/efi/efivars"
    torch = "/opt/instinct/venv/lib/python3.11/site-packages/torch/lib"
    return {
        "/sys/class/iommu/ivhd0": None,
        "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "performance\n",
        "/sys/devices/system/cpu/cpu0/cpuidle/state2/disable": "1\n",
        "/sys/devices/system/cpu/cpu0/cpuidle/state2/name": "C2\n",
        f"{efivars}/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c": binaries.efi_variable(b"\1"),
        f"{efivars}/SetupMode-8be4df61-93ca-11d2-aa0d-00e098032b8c": binaries.efi_variable(b"\0"),
        f"{efivars}/MokListRT-605dab50-e046-4300-abb6-3dd810dd8b23": binaries.efi_variable(
            binaries.signature_list(binaries.certificate("made machine owner"))
        ),
        "/proc/keys": "2b1 I------ 1 perm 1f030000 0 0 asymmetri made vendor: 0011: X509.rsa 11 []\n",
        "/sys/kernel/security/lockdown": "none [integrity] confidentiality\n",
        f"/lib/modules/{kernel}/updates/dkms/amdgpu.ko": binaries.signed_module("made machine owner"),
        f"/boot/config-{kernel}": "CONFIG_PCI_P2PDMA=y\n# CONFIG_HSA_AMD_P2P is not set\n",
        "/proc/sys/kernel/numa_balancing": "0\n",
        "/etc/sysctl.d/90-rocm.conf": "kernel.numa_balancing=0\n",
        "/sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
        "/sys/kernel/mm/transparent_hugepage/defrag": "always defer defer+madvise [madvise] never\n",
        "/lib/firmware/updates/amdgpu/aldebaran_mec.bin": "",
        "/var/lib/dpkg/info/linux-firmware.list": "/lib/firmware/amdgpu/aldebaran_smc.bin\n",
        "/etc/ld.so.cache": binaries.loader_cache({"librccl.so.1": "/opt/rocm-5.4.2/lib/librccl.so.1"}),
        "/opt/rocm-5.4.2/lib/librccl.so.1": binaries.library("librccl.so.1"),
        f"{torch}/libtorch_hip.so": binaries.library("libtorch_hip.so", ("librccl.so.1",), "$ORIGIN"),
        f"{torch}/librccl.so.1": binaries.library("librccl.so.1"),
        "/etc/systemd/system/late.service": "[Service]\nExecStart=/sbin/modprobe amdgpu\n",
        "/var/log/dmesg": "[    0.000000] Linux version 5.15.0\n[    5.9] amdgpu 0000:63:00.0: XGMI: Add node 3, hive 0x2.\n",
    }


@pytest.fixture
def open_root() -> Iterator[Path]:
    """Return an empty root that every user may enter: pytest's own folders are closed to others."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        yield Path(folder)


@pytest.fixture(scope="session")
def without_root() -> Callable[[Callable[[], Any]], Any]:
    """Return a function that asks a question as a user who is not root, in a child where we are."""

    def ask(question: Callable[[], Any]) -> Any:
        if os.geteuid() != 0:
            return question()
        nobody = pwd.getpwnam("nobody")

        def as_nobody() -> Any:
            os.setgroups([])
            os.setgid(nobody.pw_gid)
            os.setuid(nobody.pw_uid)
            return question()

        return call_in_child(as_nobody, 20)

    return ask


@pytest.fixture(scope="session")
def lay_files() -> Callable[[Path, Files], None]:
    """Return the function that writes files below a root."""
    return lay


@pytest.fixture(scope="session")
def config() -> Callable[..., bytes]:
    """Return the maker of configuration spaces."""
    return config_space


@pytest.fixture(scope="session")
def gpu() -> Callable[..., dict[str, Content]]:
    """Return the maker of one MI210's files."""
    return gpu_files


@pytest.fixture(scope="session")
def kfd() -> Callable[..., dict[str, Content]]:
    """Return the maker of a KFD topology's files."""
    return kfd_files


@pytest.fixture(scope="session")
def made_node() -> dict[str, Any]:
    """Return the files of a whole made node with one MI210."""
    return {**gpu_files(), **kfd_files(), **system_files()}
