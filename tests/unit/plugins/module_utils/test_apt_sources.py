# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ansible_collections.instinct.bringup.plugins.module_utils import apt_sources
from ansible_collections.instinct.bringup.plugins.module_utils.text import Tree

Plant = Callable[[dict[str, Any]], Tree]
ROCM = "https://repo.radeon.com/rocm/apt/7.2.2"


def entry(**changes: Any) -> dict[str, Any]:
    base = {"path": "f", "line": 1, "enabled": True, "type": "deb", "uri": ROCM, "suite": "noble"}
    return {**base, "components": ["main"], "options": {}, **changes}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        pytest.param(f"deb {ROCM} noble main", entry(), id="plain"),
        pytest.param(
            f"deb [arch=amd64,i386 signed-by=/etc/apt/keyrings/rocm.gpg] {ROCM} noble main",
            entry(options={"arch": "amd64,i386", "signed-by": "/etc/apt/keyrings/rocm.gpg"}),
            id="options",
        ),
        pytest.param(f"deb [ arch+=i386 ]  {ROCM} noble main", entry(options={"arch": "i386"}), id="spaces"),
        pytest.param(
            f"# deb [arch=amd64] {ROCM} noble main # disabled on upgrade to resolute",
            entry(enabled=False, options={"arch": "amd64"}),
            id="disabled by a release upgrade",
        ),
        pytest.param(
            f"deb-src {ROCM} noble main extra", entry(type="deb-src", components=["main", "extra"]), id="source"
        ),
        pytest.param(f"deb {ROCM} ./", entry(suite="./", components=[]), id="flat"),
        pytest.param("deb file:/srv/repo noble main", entry(uri="file:/srv/repo"), id="local files"),
        pytest.param("# deb lines are explained in sources.list(5)", None, id="a sentence"),
        pytest.param("# See deb http://x for more", None, id="another sentence"),
        pytest.param("deb", None, id="cut"),
        pytest.param("", None, id="empty"),
    ],
)
def test_one_line_form(line: str, expected: dict[str, Any] | None) -> None:
    assert apt_sources.parse_list(line + "\n", "f") == ([expected] if expected else [])


def test_deb822_form_gives_an_entry_for_each_type_uri_and_suite() -> None:
    text = (
        "# comment\n\nTypes: deb deb-src\nURIs: http://a.example/ubuntu\nSuites: jammy jammy-updates\n"
        "Components: main universe\nArchitectures: amd64 i386\nSigned-By: /usr/share/keyrings/u.gpg\n\n"
        f"Enabled: no\nTypes: deb\nURIs: {ROCM}\nSuites: noble\nComponents: main\n"
        "Signed-By:\n -----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n x\n"
    )
    entries = apt_sources.parse_deb822(text, "f")
    assert [(each["type"], each["suite"], each["line"]) for each in entries] == [
        ("deb", "jammy", 3),
        ("deb", "jammy-updates", 3),
        ("deb-src", "jammy", 3),
        ("deb-src", "jammy-updates", 3),
        ("deb", "noble", 10),
    ]
    assert entries[0]["options"] == {"arch": "amd64,i386", "signed-by": "/usr/share/keyrings/u.gpg"}
    assert [each["enabled"] for each in entries] == [True] * 4 + [False]
    assert entries[4]["options"]["signed-by"].startswith("\n-----BEGIN PGP")


def test_files_that_apt_passes_over_are_passed_over(plant: Plant) -> None:
    folder = apt_sources.SOURCES_FOLDER
    tree = plant(
        {
            "/etc/apt/sources.list": "deb http://first.example a main\n",
            f"{folder}/rocm.list.list": f"deb {ROCM} noble main\n",
            f"{folder}/amdgpu.list.save": f"deb {ROCM} noble main\n",
            f"{folder}/with space.list": f"deb {ROCM} noble main\n",
            f"{folder}/binary.list": b"\x00\x01",
        }
    )
    assert [each["path"] for each in apt_sources.read_sources(tree)] == [
        "/etc/apt/sources.list",
        f"{folder}/rocm.list.list",
    ]
    assert [problem["path"] for problem in tree.problems()] == [f"{folder}/binary.list"]


def test_key_files_are_named_once() -> None:
    entries = [
        entry(options={"signed-by": "/a.gpg,/b.gpg"}),
        entry(options={"signed-by": "/a.gpg CA8BB4727A"}),
        entry(),
    ]
    assert apt_sources.key_files(entries) == ["/a.gpg", "/b.gpg"]
