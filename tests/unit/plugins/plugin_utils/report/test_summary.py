# SPDX-License-Identifier: Apache-2.0
"""Results in words."""

from __future__ import annotations

from support.snapshots import node

from ansible_collections.instinct.bringup.plugins.plugin_utils.checks import run_checks, verdict
from ansible_collections.instinct.bringup.plugins.plugin_utils.report.results import assemble
from ansible_collections.instinct.bringup.plugins.plugin_utils.report.summary import (
    decisive,
    failure_message,
    summary_table,
    verdict_reason,
)


def narrow_slot() -> list[dict[str, object]]:
    made = node()
    for end in made.snapshot["pci"]["gpus"][4]["path"][1:]:
        end["link"]["current_width"] = 8
    return [entry.as_dict() for entry in run_checks(made.context())]


def test_a_narrow_slot_is_told_with_address_widths_and_file() -> None:
    checks = narrow_slot()
    message = failure_message("gpu01", "fail", checks)
    for word in ("0000:83:00.0", "x8", "x16", "/sys/bus/pci/devices/0000:81:00.0/current_link_width", "do: Reseat"):
        assert word in message
    assert f"1 of {len(checks)} checks failed: pcie.link_width" in message


def test_what_only_follows_is_told_last() -> None:
    checks = narrow_slot()
    follows = {**checks[0], "id": "managed.as_planned", "outcome": "fail"}
    lines = failure_message("gpu01", "fail", [follows, *checks]).splitlines()
    assert lines[0].endswith(f"2 of {len(checks) + 1} checks failed: pcie.link_width, managed.as_planned")
    assert lines[1].startswith("- pcie.link_width")


def test_what_no_playbook_mends_is_told_before_a_long_list_of_what_one_does() -> None:
    checks = narrow_slot()
    missing = [{**checks[0], "id": "rocm.installed", "outcome": "fail"}] * 30
    for order in ([*missing, *checks], [*checks, *missing]):
        assert failure_message("gpu01", "fail", order).splitlines()[1].startswith("- pcie.link_width")
        assert decisive(order)[0]["subject"] == "0000:83:00.0"


def test_reasons() -> None:
    checks = [{**narrow_slot()[0], "outcome": outcome} for outcome in ("ok", "ok", "skipped")]
    assert verdict_reason("pass", checks) == "2 checks are well, 1 do not apply"
    open_check = {**checks[0], "outcome": "unknown", "required": True}
    assert verdict_reason("unknown", [open_check]) == f"1 of 1 checks could not be judged: {checks[0]['id']}"


def test_a_long_message_is_cut() -> None:
    many = [{**narrow_slot()[0], "outcome": "fail"}] * 30
    assert "and 20 more" in failure_message("gpu01", "fail", many)


def test_the_table_names_every_node_and_what_failed() -> None:
    checks = narrow_slot()
    nodes = {
        "gpu01": {"verdict": "fail", "reason": "1 failed", "plan": [], "checks": checks},
        "gpu02": {"verdict": "unreachable", "reason": "no route", "plan": [], "checks": []},
    }
    lines = summary_table(assemble(nodes, rocm_release="5.4.2", complete=True)).splitlines()
    assert lines[1].split()[:2] == ["gpu01", "fail"]
    assert "pcie.link_width 0000:83:00.0: x8, expected x16" in lines[2]
    assert lines[3].split()[:2] == ["gpu02", "unreachable"]
    assert lines[-1] == "2 nodes: 1 fail, 1 unreachable"
    assert verdict(run_checks(node().context())) == "pass"
