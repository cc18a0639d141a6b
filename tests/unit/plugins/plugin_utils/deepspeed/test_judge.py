# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from ansible_collections.instinct.bringup.plugins.plugin_utils.catalog import default_catalog
from ansible_collections.instinct.bringup.plugins.plugin_utils.deepspeed.judge import Reader, form_of, judge_text

READER = Reader("0.9.3", "2.0.1", default_catalog())


@pytest.mark.parametrize(
    ("form", "path", "told"),
    [
        ("auto", "/etc/deepspeed/fsdp.json", "fsdp"),
        ("auto", "/etc/deepspeed/zero3_auto.json", "trainer"),
        ("auto", "/home/me/ds.json", "deepspeed"),
        ("auto", "", "deepspeed"),
        ("trainer", "/etc/deepspeed/fsdp.json", "trainer"),
    ],
)
def test_the_name_tells_what_reads_a_file(form: str, path: str, told: str) -> None:
    assert form_of(form, path) == told


@pytest.mark.parametrize(
    ("text", "form", "verdicts"),
    [
        ('{"train_batch_size": "auto"}', "deepspeed", ["auto"]),
        ('{"train_batch_size": "auto"}', "trainer", []),
        ('{"train_batch_size": 8}', "fsdp", ["unknown_key"]),
        ("{", "fsdp", ["syntax"]),
    ],
)
def test_each_form_is_judged_by_its_own_rules(text: str, form: str, verdicts: list[str]) -> None:
    assert [finding.verdict for finding in judge_text(text, form, READER)] == verdicts
