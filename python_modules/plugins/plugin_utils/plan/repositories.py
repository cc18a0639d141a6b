# SPDX-License-Identifier: Apache-2.0
"""Say where the wanted release comes from: URLs, key, sources and the pin."""

from __future__ import annotations

from ansible_collections.instinct.bringup.plugins.plugin_utils.managed import ManagedFile
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.model import PlanContext

KEYRING_PATH = "/etc/apt/keyrings/rocm.gpg"
PIN_PATH = "/etc/apt/preferences.d/rocm-pin-600"
ROCM_LIST = "/etc/apt/sources.list.d/rocm.list"
DRIVER_LIST = "/etc/apt/sources.list.d/amdgpu.list"
# Conffiles of the amdgpu-install package. Ours replace two of them: one owner per source, since
# apt refuses everything when two files name one source with different keyrings.
PROPRIETARY_LIST = "/etc/apt/sources.list.d/amdgpu-proprietary.list"
INSTALLER_KEYRING = "/etc/apt/trusted.gpg.d/rocm-keyring.gpg"
HEADER = "# Managed by instinct.bringup, role rocm. Changes by hand are undone by the next run.\n"


def _url(ctx: PlanContext, option: str, path: str) -> str:
    """Return a URL that the site gives, or the one below rocm_base_url."""
    given = str(ctx.profile[option])
    return given.rstrip("/") if given else f"{str(ctx.profile['rocm_base_url']).rstrip('/')}/{path}"


def apt_url(ctx: PlanContext) -> str:
    """Return the URL of the ROCm repository."""
    return _url(ctx, "rocm_apt_url", ctx.release["apt_path"])


def driver_url(ctx: PlanContext) -> str:
    """Return the URL of the driver's repository, which has its own numbers."""
    return _url(ctx, "rocm_driver_apt_url", ctx.driver["path"])


def key_url(ctx: PlanContext) -> str:
    """Return the URL of the signing key."""
    return _url(ctx, "rocm_key_url", ctx.release["key_path"])


def installer_url(ctx: PlanContext) -> str:
    """Return the URL of the amdgpu-install package for the node's distribution."""
    return _url(ctx, "rocm_installer_url", ctx.release["installer"]["path"].format(codename=ctx.codename))


def source_files(ctx: PlanContext) -> list[ManagedFile]:
    """Return the lists of the release."""
    urls = {ROCM_LIST: apt_url(ctx), DRIVER_LIST: driver_url(ctx)}
    notes = {
        ROCM_LIST: f"the repository of ROCm {ctx.release['release']}, trusted by its own key only",
        DRIVER_LIST: f"the repository of the driver of ROCm {ctx.driver_release['release']}",
    }
    return [
        ManagedFile(
            path, f"{HEADER}deb [arch=amd64 signed-by={KEYRING_PATH}] {urls[path]} {ctx.codename} main\n", notes[path]
        )
        for path in urls
    ]


def pin_file() -> ManagedFile:
    """Return the pin without which the distribution's packages of the same names win."""
    content = "Package: *\nPin: release o=repo.radeon.com\nPin-Priority: 600\n"
    return ManagedFile(PIN_PATH, content, "without it apt prefers the distribution's packages of the same names")
