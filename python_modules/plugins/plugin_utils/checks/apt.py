# SPDX-License-Identifier: Apache-2.0
"""Check what apt would really do: priorities, candidates, and the keys that it trusts AMD's sources by."""

from __future__ import annotations

import collections.abc as c
import re

from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.hardware import Json
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
    plan_view,
    planned_file,
    vendor_sources,
)
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.purge_apt import is_vendor_uri
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.repositories import PIN_PATH

POLICY = "apt-cache policy"
NO_SOURCE = "no source of AMD's is enabled"


def _policies(context: CheckContext) -> dict[str, Json]:
    """Return apt's policy of every package that some source of AMD's offers."""
    policies: dict[str, Json] = context.snapshot["apt"]["policy"]
    return {name: policy for name, policy in sorted(policies.items()) if _vendor_versions(context, policy)}


def _vendor_versions(context: CheckContext, policy: Json) -> list[Json]:
    view = plan_view(context)
    return [
        version
        for version in policy["versions"]
        if any(is_vendor_uri(view, str(source["uri"])) for source in version["sources"])
    ]


@check(
    "apt.pin_effective",
    "apt gives AMD's repositories the priority of the pin",
    areas=("apt.sources", "apt.policy"),
    remedy=(
        f"Run site.yml, which writes {PIN_PATH}. A pin that apt does not apply is often one line with a "
        "written-out \\n in it, or names an origin that the repository does not have."
    ),
)
def pin_effective(context: CheckContext) -> c.Iterator[Finding]:
    """Read the priority that apt applies to versions from AMD's repositories, not the file that asks for it."""
    pin = planned_file(context, PIN_PATH)
    found = re.search(r"^Pin-Priority: (\d+)$", str(pin["content"]), re.MULTILINE) if pin else None
    if found is None:
        yield skipped("the plan has no pin")
        return
    wanted = int(found.group(1))
    policies = _policies(context)
    if not policies:
        yield _no_version(f"priority {wanted}")
        return
    lower = {
        name: min(int(version["priority"]) for version in _vendor_versions(context, policy))
        for name, policy in policies.items()
    }
    wrong = {name: priority for name, priority in lower.items() if priority < wanted}
    if not wrong:
        yield Finding(OK, f"{len(lower)} packages", f"priority {wanted}", f"priority {min(lower.values())}", "", POLICY)
        return
    names = sorted(wrong)
    reason = f"apt gives {names[0]} of AMD's repository priority {wrong[names[0]]} ({len(names)} packages)"
    for entry in context.snapshot["apt"].get("preference_problems") or []:
        reason += f"; {entry['path']}: {entry['message']}"
    yield Finding(FAIL, names[0], f"priority {wanted}", f"priority {wrong[names[0]]}", reason, POLICY)


def _no_version(expected: str) -> Finding:
    reason = "apt knows no version from AMD's repositories: they are not listed, or were never updated"
    return Finding(FAIL, "", expected, "no version of AMD's", reason, POLICY)


@check(
    "apt.vendor_candidate",
    "apt would take AMD's package of every name that a distribution has too",
    areas=("apt.sources", "apt.policy"),
    remedy="Set the pin right (apt.pin_effective), and remove an installed package of the distribution first.",
)
def vendor_candidate(context: CheckContext) -> c.Iterator[Finding]:
    """Look at apt's candidate of each package that AMD's repositories offer: it must be a version of theirs."""
    policies = _policies(context)
    if not policies:
        yield _no_version("a candidate of AMD's")
        return
    wrong = 0
    for name, policy in policies.items():
        candidate = policy["candidate"]
        vendor = [str(version["version"]) for version in _vendor_versions(context, policy)]
        if candidate in vendor:
            continue
        wrong += 1
        origins = [
            f"{source['uri']} {source['suite']}"
            for version in policy["versions"]
            if version["version"] == candidate
            for source in version["sources"]
        ]
        reason = f"apt would take {name} {candidate} from {', '.join(origins) or 'no source'}"
        yield Finding(FAIL, name, vendor[0], str(candidate), reason, POLICY)
    if not wrong:
        yield Finding(OK, f"{len(policies)} packages", "a candidate of AMD's", "AMD's", "", POLICY)


@check(
    "apt.signed_by_missing",
    "Each source of AMD's names the key that it is trusted by",
    areas=("apt.sources",),
    remedy="Remove the old list, or write signed-by into it: without it apt takes any key of the global ring.",
)
def signed_by_missing(context: CheckContext) -> c.Iterator[Finding]:
    """Find enabled sources of AMD's without signed-by."""
    sources = vendor_sources(context)
    if not sources:
        yield skipped(NO_SOURCE)
    for source in sources:
        where = f"{source['path']}:{source['line']}"
        key = (source.get("options") or {}).get("signed-by")
        if key:
            yield Finding(OK, str(source["uri"]), "signed-by", str(key), "", where)
        else:
            reason = f"{where} has no signed-by"
            yield Finding(FAIL, str(source["uri"]), "signed-by", "none", reason, where)


def _keyrings(context: CheckContext) -> tuple[list[Json], set[str]]:
    """Return all keyrings, and the paths of those that AMD's sources are trusted by."""
    used = {str((source.get("options") or {}).get("signed-by")) for source in vendor_sources(context)}
    return list(context.snapshot["apt"].get("keyrings") or []), used


@check(
    "apt.key_expired",
    "The key that AMD's sources are trusted by has not expired",
    areas=("apt.sources", "apt.keyrings"),
    remedy=(
        "Fetch the key again from rocm_key_url: AMD gives the same key a later date. Remove the old copy "
        "of it from /etc/apt/trusted.gpg.d."
    ),
)
def key_expired(context: CheckContext) -> c.Iterator[Finding]:
    """Compare the date of each of AMD's keys with that of the snapshot. An old copy elsewhere is warned of."""
    rings, used = _keyrings(context)
    wanted = str(context.option("rocm_key_fingerprint", "")).replace(" ", "").upper()
    now = str(context.snapshot["collected"])
    seen = 0
    for ring in rings:
        for key in ring["keys"]:
            if ring["path"] not in used and key["fingerprint"] != wanted:
                continue
            seen += 1
            expires = key["expires"]
            if expires is None or expires > now:
                date = expires or "never expires"
                yield Finding(OK, key["fingerprint"], "not expired", date, "", ring["path"])
            else:
                reason = f"the key in {ring['path']} expired on {expires}"
                outcome = FAIL if ring["path"] in used else WARN
                yield Finding(outcome, key["fingerprint"], "not expired", f"expired {expires}", reason, ring["path"])
    if not seen:
        yield skipped("no key of AMD's is there")


@check(
    "apt.key_not_openpgp",
    "Every keyring is one",
    areas=("apt.sources", "apt.keyrings"),
    remedy="Remove the file and fetch the key again: often it is the error page of a wrong URL.",
)
def key_not_openpgp(context: CheckContext) -> c.Iterator[Finding]:
    """Find keyrings that hold something else. One that no source of AMD's uses is warned of."""
    rings, used = _keyrings(context)
    if not rings:
        yield skipped("there is no keyring")
        return
    wrong = [ring for ring in rings if ring.get("problem")]
    for ring in wrong:
        outcome, problem = FAIL if ring["path"] in used else WARN, str(ring["problem"])
        yield Finding(outcome, ring["path"], "an OpenPGP keyring", problem, problem, ring["path"])
    if not wrong:
        yield Finding(OK, f"{len(rings)} keyrings", "OpenPGP keyrings", "OpenPGP keyrings", "", "/etc/apt")
