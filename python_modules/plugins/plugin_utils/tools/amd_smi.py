# SPDX-License-Identifier: Apache-2.0
"""Read amd-smi's lists, tables and JSON, of every release from 6.0 on."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.instinct.bringup.plugins.plugin_utils.tools.lenient import clean_lines, json_values
from ansible_collections.instinct.bringup.plugins.plugin_utils.tools.model import (
    ToolGpu,
    ToolOutput,
    bdf_of,
    hex_id,
    known,
    whole,
)

_GPU = re.compile(r"^GPU:\s*(\d+)\s*$")
_PAIR = re.compile(r"^\s*(?P<key>[A-Z][A-Z0-9_ ]*):\s*(?P<value>.*?)\s*$")
_TABLE = re.compile(r"^\s*(?P<title>[A-Z][A-Z \-]*?) TABLE:\s*$")
_DRIVER = re.compile(r"AMDSMI Tool:.*amdgpu version:\s*(\S+)")

# amd-smi's names of firmware, and those of the driver's files.
FIRMWARE = {
    "CP_MEC1": "mec", "CP_MEC2": "mec2", "RLC": "rlc", "SDMA0": "sdma", "SDMA1": "sdma2", "VCN": "vcn",
    "PSP_SOSDRV": "sos", "TA_RAS": "ta_ras", "TA_XGMI": "ta_xgmi", "PM": "smc", "SMC": "smc", "ASD": "asd",
}  # fmt: skip


def parse_amd_smi(text: str) -> ToolOutput:
    """Return what an output of amd-smi tells, of whatever form. It raises nothing."""
    lines, warnings = clean_lines(text)
    output = ToolOutput(warnings=warnings)
    for value in json_values("\n".join(lines)):
        entries = value if isinstance(value, list) else value.get("gpu_data", [value])
        for entry in entries if isinstance(entries, list) else []:
            if isinstance(entry, dict) and isinstance(entry.get("gpu"), int):
                output.readable = True
                _from_json(output, entry)
    if not output.readable:
        _from_text(output, lines)
    output.gpus.sort(key=lambda gpu: gpu.index)
    return output


def _from_json(output: ToolOutput, entry: dict[str, t.Any]) -> None:
    index = int(entry["gpu"])
    gpu = output.gpu(index)
    _walk_json(gpu, entry)
    for name, kind in (("link_type", "links"), ("weight", "weights")):
        peers = entry.get(name)
        for key, value in (peers or {}).items() if isinstance(peers, dict) else []:
            other = whole(str(key).removeprefix("gpu_"))
            if other is not None:
                _cell(output, index, other, str(value), kind)
    links = entry.get("links")
    for link in links if isinstance(links, list) else []:
        # From ROCm 6.2 on: one entry a peer.
        if isinstance(link, dict) and isinstance(link.get("gpu"), int):
            _cell(output, index, link["gpu"], str(link.get("link_type", "")), "links")
            _cell(output, index, link["gpu"], str(link.get("weight", "")), "weights")


def _walk_json(gpu: ToolGpu, value: t.Any) -> None:
    if not isinstance(value, dict):
        return
    for key, entry in value.items():
        if isinstance(entry, dict):
            _walk_json(gpu, entry)
        elif isinstance(entry, list) and key == "fw_list":
            for firmware in entry:
                if isinstance(firmware, dict):
                    _firmware(gpu, str(firmware.get("fw_id", "")), str(firmware.get("fw_version", "")))
        elif not isinstance(entry, list):
            _assign(gpu, str(key).upper(), str(entry))


def _from_text(output: ToolOutput, lines: list[str]) -> None:
    gpu: ToolGpu | None = None
    title = ""
    columns: list[str] = []
    pending = ""
    for line in lines:
        heading, table, pair = _GPU.match(line), _TABLE.match(line), _PAIR.match(line)
        driver = _DRIVER.search(line)
        if driver:
            output.readable, output.driver = True, driver.group(1)
        elif heading:
            output.readable, title = True, ""
            gpu = output.gpu(int(heading.group(1)))
        elif table:
            output.readable, title, columns = True, table["title"], []
            gpu = None
        elif title:
            columns = _table_line(output, line.split(), title, columns)
        elif gpu is not None and pair:
            pending = _list_line(gpu, pair["key"].strip(), pair["value"], pending)


def _list_line(gpu: ToolGpu, key: str, value: str, pending: str) -> str:
    """Take one line of a list; a firmware's name comes a line before its version."""
    if key == "FW_ID":
        return value
    if key == "FW_VERSION":
        _firmware(gpu, pending, value)
        return ""
    _assign(gpu, key, value)
    return pending


def _firmware(gpu: ToolGpu, name: str, value: str) -> None:
    text = known(value)
    if text is not None and name:
        gpu.firmware[FIRMWARE.get(name, name.lower())] = text


def _assign(gpu: ToolGpu, key: str, value: str) -> None:
    if key == "BDF":
        gpu.bdf = bdf_of(value) or gpu.bdf
    elif key == "DEVICE_ID":
        gpu.device_id = hex_id(value) or gpu.device_id
    elif key in ("VBIOS", "PART_NUMBER") and (known(value) or "").startswith("113-"):
        gpu.vbios = known(value)
    elif key == "NODE_ID":
        gpu.node = whole(value)
    elif key == "PARTITION_ID":
        gpu.partition = whole(value)


def _table_line(output: ToolOutput, fields: list[str], title: str, columns: list[str]) -> list[str]:
    """Take one line of a table whose rows and columns are PCI addresses; return its columns."""
    addresses = [bdf_of(field) for field in fields]
    if fields and all(addresses):
        for address in addresses:
            _index(output, str(address))
        return [str(address) for address in addresses]
    if not fields or not columns or addresses[0] is None or addresses[0] not in columns:
        return columns
    one = _index(output, addresses[0])
    for address, value in zip(columns, fields[1:], strict=False):
        kind = {"LINK TYPE": "links", "WEIGHT": "weights"}.get(title)
        if kind:
            _cell(output, one, _index(output, address), value, kind)
    return columns


def _index(output: ToolOutput, bdf: str) -> int:
    for gpu in output.gpus:
        if gpu.bdf == bdf:
            return gpu.index
    gpu = output.gpu(max((gpu.index for gpu in output.gpus), default=-1) + 1)
    gpu.bdf = bdf
    return gpu.index


def _cell(output: ToolOutput, one: int, other: int, value: str, kind: str) -> None:
    if one == other:
        return
    if kind == "links" and value.upper() in ("XGMI", "PCIE"):
        output.links[(one, other)] = value.upper()
    number = whole(value)
    if kind == "weights" and number is not None:
        output.weights[(one, other)] = number
