# SPDX-License-Identifier: Apache-2.0
"""Read rocm-smi's tables, lists, JSON and CSV, of every release from 2 to 7.

The names of columns and keys moved over time; what is not known here is passed over.
"""

from __future__ import annotations

import csv
import io
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

_BANNER = re.compile(r"^\s*=*\s*(?:ROCm System Management Interface|ROCM-SMI|End of ROCm SMI Log)", re.IGNORECASE)
_TITLE = re.compile(r"^\s*=+\s*(?P<title>[^=].*?)\s*=+\s*$")
_LINE = re.compile(r"^\s*GPU\[(?P<index>\d+)\]\s*:\s*(?P<key>[^:]+?)\s*:\s*(?P<value>.*?)\s*$")
_ROW = re.compile(r"^\s*GPU(?P<index>\d+)\s+(?P<values>\S.*)$")
_PAIR = re.compile(r"\(Topology\) (?P<what>Weight|Link type|Hops) between DRM devices (?P<one>\d+) and (?P<other>\d+)")
_MODEL = re.compile(r"^\s*(?P<index>\d+)\s+\[(?P<model>0x[0-9a-f]+)\s*:", re.IGNORECASE)
_CONCISE = re.compile(r"^\s*(?P<index>\d+)\s+(?P<node>\d+)\s+(?P<device>0x[0-9a-f]+),\s*(?P<guid>\S+)", re.IGNORECASE)
_HARDWARE = re.compile(r"^\s*GPU\s+(?:NODE\s+)?DID\b")
_FIRMWARE = re.compile(r"^(?P<name>.+) firmware version$", re.IGNORECASE)

# A key of a list, of JSON or of CSV, in lower case, and the field that it is.
_FIELDS: dict[str, tuple[str, t.Callable[[object], t.Any]]] = {
    "pci bus": ("bdf", bdf_of),
    "vbios version": ("vbios", known),
    "gpu id": ("device_id", hex_id),
    "device id": ("device_id", hex_id),
    "card model": ("model_id", hex_id),
    "node id": ("node", whole),
    "vram total memory (b)": ("vram_bytes", whole),
    "pcie clock level": ("pcie", known),
    "(topology) numa node": ("numa_node", whole),
}


def parse_rocm_smi(text: str) -> ToolOutput:
    """Return what an output of rocm-smi tells, of whatever form. It raises nothing."""
    values = [value for value in json_values(text) if isinstance(value, dict)]
    output = ToolOutput()
    if any(_cards(value) for value in values):
        _, output.warnings = clean_lines(text)
        for value in values:
            _from_json(output, value)
        return output
    lines, output.warnings = clean_lines(text)
    header = next((number for number, line in enumerate(lines) if line.lower().startswith("device,")), None)
    if header is not None:
        _from_csv(output, lines[header:])
    else:
        _from_text(output, lines)
    output.gpus.sort(key=lambda gpu: gpu.index)
    return output


def _cards(value: dict[str, t.Any]) -> list[str]:
    return [key for key in value if re.fullmatch(r"card\d+", str(key))]


def _from_json(output: ToolOutput, value: dict[str, t.Any]) -> None:
    for key in _cards(value):
        if isinstance(value[key], dict):
            output.readable = True
            _assign_all(output.gpu(int(key[4:])), value[key].items())
    system = value.get("system")
    if isinstance(system, dict):
        output.readable = True
        output.driver = known(system.get("Driver version", "")) or output.driver
        for key, entry in system.items():
            _pair(output, str(key), str(entry))


def _pair(output: ToolOutput, key: str, value: str) -> None:
    found = _PAIR.match(key)
    if not found:
        return
    pair = (int(found["one"]), int(found["other"]))
    number = whole(value)
    if found["what"] == "Link type":
        _link(output, *pair, value)
    elif found["what"] == "Weight" and number is not None:
        output.weights[pair] = output.weights[pair[::-1]] = number


def _link(output: ToolOutput, one: int, other: int, value: str) -> None:
    kind = value.strip().upper()
    if one != other and kind in ("XGMI", "PCIE"):
        output.links[(one, other)] = kind
        output.links.setdefault((other, one), kind)


def _from_csv(output: ToolOutput, lines: list[str]) -> None:
    output.readable = True
    for row in csv.DictReader(io.StringIO("\n".join(line for line in lines if line))):
        found = re.fullmatch(r"card(\d+)", str(row.get("device") or ""))
        if found:
            pairs = [(str(key), value) for key, value in row.items() if isinstance(value, str)]
            _assign_all(output.gpu(int(found.group(1))), pairs)


def _assign_all(gpu: ToolGpu, pairs: t.Iterable[tuple[t.Any, t.Any]]) -> None:
    for key, value in pairs:
        _assign(gpu, str(key), value)


def _assign(gpu: ToolGpu, key: str, value: object) -> None:
    name = key.strip().lower().rstrip(":").strip()
    if name in _FIELDS:
        field, read = _FIELDS[name]
        found = read(value)
        if found is not None:
            setattr(gpu, field, found)
        return
    firmware = _FIRMWARE.match(name)
    text = known(value)
    if firmware and text is not None:
        gpu.firmware[firmware["name"].replace(" ", "_")] = text


def _from_text(output: ToolOutput, lines: list[str]) -> None:
    title = ""
    columns: list[str] = []
    for line in lines:
        heading = _TITLE.match(line)
        if _BANNER.match(line) or heading:
            output.readable = True
            title = heading["title"].lower() if heading else title
            continue
        if line.lower().startswith("driver version:"):
            output.readable, output.driver = True, known(line.partition(":")[2])
            continue
        if _HARDWARE.match(line):
            columns = re.split(r"\s{2,}", line.strip())
            output.readable = True
            continue
        _text_line(output, line, title, columns)


def _text_line(output: ToolOutput, line: str, title: str, columns: list[str]) -> None:
    entry, row = _LINE.match(line), _ROW.match(line)
    concise, model = _CONCISE.match(line), _MODEL.match(line)
    if entry:
        output.readable = True
        _assign(output.gpu(int(entry["index"])), entry["key"], entry["value"])
    elif row and ("link type" in title or "weight" in title):
        _matrix_row(output, int(row["index"]), row["values"].split(), title)
    elif columns and line.strip()[:1].isdigit():
        _hardware_row(output, re.split(r"\s{2,}", line.strip()), columns)
    elif concise:
        gpu = output.gpu(int(concise["index"]))
        gpu.node, gpu.device_id = int(concise["node"]), hex_id(concise["device"])
    elif model:
        # The device's id on some cards, the subsystem's on others: never taken for either.
        output.gpu(int(model["index"])).model_id = hex_id(model["model"])


def _matrix_row(output: ToolOutput, index: int, values: list[str], title: str) -> None:
    if values[0].startswith("GPU"):
        # The line of column names begins like a row.
        return
    output.readable = True
    output.gpu(index)
    for other, value in enumerate(values):
        number = whole(value)
        if "link type" in title:
            _link(output, index, other, value)
        elif number is not None and other != index:
            output.weights[(index, other)] = number


def _hardware_row(output: ToolOutput, fields: list[str], columns: list[str]) -> None:
    row = dict(zip(columns, fields, strict=False))
    index = whole(row.get("GPU", ""))
    if index is None or len(fields) < len(columns) - 1:
        return
    gpu = output.gpu(index)
    gpu.device_id, gpu.vbios = hex_id(row.get("DID", "")), known(row.get("VBIOS", ""))
    gpu.bdf, gpu.node = bdf_of(row.get("BUS", "")), whole(row.get("NODE", ""))
    gpu.partition = whole(row.get("PARTITION ID", ""))
