# SPDX-License-Identifier: Apache-2.0
"""What others need to know of the built mirror, as one JSON file."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any


@dataclasses.dataclass(frozen=True)
class MirrorInfo:
    """The mirror's facts. Paths in `pytorch_lock` are relative to the repository (.lab/…)."""

    url: str
    address: str
    key_fingerprint: str
    installer_sha256: dict[str, dict[str, str]]
    pytorch_lock: dict[str, str]
    content_hash: str

    def write(self, path: Path) -> None:
        """Write the file in one step."""
        fresh = path.with_name(f".{path.name}.new")
        fresh.write_text(json.dumps(dataclasses.asdict(self), indent=2, sort_keys=True) + "\n", encoding="utf-8")
        fresh.replace(path)


def read(path: Path) -> MirrorInfo | None:
    """Read the file; None when there is none or it is of another shape (an older lab)."""
    try:
        raw: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return MirrorInfo(**raw)
    except (FileNotFoundError, ValueError, TypeError):
        return None
