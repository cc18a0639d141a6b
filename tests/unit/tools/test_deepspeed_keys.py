# SPDX-License-Identifier: Apache-2.0
"""The keys of a DeepSpeed config are read out of a package's source, which is not run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

CONSTANTS = """
TRAIN_BATCH_SIZE = "train_batch_size"
TRAIN_BATCH_SIZE_DEFAULT = None
DUMP_STATE = "dump_state"
DUMP_STATE_DEFAULT = False
FP16 = "fp16"
FP16_ENABLED = "enabled"
FP16_ENABLED_DEFAULT = False
OPTIMIZER = "optimizer"
OPTIMIZER_PARAMS = "params"
AIO = "aio"
AIO_DEPTH = "queue_depth"
AIO_DEPTH_DEFAULT = 8
"""
CONFIG = """
raise SystemExit("the package was run")

def get_train_batch_size(param_dict):
    return get_scalar_param(param_dict, TRAIN_BATCH_SIZE, TRAIN_BATCH_SIZE_DEFAULT)

def get_fp16_enabled(param_dict):
    if FP16 in param_dict.keys():
        return get_scalar_param(param_dict[FP16], FP16_ENABLED, FP16_ENABLED_DEFAULT)
    return False

def get_optimizer_params(param_dict):
    return param_dict[OPTIMIZER][OPTIMIZER_PARAMS]

class AioConfig:
    def __init__(self, param_dict):
        aio = param_dict.get(AIO, {})
        self._initialize(aio)

    def _initialize(self, aio):
        self.depth = get_scalar_param(aio, AIO_DEPTH, AIO_DEPTH_DEFAULT)

class DeepSpeedConfig:
    def _initialize_params(self, param_dict):
        self.train_batch_size = get_train_batch_size(param_dict)
        self.dump_state = get_scalar_param(param_dict, DUMP_STATE, DUMP_STATE_DEFAULT)
        self.fp16_enabled = get_fp16_enabled(param_dict)
        self.optimizer_params = get_optimizer_params(param_dict)
        self.aio = AioConfig(param_dict)
        self.zero_config = DeepSpeedZeroConfig(**param_dict.get("zero_optimization", {}))
"""
ZERO = """
class DeviceEnum(str, Enum):
    none = "none"
    cpu = "cpu"

class OffloadConfig(DeepSpeedConfigModel):
    device: DeviceEnum = "none"

class DeepSpeedZeroConfig(DeepSpeedConfigModel):
    stage: int = 0
    bucket: int = Field(5, ge=0, alias="stage3_bucket")
    offload: Optional[OffloadConfig] = None
    overlap: {overlap} = None
    cpu_offload: bool = Field(False, deprecated=True, new_param="offload")
"""


def package(folder: Path, version: str, overlap: str, config: str = CONFIG) -> None:
    root = folder / f"deepspeed-{version}" / "deepspeed" / "runtime"
    (root / "zero").mkdir(parents=True)
    (root / "constants.py").write_text(CONSTANTS, encoding="utf-8")
    (root / "config.py").write_text(config, encoding="utf-8")
    (root / "zero" / "config.py").write_text(ZERO.format(overlap=overlap), encoding="utf-8")


@pytest.fixture(scope="module")
def sections(tmp_path_factory: pytest.TempPathFactory, repository: Path) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("packages")
    package(folder, "0.9.0", "bool")
    removed = '_REMOVED_TOP_LEVEL_CONFIG_KEYS = {"aio": f"gone"}\n' + CONFIG.replace(
        "self.aio = AioConfig(param_dict)", "pass"
    )
    package(folder, "0.10.0", "Optional[bool]", removed)
    tool, out = repository / "tools" / "deepspeed_keys.py", folder / "keys.yml"
    subprocess.run([sys.executable, tool, folder, out], check=True)
    read: dict[str, Any] = yaml.safe_load(out.read_text(encoding="utf-8"))
    assert read["read_at"] == ["0.9.0", "0.10.0"]
    sections: dict[str, Any] = read["sections"]
    return sections


def test_functions_tell_the_keys_that_they_ask_for(sections: dict[str, Any]) -> None:
    assert sections[""]["extra"] == {"0.9.0": "ignored"}
    assert sections[""]["keys"]["train_batch_size"] == {"0.9.0": "int > 0 or null"}
    assert sections[""]["keys"]["dump_state"] == {"0.9.0": "bool"}
    assert sections["fp16"] == {"extra": {"0.9.0": "ignored"}, "keys": {"enabled": {"0.9.0": "bool"}}}
    assert sections["aio"]["keys"] == {"queue_depth": {"0.9.0": "int > 0", "0.10.0": "-"}}


def test_models_tell_fields_bounds_aliases_and_values(sections: dict[str, Any]) -> None:
    zero = sections["zero_optimization"]
    assert zero["extra"] == {"0.9.0": "rejected"}
    assert zero["keys"]["bucket"] == zero["keys"]["stage3_bucket"] == {"0.9.0": "int >= 0"}
    assert zero["keys"]["offload"] == {"0.9.0": "section"}
    assert zero["deprecated"] == {"cpu_offload": {"0.9.0": "offload"}}
    assert sections["zero_optimization.offload"]["keys"]["device"] == {"0.9.0": "one of cpu, none"}


def test_a_change_between_versions_stands_at_its_version(sections: dict[str, Any]) -> None:
    assert sections["zero_optimization"]["keys"]["overlap"] == {"0.9.0": "bool", "0.10.0": "bool or null"}
    assert sections[""]["keys"]["aio"] == {"0.9.0": "section", "0.10.0": "removed"}


def test_what_is_kept_whole_is_open(sections: dict[str, Any]) -> None:
    assert sections["optimizer"]["keys"]["params"] == {"0.9.0": "open"}
