# SPDX-License-Identifier: Apache-2.0
"""The ranks of a job against what was expected. CASES D-01, S-13."""

from __future__ import annotations

import json
import typing as t

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.instinct.bringup.plugins.plugin_utils.launch.compare import read_reports
from ansible_collections.instinct.bringup.plugins.plugin_utils.launch.outcome import Started, judge

HOSTS = (("gpu01", 2), ("gpu02", 1))
PLAN: dict[str, t.Any] = {
    "launch": {"hosts": [list(row) for row in HOSTS], "master": "gpu01", "port": 29500, "world_size": 3},
    "files": [{"path": "/etc/rccl/deepspeed_env", "content": "NCCL_SOCKET_IFNAME==eth0\nHSA_ENABLE_SDMA=1\n"}],
}
Reports = list[dict[str, t.Any]]


def job() -> Reports:
    """Return the reports of a job that went well."""
    owners = [host for host, slots in HOSTS for _slot in range(slots)]
    return [
        {
            "rank": rank, "world_size": 3, "host": host, "hostname": host, "master": "gpu01:29500", "trouble": "",
            "mtu": "9000", "environment": {"NCCL_SOCKET_IFNAME": "=eth0", "HSA_ENABLE_SDMA": "1"},
            "versions": {"python": "3.10.12", "torch": "2.0.1"},
        }
        for rank, host in enumerate(owners)
    ]  # fmt: skip


def printed(reports: Reports, prefix: str = "gpu01: ") -> str:
    return "".join(f"{prefix}INSTINCT-RANK {json.dumps(report)}\n" for report in reports)


def failures(
    reports: Reports, host: str = "gpu02", *, words: str = "", code: int = 0, **called: t.Any
) -> list[tuple[str, str]]:
    answer = {"rc": 0, **called} if called is not None else None
    outcome, results = judge(PLAN, host, Started("deepspeed", words + printed(reports), code, answer))
    wrong = [(entry.id, entry.reason) for entry in results if entry.outcome == "fail"]
    assert outcome == ("fail" if wrong else "pass")
    assert {entry.id for entry in results} >= {"ds.world_size_expected", "launch.ranks", "launch.environment"}
    return wrong


@pytest.mark.parametrize("host", ["gpu01", "gpu02"])
def test_a_job_as_planned_passes_on_every_host(host: str) -> None:
    assert failures(job(), host) == []


def test_a_silent_job_on_one_node_cannot_pass() -> None:
    alone = [{**report, "world_size": 2} for report in job()[:2]]
    words = "[WARNING] Unable to find hostfile, will proceed with training with local resources only.\n"
    found = failures(alone, "gpu01", words=words)
    assert [check for check, _reason in found] == ["ds.world_size_expected"] * 2
    assert "ranks 2 of gpu02 did not answer; the launcher did not find its hostfile" in found[0][1]
    assert "2 ranks believe in a job of 2" in found[1][1]


def change(rank: int, **fields: t.Any) -> Reports:
    reports = job()
    reports[rank].update(fields)
    return reports


@pytest.mark.parametrize(
    ("reports", "check", "words"),
    [
        ([], "ds.world_size_expected", "ranks 0-2 of gpu01, gpu02 did not answer"),
        ([*job(), job()[1]], "ds.world_size_expected", "rank 1 answered 2 times"),
        ([*job(), {**job()[0], "rank": 7}], "ds.world_size_expected", "rank 7 answered 1 times"),
        (change(2, host="gpu01"), "launch.ranks", "rank 2 runs on gpu01"),
        (change(2, host=None, hostname="login"), "launch.ranks", "an unknown host, login"),
        (change(2, master="gpu02:29500"), "launch.ranks", "wants to meet the others at gpu02:29500"),
        (change(2, trouble="gpu01:29500: timed out"), "launch.ranks", "did not meet the others"),
        (change(2, environment={"NCCL_SOCKET_IFNAME": "=eth0"}), "launch.environment", "HSA_ENABLE_SDMA not set"),
        (change(2, versions={"python": "3.10.12", "torch": "2.0.0"}), "launch.libraries", "torch is 2.0.0 on rank 2"),
        (change(2, mtu="1500"), "launch.interface", "MTU 1500 here and 9000 on gpu01"),
    ],
    ids=[
        "no rank", "twice", "a stranger", "other host", "unknown host", "other master", "not met", "environment",
        "libraries", "MTU",
    ],
)  # fmt: skip
def test_each_difference_is_told(reports: Reports, check: str, words: str) -> None:
    found = failures(reports)
    assert any(entry[0] == check and words in entry[1] for entry in found), found


def test_another_hosts_environment_is_not_this_ones_fault() -> None:
    assert failures(change(0, environment={}), "gpu02") == []
    assert failures(change(0, environment={}), "gpu01") != []


def test_a_launcher_that_failed_is_told_with_its_last_words() -> None:
    found = failures(job(), words="starting\nno such option: --include\n", code=2)
    assert "ended with 2 on gpu01; its last words: starting | no such option: --include" in found[0][1]


def test_a_host_that_does_not_answer_the_jobs_user_is_told() -> None:
    found = failures(job(), rc=255, stderr="Warning\nHost key verification failed.")
    assert found == [
        (
            "ds.launcher_available",
            "the job's user does not reach gpu02 from the first node: Host key verification failed.",
        )
    ]


def test_slurm_starts_as_many_on_each_host_as_the_smallest_has() -> None:
    reports = [{**report, "world_size": 2} for report in (job()[0], job()[2])]
    reports[1]["rank"] = 1
    outcome, results = judge(PLAN, "gpu01", Started("slurm", printed(reports), 0, None))
    assert outcome == "pass", results


def test_a_host_that_no_job_runs_on_is_not_judged() -> None:
    outcome, results = judge({"launch": None, "files": []}, "login", Started("deepspeed", "", 0, None))
    assert (outcome, [entry.outcome for entry in results]) == ("pass", ["skipped"])


@given(st.text())
def test_any_output_holds_reports_or_none(text: str) -> None:
    assert read_reports(f"INSTINCT-RANK {{{text}}}\nINSTINCT-RANK {text}\n") == []


def test_a_line_that_was_cut_is_no_report() -> None:
    whole = printed(job()[:1])
    assert len(read_reports(whole)) == 1
    assert read_reports(whole[:-5]) == []
