# SPDX-License-Identifier: Apache-2.0
"""Compare what the ranks of a started job told with what was expected of them."""

from __future__ import annotations

import collections
import dataclasses
import json
import re
import typing as t

Json = dict[str, t.Any]

_LINE = re.compile(r"INSTINCT-RANK (\{.*\})")
# What DeepSpeed's launcher says when it goes on with one node.
_ALONE = "Unable to find hostfile"
_TOLD = 8


@dataclasses.dataclass(frozen=True)
class Expected:
    """Say what a job must be. hosts: host and ranks in the order of ranks; environment: that of one host's ranks."""

    hosts: tuple[tuple[str, int], ...]
    master: str
    environment: t.Mapping[str, str]

    @property
    def world_size(self) -> int:
        """Return the number of ranks."""
        return sum(slots for _host, slots in self.hosts)


@dataclasses.dataclass(frozen=True)
class Difference:
    """Name one thing that is not as expected. check: the id of the check that it belongs to."""

    check: str
    subject: str
    expected: str
    observed: str
    reason: str


def read_reports(output: str) -> list[Json]:
    """Return the ranks' reports of a launcher's output. A line that was cut or mixed with another is none."""
    found = []
    for text in _LINE.findall(output):
        try:
            report = json.loads(text)
        except ValueError:
            continue
        if isinstance(report, dict) and isinstance(report.get("rank"), int):
            found.append(report)
    return sorted(found, key=lambda report: int(report["rank"]))


def job_differences(expected: Expected, reports: t.Sequence[Json], output: str) -> list[Difference]:
    """Return what is wrong with the job as a whole: its ranks, where they are, and whether they met."""
    return [*_size(expected, reports, output), *_places(expected, reports), *_meetings(expected, reports)]


def host_differences(expected: Expected, host: str, reports: t.Sequence[Json]) -> list[Difference]:
    """Return what is wrong with the ranks of one host: their environment and their libraries."""
    mine = [report for report in reports if report.get("host") == host]
    return [*_environment(expected, mine), *_libraries(mine, reports), *_mtu(mine, reports)]


def _size(expected: Expected, reports: t.Sequence[Json], output: str) -> t.Iterator[Difference]:
    ranks = [int(report["rank"]) for report in reports]
    wanted = f"{expected.world_size} ranks on {len(expected.hosts)} hosts"
    seen = f"{len(set(ranks))} ranks on {len({report.get('host') for report in reports})} hosts"
    missing = sorted(set(range(expected.world_size)) - set(ranks))
    if missing:
        owners = _owners(expected)
        hosts = list(dict.fromkeys(owners[rank] for rank in missing))
        reason = f"ranks {_short(missing)} of {', '.join(hosts[:_TOLD])} did not answer"
        if _ALONE in output:
            reason += "; the launcher did not find its hostfile and went on with one node"
        yield Difference("ds.world_size_expected", "ranks", wanted, seen, reason)
    for rank, count in sorted(collections.Counter(ranks).items()):
        if count > 1 or rank >= expected.world_size:
            reason = (
                f"rank {rank} answered {count} times; there must be ranks 0 to {expected.world_size - 1}, each once"
            )
            yield Difference("ds.world_size_expected", f"rank {rank}", wanted, seen, reason)
    sizes = collections.Counter(report.get("world_size") for report in reports)
    for size, count in sizes.items():
        if size != expected.world_size:
            reason = f"{count} ranks believe in a job of {size}: they train without the others"
            yield Difference("ds.world_size_expected", "world size", str(expected.world_size), str(size), reason)


def _owners(expected: Expected) -> list[str]:
    return [host for host, slots in expected.hosts for _slot in range(slots)]


def _places(expected: Expected, reports: t.Sequence[Json]) -> t.Iterator[Difference]:
    owners = _owners(expected)
    for report in reports:
        rank = int(report["rank"])
        wanted = owners[rank] if rank < len(owners) else None
        if wanted is not None and report.get("host") != wanted:
            seen = str(report.get("host") or f"an unknown host, {report.get('hostname')}")
            reason = f"rank {rank} runs on {seen}; the order of the hostfile puts it on {wanted}"
            yield Difference("launch.ranks", f"rank {rank}", wanted, seen, reason)


def _meetings(expected: Expected, reports: t.Sequence[Json]) -> t.Iterator[Difference]:
    for report in reports:
        subject = f"rank {report['rank']} on {report.get('host')}"
        if report.get("master") != expected.master:
            seen = str(report.get("master"))
            reason = f"{subject} wants to meet the others at {seen}"
            yield Difference("launch.ranks", subject, expected.master, seen, reason)
        elif report.get("trouble"):
            reason = f"{subject} did not meet the others: {report['trouble']}"
            yield Difference("launch.ranks", subject, f"meets at {expected.master}", str(report["trouble"]), reason)


def _environment(expected: Expected, mine: t.Sequence[Json]) -> t.Iterator[Difference]:
    for name, value in expected.environment.items():
        wrong = [report for report in mine if (report.get("environment") or {}).get(name) != value]
        if not wrong:
            continue
        seen = (wrong[0].get("environment") or {}).get(name)
        observed = "not set" if seen is None else str(seen)
        reason = (
            f"ranks {_short([int(report['rank']) for report in wrong])} have {name} {observed}, the profile {value}"
        )
        yield Difference("launch.environment", name, value, observed, reason)


def _libraries(mine: t.Sequence[Json], reports: t.Sequence[Json]) -> t.Iterator[Difference]:
    if not reports:
        return
    first = reports[0]
    for name, wanted in (first.get("versions") or {}).items():
        for report in mine:
            seen = (report.get("versions") or {}).get(name)
            if seen != wanted:
                reason = f"{name} is {seen} on rank {report['rank']}, and {wanted} on rank 0 on {first.get('host')}"
                yield Difference("launch.libraries", name, str(wanted), str(seen), reason)
                break


def _mtu(mine: t.Sequence[Json], reports: t.Sequence[Json]) -> t.Iterator[Difference]:
    if not reports or not mine:
        return
    wanted, seen = reports[0].get("mtu"), mine[0].get("mtu")
    if wanted and seen and wanted != seen:
        reason = f"MTU {seen} here and {wanted} on {reports[0].get('host')}: large messages stall"
        yield Difference("launch.interface", "MTU", str(wanted), str(seen), reason)


def _short(ranks: t.Sequence[int]) -> str:
    """Return numbers in order as runs: 0-3,8."""
    runs: list[list[int]] = []
    for rank in sorted(set(ranks)):
        if runs and runs[-1][1] == rank - 1:
            runs[-1][1] = rank
        else:
            runs.append([rank, rank])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)
