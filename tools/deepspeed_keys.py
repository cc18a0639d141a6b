# SPDX-License-Identifier: Apache-2.0
"""Write catalog/deepspeed/keys.yml: which keys a DeepSpeed config may hold, by version, read from the packages.

    tools/deepspeed_keys.py FOLDER [FILE]    FOLDER has unpacked source packages, deepspeed-0.8.0 and so on

Nothing of a package is run: its source is parsed. Two forms are followed from DeepSpeedConfig on, the fields
of its pydantic models, and the keys that its functions ask a mapping for by a constant. What a mapping
is asked for in a way that this cannot follow makes its section open: no key in it is judged.
"""

from __future__ import annotations

import pathlib
import sys
import typing as t

import yaml
from deepspeed_follow import REMOVED, Path, Reader
from deepspeed_source import Package

REPOSITORY = pathlib.Path(__file__).resolve().parents[1]
CATALOG = REPOSITORY / "python_modules" / "catalog" / "deepspeed" / "keys.yml"
# Kinds that no annotation and no default tells; each is what the code does with the value.
KINDS: dict[Path, str] = {
    ("train_batch_size",): "int > 0",
    ("train_micro_batch_size_per_gpu",): "int > 0",
    ("gradient_accumulation_steps",): "int > 0",
    ("steps_per_print",): "int > 0",
    ("gradient_clipping",): "number >= 0",
    ("activation_checkpointing", "number_checkpoints"): "int > 0",
    **{("aio", name): "int > 0" for name in ("block_size", "queue_depth", "thread_count", "intra_op_parallelism")},
    **{("fp16", name): "number >= 0" for name in ("loss_scale", "min_loss_scale")},
    **{("fp16", name): "int >= 0" for name in ("initial_scale_power", "loss_scale_window", "hysteresis")},
}
HEADING = """\
# Keys that a DeepSpeed config may hold, by section. Written by tools/deepspeed_keys.py from the source packages of
# the versions of read_at. A key's history has its kind from a version on: "-" where that version does not read it,
# "removed" where it stops at it by name. A section's extra says what becomes of another key there: ignored,
# rejected, or open where the section holds names of a site's own or is read in a way that was not followed.
---
"""


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def read_versions(folder: pathlib.Path) -> dict[str, Reader]:
    """Return what was read of each version, oldest first."""
    found = {path.name.partition("-")[2]: path for path in folder.glob("deepspeed-*") if path.is_dir()}
    readers = {}
    for version in sorted(found, key=_numbers):
        readers[version] = Reader(Package(found[version]))
        readers[version].read()
    return readers


def history(values: dict[str, str]) -> dict[str, str]:
    """Return only the versions at which a value changes."""
    kept: dict[str, str] = {}
    for version, value in values.items():
        if not kept or list(kept.values())[-1] != value:
            kept[version] = value
    return kept


def finish(reader: Reader) -> None:
    """Name the kind of what is a section of its own, and of what the functions do not tell."""
    # One variable holds bf16 or, where that is absent, its old name: the last is what was followed.
    reader.keys[("bf16",)] = reader.keys[("bf16",)] or dict(reader.keys[("bfloat16",)])
    if ("bfloat16",) in reader.rejecting:
        reader.rejecting.add(("bf16",))
    for path, keys in reader.keys.items():
        for key in keys:
            if keys[key] != REMOVED and reader.keys.get((*path, key)):
                keys[key] = "section"
            elif (*path, key) in reader.open:
                keys[key] = "open"
            elif (*path, key) in KINDS and keys[key] in ("any", "number"):
                # What nothing is the default of may be nothing.
                keys[key] = KINDS[(*path, key)] + (" or null" if keys[key] == "any" else "")


def table(readers: dict[str, Reader]) -> dict[str, t.Any]:
    """Return the content of keys.yml."""
    for reader in readers.values():
        finish(reader)
    paths = sorted({path for reader in readers.values() for path in reader.keys})
    sections: dict[str, t.Any] = {}
    for path in paths:
        names = sorted({key for reader in readers.values() for key in reader.keys.get(path, ())})
        here = {version: reader for version, reader in readers.items() if path in reader.keys}
        extra = {
            version: "open" if path in reader.open else "rejected" if path in reader.rejecting else "ignored"
            for version, reader in here.items()
        }
        keys = {
            name: history({version: reader.keys.get(path, {}).get(name, "-") for version, reader in readers.items()})
            for name in names
        }
        deprecated = {
            name: history({version: reader.deprecated[path].get(name, "-") for version, reader in readers.items()})
            for name in names
            if any(name in reader.deprecated[path] for reader in readers.values())
        }
        sections[".".join(path)] = {
            "extra": history(extra),
            "keys": keys,
            **({"deprecated": deprecated} if deprecated else {}),
        }
    return {"read_at": list(readers), "sections": sections}


def as_yaml(content: dict[str, t.Any]) -> str:
    """Return the table as YAML, a key a line."""

    def flow(value: t.Any) -> str:
        text = yaml.safe_dump(value, sort_keys=False, width=10_000, default_flow_style=True)
        return text.removesuffix("\n").removesuffix("\n...")

    lines = ["read_at:", *(f"  - {flow(version)}" for version in content["read_at"]), "sections:"]
    for name, section in content["sections"].items():
        lines += [f"  {flow(name)}:", f"    extra: {flow(section['extra'])}"]
        for part in ("keys", "deprecated"):
            if part in section:
                lines += [f"    {part}:", *(f"      {key}: {flow(value)}" for key, value in section[part].items())]
    return "\n".join(lines) + "\n"


def main() -> None:
    target = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else CATALOG
    content = table(read_versions(pathlib.Path(sys.argv[1])))
    target.write_text(HEADING + as_yaml(content), encoding="utf-8")


if __name__ == "__main__":
    main()
