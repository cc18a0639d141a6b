# SPDX-License-Identifier: Apache-2.0
"""Check the installed packages: all of the release, of nothing else, wholly installed and held."""

from __future__ import annotations

import collections
import collections.abc as c
import fnmatch

from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.model import (
    FAIL,
    OK,
    WARN,
    CheckContext,
    Finding,
    skipped,
)
from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.registry import check
from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.vendor import (
    DPKG_STATUS,
    is_installed,
    package_rows,
    vendor_packages,
)
from ansible_collections.instinct.bringup.plugins.plugin_utils.packages import families_of

# dpkg's second letter: half-configured, half-installed, unpacked, triggers awaited, triggers pending.
UNFINISHED = {
    "F": "half-configured",
    "H": "half-installed",
    "U": "unpacked, not configured",
    "W": "waiting for triggers",
    "t": "triggers pending",
}


@check(
    "pkg.release_complete",
    "Every package of the plan is installed in the wanted version",
    areas=("dpkg.packages",),
    remedy="Run site.yml: the plan names what it installs. Read apt's message if it could not.",
)
def release_complete(context: CheckContext) -> c.Iterator[Finding]:
    """Compare each package that the plan manages with dpkg. A version may be a pattern such as 5.4.2.50402-*."""
    wanted: dict[str, str] = context.plan.get("packages") or {}
    if not wanted:
        yield skipped("the plan manages no package")
        return
    rows = package_rows(context)
    wrong = 0
    for name, version in sorted(wanted.items()):
        row = rows.get(name)
        expected = "any version" if version == "*" else version
        if not is_installed(row):
            wrong += 1
            observed = "not installed" if row is None else f"{row['version']} ({str(row['status']).strip()})"
            yield Finding(FAIL, name, expected, observed, f"{name} is not installed", DPKG_STATUS)
        elif row is not None and not fnmatch.fnmatchcase(str(row["version"]), version):
            wrong += 1
            reason = f"{name} is of another version"
            yield Finding(FAIL, name, expected, str(row["version"]), reason, DPKG_STATUS)
    if not wrong:
        yield Finding(OK, f"{len(wanted)} packages", "installed", "installed", "", DPKG_STATUS)


@check(
    "pkg.foreign_rocm",
    "No distribution package takes the place of one of AMD's",
    areas=("dpkg.packages",),
    remedy=(
        "Remove the named packages, then run site.yml. A pin does not downgrade what is installed: its "
        "higher number stays."
    ),
)
def foreign_rocm(context: CheckContext) -> c.Iterator[Finding]:
    """Find installed packages with a name of ROCm and a version that AMD's builds do not have.

    One of a name that this release does not have is in nobody's way and only warned of.
    """
    families = families_of(context.catalog)
    shadowed = set(context.release.get("shadowed") or []) | set(context.plan.get("packages") or {})
    strange = [
        (name, str(row["version"]))
        for name, row in sorted(package_rows(context).items())
        if is_installed(row) and families.is_family_name(name) and families.classify(name, str(row["version"])) is None
    ]
    for name, version in strange:
        if name in shadowed:
            reason = "the distribution's build of a package that AMD's release also has"
            yield Finding(FAIL, name, "AMD's build or none", version, reason, DPKG_STATUS)
        else:
            reason = "a name of ROCm's, but not AMD's build; AMD's release has no such package"
            yield Finding(WARN, name, "AMD's build or none", version, reason, DPKG_STATUS)
    if not strange:
        yield Finding(OK, "", "AMD's builds only", "none of another origin", "", DPKG_STATUS)


@check(
    "pkg.stream_coherent",
    "All of AMD's packages are of one release and of this distribution",
    areas=("dpkg.packages", "os.version_id"),
    remedy="Run site.yml, which purges what is of another release, or purge the named packages first.",
)
def stream_coherent(context: CheckContext) -> c.Iterator[Finding]:
    """Decode release and suite from every version of AMD's packages and compare them with the profile and the system.

    Drivers whose version encodes no release are left out of the comparison of releases.
    """
    found = vendor_packages(context)
    if not found:
        yield skipped("no package of AMD's is installed")
        return
    wanted, system = str(context.release["release"]), str(context.snapshot["os"].get("version_id"))
    releases: dict[str, list[str]] = collections.defaultdict(list)
    suites: dict[str, list[str]] = collections.defaultdict(list)
    for name, (_row, vendor) in sorted(found.items()):
        if vendor.release:
            releases[vendor.release].append(name)
        if vendor.suite:
            suites[vendor.suite].append(name)
    odd = [(f"ROCm {release}", names) for release, names in sorted(releases.items()) if release != wanted]
    odd += [(f"builds for {suite}", names) for suite, names in sorted(suites.items()) if suite != system]
    expected = f"ROCm {wanted} built for {system}"
    for what, names in odd:
        listed = ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")
        reason = f"{what} beside ROCm {wanted} for {system}: {listed}"
        yield Finding(FAIL, what, expected, f"{len(names)} packages", reason, DPKG_STATUS)
    if not odd:
        yield Finding(OK, f"{len(found)} packages", expected, expected, "", DPKG_STATUS)


@check(
    "pkg.hold_state",
    "The release's packages are held, so that an upgrade does not swap them",
    areas=("dpkg.packages",),
    remedy="Run site.yml, or hold them by hand with apt-mark hold. Other people's holds are never lifted.",
)
def hold_state(context: CheckContext) -> c.Iterator[Finding]:
    """Compare dpkg's holds with those that the plan wants. Holds of the site's own are named, and are right."""
    wanted = set(context.plan.get("holds") or [])
    rows = package_rows(context)
    held = {name for name, row in rows.items() if row.get("hold")}
    missing = sorted(wanted - held)
    for name in missing:
        reason = "an upgrade may replace it" if name in rows else "it is not installed"
        yield Finding(FAIL, name, "held", "not held", reason, "apt-mark showhold")
    if missing:
        return
    if not wanted:
        yield skipped("the plan holds no package")
        return
    others = sorted(held - wanted)
    reason = f"also held, not by us: {', '.join(others)}" if others else ""
    yield Finding(OK, f"{len(wanted)} packages", "held", "held", reason, "apt-mark showhold")


@check(
    "dpkg.unfinished",
    "No package is half installed",
    areas=("dpkg.packages",),
    remedy=(
        "Purge or configure the named package first: dpkg --configure -a stops at it. A driver that does "
        "not build on this kernel also leaves the kernel's packages half-configured."
    ),
)
def unfinished(context: CheckContext) -> c.Iterator[Finding]:
    """Find packages in a state between, by dpkg's own letters. Removed with configuration left (rc) is none."""
    wrong = 0
    for name, row in sorted(package_rows(context).items()):
        status = f"{row['status']}   "
        state = UNFINISHED.get(status[1])
        if state is None and status[2] != "R":
            continue
        wrong += 1
        observed = state or "must be reinstalled"
        reason = f"dpkg status {status.strip()}" + (", must be reinstalled" if status[2] == "R" else "")
        yield Finding(FAIL, name, "installed or gone", observed, reason, DPKG_STATUS)
    if not wrong:
        yield Finding(OK, "", "no unfinished package", "none", "", DPKG_STATUS)
