#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Write down what is on a node, or say what vanished from it since then without being accounted for.

Run on the node by its own Python: `before FILE` writes, `after FILE` compares. Accounted for is what a package
owned that is gone or was upgraded, and what a manifest of a purge names. Asks dpkg and the file system only.
"""

from __future__ import annotations

import glob
import json
import os
import subprocess
import sys

TREES = ("/etc", "/opt", "/usr/src", "/usr/bin", "/usr/lib", "/var/lib/dkms", "/srv")
MANIFESTS = "/var/lib/instinct-bringup/manifests/*.json"


def packages() -> dict[str, list[str]]:
    """Return the paths of each installed package, by name and version."""
    form = "${binary:Package} ${Version} ${db:Status-Status}\n"
    rows = [row.split() for row in subprocess.check_output(["dpkg-query", "-W", "-f", form], text=True).splitlines()]
    return {
        f"{name} {version}": subprocess.check_output(["dpkg", "-L", name], text=True).splitlines()
        for name, version, status in rows
        if status == "installed"
    }


def paths() -> set[str]:
    """Return every path below the trees."""
    found: set[str] = set()
    for tree in TREES:
        for folder, folders, files in os.walk(tree):
            found.update(os.path.join(folder, name) for name in folders + files)
    return found


def unaccounted(before: dict) -> list[str]:
    """Return the paths that vanished and that neither a package that went nor a manifest explains."""
    now = packages()
    gone = {path for name, owned in before["packages"].items() if name not in now for path in owned}
    manifest = ""
    for path in glob.glob(MANIFESTS):
        with open(path, encoding="utf-8") as stream:
            manifest += stream.read()
    vanished = set(before["paths"]) - paths() - gone
    return sorted(path for path in vanished if not is_named(path, manifest))


def is_named(path: str, manifest: str) -> bool:
    """Say whether a manifest names a path, a folder that it was in, or its dkms tree by module and version."""
    if path.startswith("/var/lib/dkms/"):
        module, version = (path.split("/")[4:6] + [""])[:2]
        return f'"module": "{module}"' in manifest and f'"version": "{version}"' in manifest
    while path != "/":
        if json.dumps(path) in manifest:
            return True
        path = os.path.dirname(path)
    return False


def main() -> int:
    """Write or compare; print what is not accounted for and end non-zero then."""
    verb, file = sys.argv[1:]
    if verb == "before":
        with open(file, "w", encoding="utf-8") as stream:
            json.dump({"packages": packages(), "paths": sorted(paths())}, stream)
        return 0
    with open(file, encoding="utf-8") as stream:
        left = unaccounted(json.load(stream))
    print("\n".join(left))
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main())
