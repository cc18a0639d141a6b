# SPDX-License-Identifier: Apache-2.0
"""Judge one host by a job that was started: results in the form of a report's checks."""

from __future__ import annotations

import dataclasses
import typing as t

from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.model import (
    FAIL,
    OK,
    SKIPPED,
    CheckResult,
    verdict,
)
from ansible_collections.instinct.bringup.plugins.plugin_utils.launch.compare import (
    Difference,
    Expected,
    Json,
    host_differences,
    job_differences,
    read_reports,
)
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.rccl import DEEPSPEED_PATH

# What was looked at, by the id that its differences carry, and what to do about one.
REMEDIES = {
    "ds.launcher_available": (
        "Call the node as the job's user from the first node: ssh -o BatchMode=yes HOST true. With launch_ssh: true "
        "site.yml sets up the key and the host keys."
    ),
    "ds.world_size_expected": (
        "Look at the launcher's own output above, and at ds.hostfile_syntax and ds.slots_vs_gpus of playbooks/verify.yml."
    ),
    "launch.ranks": (
        "See that the first node's name leads to the same address on every node, and that no firewall stands before "
        "launch_port."
    ),
    "launch.environment": (
        "Run site.yml, which renders the profile on every node. What the calling shell has set wins over the profile."
    ),
    "launch.libraries": "Run site.yml on every node: one lock, one release.",
    "launch.interface": "Give the cards of launch_interface one MTU on every node, and the switch between them.",
}
_LAST_LINES = 6


@dataclasses.dataclass(frozen=True)
class Started:
    """Hold how a job went. called: what ssh said when the first node called this one, None where it was not asked."""

    launcher: str
    output: str
    code: int
    called: Json | None


def judge(plan: t.Mapping[str, t.Any], host: str, started: Started) -> tuple[str, list[CheckResult]]:
    """Return a host's verdict and its results. Each check is there, with one ok or with each difference."""
    launch = plan["launch"]
    if launch is None:
        reason = "no job runs on this host: it is not in the group of the hostfile, or nobody counted its GPUs"
        return "pass", [_result("ds.world_size_expected", SKIPPED, host, "", "", reason)]
    expected = Expected(_hosts(launch, started.launcher), f"{launch['master']}:{launch['port']}", _environment(plan))
    reports = read_reports(started.output)
    found = [*_calls(host, started), *_ending(launch, started)]
    found += job_differences(expected, reports, started.output)
    found += host_differences(expected, host, reports)
    results = []
    for check in REMEDIES:
        mine = [difference for difference in found if difference.check == check]
        results += [_result(check, FAIL, one.subject, one.expected, one.observed, one.reason) for one in mine]
        if not mine and (check != "ds.launcher_available" or started.called):
            observed = f"{len(reports)} ranks of {started.launcher} looked at"
            results.append(_result(check, OK, host, "as planned", observed, ""))
    return verdict(results), results


def _hosts(launch: Json, launcher: str) -> tuple[tuple[str, int], ...]:
    """Return the ranks of each host; Slurm starts as many on each as the smallest has."""
    hosts = [(str(host), int(slots)) for host, slots in launch["hosts"]]
    if launcher != "slurm":
        return tuple(hosts)
    fewest = min(slots for _host, slots in hosts)
    return tuple((host, fewest) for host, _slots in hosts)


def _environment(plan: t.Mapping[str, t.Any]) -> dict[str, str]:
    """Return what the plan's profile gives the ranks of this host."""
    text = next((str(file["content"]) for file in plan["files"] if file["path"] == DEEPSPEED_PATH), "")
    return dict(line.split("=", 1) for line in text.splitlines() if "=" in line)


def _calls(host: str, started: Started) -> t.Iterator[Difference]:
    if started.called and started.called.get("rc") != 0:
        said = str(started.called.get("stderr") or started.called.get("msg") or "no answer").strip()
        last = said.splitlines()[-1] if said else "no answer"
        reason = f"the job's user does not reach {host} from the first node: {last}"
        yield Difference("ds.launcher_available", host, "answers without a question", last, reason)


def _ending(launch: Json, started: Started) -> t.Iterator[Difference]:
    if started.code:
        lines = [line for line in started.output.strip().splitlines() if "INSTINCT-RANK" not in line]
        said = " | ".join(lines[-_LAST_LINES:]) or "nothing"
        reason = f"{started.launcher} ended with {started.code} on {launch['master']}; its last words: {said}"
        yield Difference("ds.world_size_expected", started.launcher, "ends with 0", str(started.code), reason)


def _result(check: str, outcome: str, subject: str, expected: str, observed: str, reason: str) -> CheckResult:
    return CheckResult(
        check, outcome, True, subject, expected, observed, reason, REMEDIES[check], "what the ranks printed"
    )
