# SPDX-License-Identifier: Apache-2.0
"""Tell AMD's packages and sources from others, by the same rules as the plan."""

from __future__ import annotations

import collections.abc as c
import typing as t

from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.hardware import Json
from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.model import CheckContext
from ansible_collections.instinct.bringup.plugins.plugin_utils.packages import Vendor, families_of
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.model import PlanContext
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.purge_apt import is_vendor_uri
from ansible_collections.instinct.bringup.plugins.plugin_utils.profile import Profile

DPKG_STATUS = "dpkg-query --show"


def plan_view(context: CheckContext) -> PlanContext:
    """Return the plan's view of the same node, for the rules that the plan and the checks share."""
    return PlanContext(
        host="",
        run_dir="",
        profile=Profile(context.profile),
        catalog=context.catalog,
        snapshot=t.cast("dict[str, t.Any]", context.snapshot),
    )


def package_rows(context: CheckContext) -> dict[str, Json]:
    """Return the rows of dpkg by package."""
    return dict(context.snapshot["dpkg"].get("packages") or {})


def is_installed(row: Json | None) -> bool:
    """Say whether a package is wholly installed: the second letter of dpkg's status is i."""
    return row is not None and str(row["status"])[1:2] == "i"


def vendor_packages(context: CheckContext) -> dict[str, tuple[Json, Vendor]]:
    """Return AMD's own installed packages with what their versions tell."""
    families = families_of(context.catalog)
    found = {}
    for name, row in package_rows(context).items():
        vendor = families.classify(name, str(row["version"])) if is_installed(row) else None
        if vendor is not None:
            found[name] = (row, vendor)
    return found


def vendor_sources(context: CheckContext) -> list[Json]:
    """Return the enabled apt sources that lead to AMD's repositories or the site's mirror of them."""
    view = plan_view(context)
    sources = context.snapshot["apt"].get("sources") or []
    return [source for source in sources if source["enabled"] and is_vendor_uri(view, str(source["uri"]))]


def planned_file(context: CheckContext, path: str) -> Json | None:
    """Return a file of the plan, changed or not."""
    files: c.Iterable[Json] = context.plan.get("files") or []
    return next((entry for entry in files if entry["path"] == path), None)
