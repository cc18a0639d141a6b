# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

import pytest

from ansible_collections.instinct.bringup.plugins.module_utils import python_env
from ansible_collections.instinct.bringup.plugins.module_utils.text import Tree

Plant = Callable[[dict[str, Any]], Tree]
VENV = "/opt/instinct/venv"
SITE = f"{VENV}/lib/python3.11/site-packages"
METADATA = """\
Metadata-Version: 2.1
Name: pytorch_triton.rocm
Version: 2.0.2
Requires-Dist: filelock
Requires-Dist: numpy (<2) ; python_version < "3.12"
Requires-Dist: pytest ; extra == "testing"
Requires-Dist: mypy ; (python_version < "4") and extra == 'testing'

Version: 9 (this is the description)
Requires-Dist: not-a-field
"""
TORCH = """\
from typing import Optional
__all__ = ['__version__', 'debug', 'cuda', 'git_version', 'hip']
__version__ = '2.0.1+rocm5.4.2'
debug = False
cuda: Optional[str] = None
git_version = 'abc'
hip: Optional[str] = '5.4.22803-474e8620'
"""
DEEPSPEED = """\
version='0.9.3'
git_hash='unknown'
installed_ops={'fused_adam': True, 'cpu_adam': False}
compatible_ops={'fused_adam': True, 'cpu_adam': True}
torch_info={'version': '2.0', 'cuda_version': '0.0', 'hip_version': '5.4'}
"""


def test_an_environment_is_read_from_its_files(plant: Plant) -> None:
    tree = plant(
        {
            f"{VENV}/pyvenv.cfg": "home = /usr/bin\nversion = 3.11.2\n",
            f"{SITE}/pytorch_triton_rocm-2.0.2.dist-info/METADATA": METADATA,
            f"{SITE}/torch-2.0.1+rocm5.4.2.dist-info/METADATA": "Name: torch\nVersion: 2.0.1+rocm5.4.2\n",
            f"{SITE}/torch-2.0.1+rocm5.4.2.dist-info/RECORD": "torch/version.py,,\n",
            f"{SITE}/torch/version.py": TORCH,
            f"{SITE}/deepspeed/git_version_info_installed.py": DEEPSPEED,
            f"{SITE}/plain/__init__.py": "",
        }
    )
    assert python_env.read_environments(tree, [VENV]) == [
        {
            "path": VENV,
            "exists": True,
            "python": "3.11.2",
            "uid": os.getuid(),
            "distributions": {
                "pytorch-triton-rocm": {
                    "version": "2.0.2",
                    "requires": ["filelock", 'numpy (<2) ; python_version < "3.12"'],
                    "record": False,
                    "uid": os.getuid(),
                },
                "torch": {"version": "2.0.1+rocm5.4.2", "requires": [], "record": True, "uid": os.getuid()},
            },
            "torch": {"version": "2.0.1+rocm5.4.2", "hip": "5.4.22803-474e8620", "cuda": None},
            "deepspeed": {"version": "0.9.3", "ops": {"fused_adam": True, "cpu_adam": False}, "torch": "2.0"},
        }
    ]
    assert tree.problems() == []


def test_one_that_is_not_there(plant: Plant) -> None:
    tree = plant({"/opt/instinct/venv/lib": None})
    assert python_env.read_environments(tree, [VENV]) == [
        {
            "path": VENV,
            "exists": False,
            "python": None,
            "uid": None,
            "distributions": {},
            "torch": None,
            "deepspeed": None,
        }
    ]
    assert tree.problems() == []


def test_one_on_the_network_is_neither_there_nor_not(plant: Plant) -> None:
    tree = plant({f"{VENV}/pyvenv.cfg": ""})
    tree.far["/opt/instinct"] = "nfs"
    assert python_env.read_environments(tree, [VENV])[0]["exists"] is None
    assert "type nfs" in tree.problems()[0]["message"]


def test_a_broken_distribution_and_a_second_copy_are_problems(plant: Plant) -> None:
    tree = plant(
        {
            f"{VENV}/pyvenv.cfg": "version_info = 3.10.12.final.0\n",
            f"{SITE}/a-1.dist-info/METADATA": "Name: a\nVersion: 1\n",
            f"{SITE}/a-2.dist-info/METADATA": "Name: A\nVersion: 2\n",
            f"{SITE}/b-1.dist-info/METADATA": "Name: b\n",
            f"{SITE}/c-1.dist-info/RECORD": "",
        }
    )
    (seen,) = python_env.read_environments(tree, [VENV])
    assert seen["python"] == "3.10.12"
    assert seen["distributions"] == {"a": {"version": "2", "requires": [], "record": False, "uid": os.getuid()}}
    assert [problem["path"].partition("site-packages/")[2] for problem in tree.problems()] == [
        "a-2.dist-info/METADATA",
        "b-1.dist-info/METADATA",
        "c-1.dist-info/METADATA",
    ]


@pytest.mark.parametrize(
    ("text", "version", "hip", "cuda"),
    [
        (TORCH, "2.0.1+rocm5.4.2", "5.4.22803-474e8620", None),
        ("__version__ = \"2.8.0\"\ncuda: Optional[str] = '12.8'\nhip: Optional[str] = None\n", "2.8.0", None, "12.8"),
        ("__version__ = '2.0.1+cpu'\ncuda = None\nhip = None\n", "2.0.1+cpu", None, None),
        ("# nothing\n", None, None, None),
    ],
    ids=["ROCm", "CUDA", "CPU", "empty"],
)
def test_which_build_of_torch(text: str, version: str | None, hip: str | None, cuda: str | None) -> None:
    assert python_env.parse_torch_version(text) == {"version": version, "hip": hip, "cuda": cuda}


def test_this_interpreter() -> None:
    seen = python_env.read_interpreter()
    assert seen["executable"] == sys.executable
    assert seen["version"].startswith(f"{sys.version_info[0]}.{sys.version_info[1]}.")
    assert seen["tag"] == f"cp{sys.version_info[0]}{sys.version_info[1]}"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "installed_ops=__import__('os').system('false')",
        "installed_ops={'fused_adam':",
        "installed_ops=[1]\ntorch_info=7\nversion=3",
        "installed_ops=" + "(" * 5000,
    ],
    ids=["empty", "code", "cut", "other kinds", "deep"],
)
def test_a_record_of_deepspeed_that_says_nothing_plain(text: str) -> None:
    assert python_env.parse_deepspeed_record(text) == {"version": None, "ops": None, "torch": None}
