# SPDX-License-Identifier: Apache-2.0
"""Write what tools/deepspeed_lock.sh gives to uv: the catalog's DeepSpeed and stack, held to a lock of wheels.

Usage: tools/deepspeed_wanted.py RELEASE WHEELS_LOCK FOLDER
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import yaml

CATALOG = Path(__file__).resolve().parents[1] / "python_modules" / "catalog"
_PIN = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._-]*)==([^\s;\\]+)", re.MULTILINE)


def wanted(torch: dict[str, Any], pairs: list[dict[str, Any]], install: dict[str, Any], lock: str) -> dict[str, str]:
    """Return the text of each file by its name; wanted.in is empty where the catalog knows no pair.

    torch: the release's entry. The wheels of the lock that only the vendor's index has are overridden away.
    """
    version = torch["packages"]["torch"].partition("+")[0]
    deepspeed = next((row["deepspeed"] for row in pairs if row["torch"] == version), None)
    stack = next((row for row in install["stacks"] if row["torch"] == version), {"packages": {}, "before": ""})
    lines = [f"{name}=={pin}" for name, pin in stack["packages"].items()]
    lines += [f"{name}{limit}" for name, limit in install["build"].items()]
    pins = _PIN.findall(lock)
    vendors = [name for name, pin in pins if "+" in pin or name.startswith("pytorch-triton")]
    never = [f"{name} ; python_version < '0'" for name in vendors]
    held = [f"{name}=={pin}" for name, pin in pins if name not in vendors]
    return {
        "wanted.in": _lines([f"deepspeed=={deepspeed}", *lines]) if deepspeed else "",
        "overrides.txt": _lines(never),
        "constraints.txt": _lines(held),
        "newer.txt": _lines(_days(stack["before"], [name for name, _pin in pins])),
    }


def _days(before: str, names: list[str]) -> list[str]:
    """Return uv's options for a stack of a day. What the wheels' lock pins is of any day."""
    if not before:
        return []
    return [f"--exclude-newer={before}", *(f"--exclude-newer-package={name}=2100-01-01" for name in names)]


def _lines(rows: list[str]) -> str:
    return "".join(f"{row}\n" for row in rows)


def _load(name: str) -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load((CATALOG / name).read_text(encoding="utf-8"))
    return content


def main(release: str, lock: str, folder: str) -> None:
    """Write the files for one release."""
    torch = _load(f"releases/{release}.yml")["torch"]
    pairs = _load("deepspeed/pairs.yml")["pairs"]
    files = wanted(torch, pairs, _load("deepspeed/install.yml"), Path(lock).read_text(encoding="utf-8"))
    for name, text in files.items():
        (Path(folder) / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
