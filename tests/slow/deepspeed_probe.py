# SPDX-License-Identifier: Apache-2.0
"""Load configs with the real DeepSpeed of the environment that runs this, and print as JSON what it made of each.

Reads {"configs": {NAME: {"config": …, "values": [PATH, …]}}} from standard input. With {"fill": {NAME: config}} the
configs are filled in by the real code of the Hugging Face Trainer instead, and printed.
It is run by test_deepspeed_packages.py, in environments of its own.
"""

import copy
import functools
import json
import logging
import sys
import types
import warnings

from deepspeed.runtime.config import DeepSpeedConfig
from deepspeed.runtime.zero.config import DeepSpeedZeroConfig
from deepspeed.utils import logger


class Said(logging.Handler):
    """Keep what is logged at the level of a warning or above."""

    def __init__(self):
        super().__init__(logging.WARNING)
        self.lines = []

    def emit(self, record):
        self.lines.append(record.getMessage())


class Asked(dict):
    """Keep the keys that somebody asks this mapping for."""

    def __init__(self, *given):
        super().__init__(*given)
        self.keys_asked = set()

    def get(self, key, default=None):
        self.keys_asked.add(key)
        return super().get(key, default)

    def __getitem__(self, key):
        self.keys_asked.add(key)
        return super().__getitem__(key)

    def __contains__(self, key):
        self.keys_asked.add(key)
        return super().__contains__(key)

    def keys(self):
        return self

    def __copy__(self):
        return self


def filled(config):
    """Return a config as the Trainer hands it to DeepSpeed, for arguments and a model that are made up."""
    from transformers.integrations.deepspeed import HfTrainerDeepSpeedConfig

    arguments = types.SimpleNamespace(
        world_size=1,
        per_device_train_batch_size=2,
        gradient_accumulation_steps=4,
        max_grad_norm=1.0,
        learning_rate=5e-5,
        adam_beta1=0.9,
        adam_beta2=0.999,
        adam_epsilon=1e-8,
        weight_decay=0.0,
        fp16=False,
        fp16_full_eval=False,
        fp16_backend="auto",
        fp16_opt_level="O1",
        bf16=True,
        bf16_full_eval=False,
        save_on_each_node=False,
        get_warmup_steps=lambda steps: 10,
    )
    model = types.SimpleNamespace(config=types.SimpleNamespace(hidden_size=4096))
    made = HfTrainerDeepSpeedConfig(copy.deepcopy(config))
    made.trainer_config_process(arguments)
    made.trainer_config_finalize(arguments, model, 100)
    return made.config


def value_at(loaded, path):
    """Return an attribute of what was loaded, in the first form that this version has, as text."""
    for form in path.split(" or "):
        try:
            return functools.reduce(
                lambda at, name: at[name] if isinstance(at, dict) else getattr(at, name), form.split("."), loaded
            )
        except (AttributeError, KeyError):
            continue
    return None


def load(config, values):
    said = Said()
    logger.addHandler(said)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            loaded = DeepSpeedConfig(config)
        found = {path: value_at(loaded, path) for path in values}
        return {"error": "", "warnings": said.lines + [str(entry.message) for entry in caught], "values": found}
    except Exception as error:  # noqa: BLE001 - whatever DeepSpeed raises is the answer
        return {"error": "%s: %s" % (type(error).__name__, error), "warnings": said.lines, "values": {}}
    finally:
        logger.removeHandler(said)


def fields(model):
    known = getattr(model, "model_fields", None) or model.__fields__
    return sorted({name for key, field in known.items() for name in (key, field.alias or key)})


def main():
    request = json.load(sys.stdin)
    if "fill" in request:
        print(json.dumps({name: filled(config) for name, config in request["fill"].items()}))
        return
    answers = {name: load(entry["config"], entry.get("values", ())) for name, entry in request["configs"].items()}
    asked = Asked({"train_micro_batch_size_per_gpu": 1})
    DeepSpeedConfig(asked)
    print(json.dumps({"answers": answers, "zero": fields(DeepSpeedZeroConfig), "top": sorted(asked.keys_asked)}))


main()
