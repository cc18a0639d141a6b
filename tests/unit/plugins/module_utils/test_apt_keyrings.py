# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

from ansible_collections.instinct.bringup.plugins.module_utils.apt_keyrings import read_keyrings, utc
from ansible_collections.instinct.bringup.plugins.module_utils.text import Tree

Plant = Callable[[dict[str, Any]], Tree]
# The public key packet of a key made for the tests, without name and signature.
BARE_KEY = base64.b64decode("mDMEZZIAgBYJKwYBBAHaRw8BAQdAwV0gp2VYWpEi5+p3gpYhEj6lvTWmd37j1Yq5wB9Yj5o=")


def test_trusted_and_named_keyrings_are_listed_once(plant: Plant) -> None:
    tree = plant(
        {
            "/etc/apt/trusted.gpg": BARE_KEY,
            "/etc/apt/trusted.gpg.d/old-rocm.gpg": BARE_KEY,
            "/etc/apt/trusted.gpg.d/README": "text",
            "/etc/apt/keyrings/rocm.gpg": "<!DOCTYPE html><html><head>",
            "/usr/share/keyrings/used.gpg": BARE_KEY,
            "/usr/share/keyrings/unused.gpg": BARE_KEY,
        }
    )
    key = {
        "fingerprint": "53D571AD1A4A67B1BD7A824BBC09AFED68198A14",
        "created": "2024-01-01T00:00:00Z",
        "expires": None,
    }
    named = ["/usr/share/keyrings/used.gpg", "/etc/apt/keyrings/rocm.gpg", "/nowhere.gpg"]
    assert read_keyrings(tree, named) == [
        {"path": "/etc/apt/trusted.gpg", "keys": [key], "problem": None},
        {"path": "/etc/apt/trusted.gpg.d/old-rocm.gpg", "keys": [key], "problem": None},
        {
            "path": "/etc/apt/keyrings/rocm.gpg",
            "keys": [],
            "problem": "not OpenPGP: starts with '<!DOCTYPE html><html><he'",
        },
        {"path": "/usr/share/keyrings/used.gpg", "keys": [key], "problem": None},
        {"path": "/nowhere.gpg", "keys": [], "problem": "cannot be read"},
    ]
    assert [entry["path"] for entry in tree.problems()] == ["/nowhere.gpg"]


def test_times_are_in_utc() -> None:
    assert utc(1627779078) == "2021-08-01T00:51:18Z"
    assert utc(None) is None
