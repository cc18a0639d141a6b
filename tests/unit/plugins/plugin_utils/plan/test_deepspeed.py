# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import dataclasses
import typing as t

from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.deepspeed import plan_deepspeed

from . import made

HOSTFILE = "/etc/deepspeed/hostfile"


def planned(fleet: tuple[tuple[str, int | None], ...], there: str | None = None) -> tuple[str, tuple[str, ...]]:
    snapshot: dict[str, t.Any] = made.bare()
    if there is not None:
        snapshot["watch"][HOSTFILE] = {
            "type": "file",
            "text": there,
            "sha256": "",
            "mode": "",
            "owner": "",
            "group": "",
        }
    step = plan_deepspeed(dataclasses.replace(made.context(snapshot), fleet=fleet))
    return next(file.content for file in step.files if file.path == HOSTFILE), step.notes


def test_every_counted_host_has_its_gpus_as_slots() -> None:
    assert planned((("gpu02", 4), ("gpu01", 8))) == ("gpu01 slots=8\ngpu02 slots=4\n", ())


def test_a_host_that_this_run_did_not_look_at_keeps_its_line() -> None:
    assert (
        planned((("gpu01", 8), ("gpu02", None)), "gpu01 slots=8\ngpu02 slots=4\n")[0]
        == "gpu01 slots=8\ngpu02 slots=4\n"
    )


def test_a_number_that_no_host_can_have_is_not_kept() -> None:
    for number in ("9" * 5000, "9999", "0"):
        content, notes = planned((("gpu01", 8), ("gpu02", None)), f"gpu02 slots={number}\n")
        assert content == "gpu01 slots=8\n"
        assert "gpu02 is not in the hostfile" in notes[0]


def test_a_host_that_nobody_counted_is_left_out_and_named() -> None:
    content, notes = planned((("gpu01", 8), ("gpu02", None), ("login", 0)))
    assert content == "gpu01 slots=8\n"
    assert [note.split()[0] for note in notes] == ["gpu02", "login"]


def test_a_name_that_no_hostfile_can_hold_stops_nobody_else() -> None:
    content, notes = planned((("gpu01", 8), ("head node", 8)))
    assert content == "gpu01 slots=8\n"
    assert "head node" in notes[0]
