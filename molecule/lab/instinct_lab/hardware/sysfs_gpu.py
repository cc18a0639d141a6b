# SPDX-License-Identifier: Apache-2.0
"""What the amdgpu driver shows of a card: device attributes, firmware, hwmon, DRM nodes, XGMI."""

from __future__ import annotations

from .kfd import driven
from .machine import Gpu, Machine
from .pci import PciDevice
from .tree import Tree

# Every firmware that the driver has a file for; what a card does not name is 0.
FIRMWARE = (
    "asd", "ce", "dmcu", "mc", "me", "mec", "mec2", "pfp", "rlc", "rlc_srlc", "rlc_srlg", "rlc_srls",
    "sdma", "sdma2", "smc", "sos", "ta_ras", "ta_xgmi", "uvd", "vce", "vcn",
)  # fmt: skip

_RAS_BLOCKS = ("gfx", "mmhub", "sdma", "umc", "xgmi_wafl")
_DRM_MAJOR = 226


def add(tree: Tree, machine: Machine, device: PciDevice, gpu: Gpu) -> None:
    """Put what the driver makes for a card that it has taken."""
    path = device.path
    idle_bytes = 10_805_248
    tree.texts(
        path,
        {
            "vbios_version": gpu.vbios,
            "unique_id": f"{gpu.unique_id:016x}",
            "serial_number": "0" * 12,
            "product_name": gpu.product_name,
            "product_number": gpu.product_number,
            "mem_info_vram_total": gpu.vram_bytes,
            "mem_info_vram_used": idle_bytes,
            "mem_info_vram_vendor": gpu.vram_vendor,
            "mem_info_vis_vram_total": gpu.vram_bytes,
            "mem_info_vis_vram_used": idle_bytes,
            "mem_info_gtt_total": 135_000_000_000,
            "mem_info_gtt_used": 14_700_544,
            "mem_info_preempt_used": 0,
            "gpu_busy_percent": 0,
            "mem_busy_percent": 0,
            "pcie_replay_count": gpu.replays,
            "power_dpm_force_performance_level": "auto",
            "power_dpm_state": "performance",
            "pp_dpm_sclk": "0: 500Mhz\n1: 800Mhz *\n2: 1700Mhz",
            "pp_dpm_mclk": "0: 400Mhz\n1: 700Mhz\n2: 1200Mhz\n3: 1600Mhz *",
            "pp_dpm_fclk": "0: 400Mhz *\n1: 2000Mhz",
            "pp_dpm_socclk": "0: 666Mhz\n1: 857Mhz\n2: 1000Mhz\n3: 1090Mhz *",
            "pp_sclk_od": 0,
            "pp_mclk_od": 0,
            "thermal_throttling_logging": (f"{gpu.bdf}: thermal throttling logging enabled, with interval 60 seconds"),
        },
    )
    versions: dict[str, object] = {f"{name}_fw_version": f"0x{gpu.firmware.get(name, 0):08x}" for name in FIRMWARE}
    tree.texts(f"{path}/fw_version", versions)
    tree.text(f"{path}/ras/features", "feature mask: 0x3fff")
    for block in _RAS_BLOCKS:
        uncorrectable, correctable = (gpu.ecc_uncorrectable, gpu.ecc_correctable) if block == "umc" else (0, 0)
        tree.text(f"{path}/ras/{block}_err_count", f"ue: {uncorrectable}\nce: {correctable}")
    _add_hwmon(tree, path, gpu)
    _add_drm(tree, path, gpu.card, gpu.render)
    _add_xgmi(tree, machine, path, gpu)


def _add_hwmon(tree: Tree, path: str, gpu: Gpu) -> None:
    # Numbers of idle cards; degrees in 1/1000 C, power in microwatts.
    folder = f"{path}/hwmon/hwmon{gpu.card + 2}"
    values: dict[str, object] = {"name": "amdgpu"}
    for index, (label, degrees, critical) in enumerate(
        (("edge", 33, 105), ("junction", 35, 105), ("mem", 46, 95)), start=1
    ):
        values |= {
            f"temp{index}_label": label,
            f"temp{index}_input": degrees * 1000,
            f"temp{index}_crit": critical * 1000,
            f"temp{index}_crit_hyst": -273150,
            f"temp{index}_emergency": (critical + 5) * 1000,
        }
    values |= {
        "in0_label": "vddgfx", "in0_input": 793,
        "freq1_label": "sclk", "freq1_input": 800_000_000,
        "freq2_label": "mclk", "freq2_input": 1_600_000_000,
        "power1_average": 41_000_000, "power1_cap": 300_000_000, "power1_cap_default": 300_000_000,
        "power1_cap_max": 300_000_000, "power1_cap_min": 0, "power1_label": "fastPPT",
    }  # fmt: skip
    tree.texts(folder, values)
    tree.link(f"{folder}/device", path)
    tree.link(f"sys/class/hwmon/hwmon{gpu.card + 2}", folder)


def _add_drm(tree: Tree, path: str, card: int, render: int | None) -> None:
    nodes = {f"card{card}": card}
    if render is not None:
        nodes[f"renderD{render}"] = render
    for name, minor in nodes.items():
        folder = f"{path}/drm/{name}"
        tree.text(f"{folder}/dev", f"{_DRM_MAJOR}:{minor}")
        tree.text(f"{folder}/uevent", f"MAJOR={_DRM_MAJOR}\nMINOR={minor}\nDEVNAME=dri/{name}\nDEVTYPE=drm_minor")
        tree.link(f"{folder}/device", path)
        tree.link(f"{folder}/subsystem", "sys/class/drm")
        tree.link(f"sys/class/drm/{name}", folder)
        tree.link(f"sys/dev/char/{_DRM_MAJOR}:{minor}", folder)


def add_display(tree: Tree, path: str, card: int) -> None:
    """Put the DRM node of a plain display, such as the management controller's."""
    _add_drm(tree, path, card, None)


def _add_xgmi(tree: Tree, machine: Machine, path: str, gpu: Gpu) -> None:
    if not gpu.hive:
        return
    members = [item for item in driven(machine) if item.hive == gpu.hive]
    tree.text(f"{path}/xgmi_device_id", members.index(gpu) + 1)
    tree.text(f"{path}/xgmi_error", 0)
    # The folder belongs to the first card of the hive, the others have a link to it.
    home = f"sys/bus/pci/devices/{members[0].bdf}/xgmi_hive_info"
    if gpu is not members[0]:
        tree.link(f"{path}/xgmi_hive_info", home)
        return
    tree.text(f"{path}/xgmi_hive_info/xgmi_hive_id", machine.hive_id(gpu))
    for number, member in enumerate(members, start=1):
        tree.link(f"{path}/xgmi_hive_info/node{number}", f"sys/bus/pci/devices/{member.bdf}")


def devices_file(machine: Machine) -> dict[str, object]:
    """Return what the node's /dev must hold: whether there is a KFD, and DRM names with their PCI address."""
    dri: dict[str, str] = {}
    for item in machine.devices:
        if item.card is not None:
            dri[f"card{item.card}"] = item.bdf
    for gpu in driven(machine):
        dri[f"card{gpu.card}"] = gpu.bdf
        dri[f"renderD{gpu.render}"] = gpu.bdf
    return {"kfd": machine.driver, "dri": dri}
