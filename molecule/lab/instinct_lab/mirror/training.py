# SPDX-License-Identifier: Apache-2.0
"""Serve a real torch for the CPU and a real DeepSpeed, for a training that really runs on the simulated nodes.

Apart from the mirror's other content, since it is 210 MB that only one test wants.
"""

from __future__ import annotations

import shutil

from instinct_lab import settings

from . import index, realwheels
from .data import DATA_DIR

NAME = "training"
# What the profile of such a node names: pytorch_lock_file and deepspeed_lock_file.
LOCKS = {
    "pytorch_lock_file": DATA_DIR / "training-torch.txt",
    "deepspeed_lock_file": DATA_DIR / "training-deepspeed.txt",
}


def variables() -> dict[str, object]:
    """Return the profile's variables for nodes that take their torch and DeepSpeed from here."""
    torch = realwheels.wanted(LOCKS["pytorch_lock_file"].read_text(encoding="utf-8"))["torch"][0]
    deepspeed = realwheels.wanted(LOCKS["deepspeed_lock_file"].read_text(encoding="utf-8"))["deepspeed"][0]
    url = f"{settings.MIRROR_URL}/whl/{NAME}"
    return {
        "pytorch_packages": {"torch": torch},
        "pytorch_index_url": url,
        "deepspeed_version": deepspeed,
        "deepspeed_index_url": url,
        **{option: str(path) for option, path in LOCKS.items()},
    }


def serve() -> None:
    """Put the files and their index below the mirror's /whl, fetched once by pip and checked by the locks' hashes."""
    files = [path for lock in LOCKS.values() for path in realwheels.ensure(settings.STATE_DIR / "training", lock)]
    folder = settings.MIRROR_DIR / "whl" / NAME
    if sorted(path.name for path in folder.glob("*.*")) == sorted([*(path.name for path in files), "index.html"]):
        return
    shutil.rmtree(folder, ignore_errors=True)
    index.write(settings.MIRROR_DIR, NAME, [], files)
