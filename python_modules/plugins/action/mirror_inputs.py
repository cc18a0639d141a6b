# SPDX-License-Identifier: Apache-2.0
"""Say what a profile fetches: repositories, key, packages, installer and wheels."""

from __future__ import annotations

import typing as t

from ansible.plugins.action import ActionBase

from ansible_collections.instinct.bringup.plugins.plugin_utils.catalog import default_catalog
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan import repositories
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.model import PlanContext
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.pytorch import index_url
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.refusals import profile_refusals
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.rocm import fingerprint, wanted_packages
from ansible_collections.instinct.bringup.plugins.plugin_utils.planning import load_profile, read_lock

ARGUMENTS = {"codenames": {"type": "list", "elements": "str", "default": []}}


class ActionModule(ActionBase):
    """Return the inputs of mirror_list, one for each distribution release."""

    _supports_check_mode = True
    _requires_connection = False

    def run(self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        """Return the inputs; fail where the profile itself is refused."""
        variables = task_vars or {}
        result: dict[str, t.Any] = super().run(tmp, variables)
        _validation, arguments = self.validate_argument_spec(ARGUMENTS)
        profile, catalog = load_profile(self, variables), default_catalog()
        # The installer's digest is what the list is made to find out.
        refusals = [entry for entry in profile_refusals(profile, catalog) if entry.id != "rocm.installer_unpinned"]
        if refusals:
            result.update(
                failed=True, msg="; ".join(f"{entry.subject}: {entry.seen}; {entry.remedy}" for entry in refusals)
            )
            return result
        lock = read_lock(self, profile) or ""
        inputs = []
        for system in catalog.release(profile["rocm_release"])["kernels"]:
            name, _, version = system.partition("-")
            ctx = PlanContext("mirror", "", profile, catalog, {"os": {"id": name, "version_id": version}}, (), lock)
            if not arguments["codenames"] or ctx.codename in arguments["codenames"]:
                inputs.append(_inputs(ctx, lock))
        result.update(changed=False, inputs=inputs)
        return result


def _inputs(ctx: PlanContext, lock: str) -> dict[str, t.Any]:
    by_installer = ctx.profile["rocm_method"] == "amdgpu_install"
    wanted = {name: version for name, version in wanted_packages(ctx).items() if name != "amdgpu-install"}
    return {
        "codename": ctx.codename,
        "key_url": repositories.key_url(ctx),
        "key_fingerprint": fingerprint(ctx),
        "repositories": [
            {"name": "ROCm", "url": repositories.apt_url(ctx), "suite": ctx.codename},
            {"name": "amdgpu driver", "url": repositories.driver_url(ctx), "suite": ctx.codename},
        ],
        "packages": wanted,
        "installer_url": repositories.installer_url(ctx) if by_installer else None,
        "lock": lock,
        "wheel_index": index_url(ctx) if lock else None,
    }
