# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).resolve().parents[3] / "tools" / "deepspeed_wanted.py"
LOCK = "torch==2.0.1+rocm5.4.2 --hash=a\npytorch-triton-rocm==2.0.2 \\\n    --hash=b\nnumpy==1.26.4 --hash=c\n"


@pytest.fixture(scope="module")
def tool() -> Any:
    spec = importlib.util.spec_from_file_location("deepspeed_wanted", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_releases_pair_and_stack_held_to_the_wheels(tool: Any, tmp_path: Path) -> None:
    lock = tmp_path / "wheels.txt"
    lock.write_text(LOCK)
    tool.main("5.4.2", str(lock), str(tmp_path))
    wanted = (tmp_path / "wanted.in").read_text().splitlines()
    assert wanted[0] == "deepspeed==0.9.3"
    assert "transformers==4.49.0" in wanted
    assert "setuptools<70" in wanted
    never = [f"{name} ; python_version < '0'" for name in ("torch", "pytorch-triton-rocm")]
    assert (tmp_path / "overrides.txt").read_text().splitlines() == never
    assert (tmp_path / "constraints.txt").read_text() == "numpy==1.26.4\n"
    assert "--exclude-newer=2025-03-15" in (tmp_path / "newer.txt").read_text()


@pytest.mark.parametrize(
    ("torch", "first"), [("2.6.0", "deepspeed==0.16.9"), ("9.9.9", None)], ids=["no stack", "no pair"]
)
def test_a_torch_of_which_less_is_known(tool: Any, torch: str, first: str | None) -> None:
    pairs = [{"torch": "2.6.0", "deepspeed": "0.16.9"}]
    made = tool.wanted({"packages": {"torch": torch}}, pairs, {"stacks": [], "build": {"ninja": ""}}, LOCK)
    assert made["wanted.in"].splitlines() == ([first, "ninja"] if first else [])
    assert made["newer.txt"] == ""
