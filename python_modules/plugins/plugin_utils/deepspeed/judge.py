# SPDX-License-Identifier: Apache-2.0
"""Judge a config's text by what will read it: DeepSpeed itself, the Hugging Face Trainer first, or FSDP."""

from __future__ import annotations

import functools
import re
import typing as t

from ansible_collections.instinct.bringup.plugins.plugin_utils.catalog import Catalog
from ansible_collections.instinct.bringup.plugins.plugin_utils.deepspeed.configs import TRAINER_SUFFIX
from ansible_collections.instinct.bringup.plugins.plugin_utils.deepspeed.fsdp import NAME as FSDP_NAME
from ansible_collections.instinct.bringup.plugins.plugin_utils.deepspeed.fsdp import lint_fsdp_text
from ansible_collections.instinct.bringup.plugins.plugin_utils.deepspeed.lint import lint_text
from ansible_collections.instinct.bringup.plugins.plugin_utils.deepspeed.model import Finding
from ansible_collections.instinct.bringup.plugins.plugin_utils.deepspeed.schema import schema_of

DEEPSPEED = "deepspeed"
TRAINER = "trainer"
FSDP = "fsdp"
FORMS = (DEEPSPEED, TRAINER, FSDP)
VERSION = re.compile(r"[0-9]+\.[0-9]+\.[0-9]+")


class Reader(t.NamedTuple):
    """The versions that will read a config."""

    deepspeed: str
    torch: str
    catalog: Catalog


def form_of(form: str, path: str) -> str:
    """Return what reads a file, told by its name where form is "auto"."""
    stem = path.rpartition("/")[2].removesuffix(".json")
    if form != "auto":
        return form
    if stem == FSDP_NAME:
        return FSDP
    return TRAINER if stem.endswith(TRAINER_SUFFIX) else DEEPSPEED


@functools.lru_cache(maxsize=64)
def judge_text(text: str, form: str, reader: Reader, world: int | None = None) -> tuple[Finding, ...]:
    """Return what is wrong with a text, in the order of its lines. world: GPUs of the job, if known.

    Kept for the next host: those of a fleet have the same files, and a node's own are asked for by several checks.

    :raises ConfigError: the catalog does not know the version of DeepSpeed.
    """
    if form == FSDP:
        return tuple(lint_fsdp_text(text, reader.torch, world))
    return tuple(lint_text(text, schema_of(reader.deepspeed, reader.catalog), form == TRAINER, world))


def known(version: str, catalog: Catalog) -> None:
    """Say at once where a version of DeepSpeed cannot be judged by.

    :raises ConfigError: the catalog does not know it.
    """
    schema_of(version, catalog)
