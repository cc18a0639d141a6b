# SPDX-License-Identifier: Apache-2.0
"""Plan the MPI: the distribution's, which moves host memory only, one that is built with ROCm, or one that is there."""

from __future__ import annotations

import json
import typing as t

from ansible_collections.instinct.bringup.plugins.plugin_utils.catalog import release_key
from ansible_collections.instinct.bringup.plugins.plugin_utils.managed import Change, ManagedFile
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.model import PlanContext, Refusal, Step
from ansible_collections.instinct.bringup.plugins.plugin_utils.profile import Profile

RECORD = "instinct-bringup.json"


def mpi_paths(profile: Profile) -> list[str]:
    """Return what a plan may manage here, for the snapshot to look at."""
    return [f"{profile['mpi_prefix']}/{RECORD}"] if profile["mpi_provider"] == "source" else []


def mpi_prefix(profile: Profile) -> str:
    """Return where Open MPI is, "" where it is the distribution's or none is asked for."""
    if "mpi" not in profile["rocm_usecases"] or profile["mpi_provider"] == "distribution":
        return ""
    return str(profile["mpi_prefix"])


def plan_mpi(ctx: PlanContext) -> Step | None:
    """Return the step of role mpi, or None where there is nothing for it to do."""
    if "mpi" not in ctx.profile["rocm_usecases"] or ctx.profile["mpi_provider"] == "existing":
        return None
    if ctx.profile["mpi_provider"] == "source":
        return _source(ctx)
    names = list(ctx.profile["mpi_packages"])
    missing = ctx.missing(names)
    reason = "the distribution's MPI, which launches jobs and moves host memory only"
    changes = tuple(Change("package", name, "not installed", "the distribution's", reason) for name in missing)
    inputs = {"packages": names, "missing": missing, "build": None}
    return Step("mpi", changes, inputs, packages=dict.fromkeys(names, "*"))


def ucx_pair(ctx: PlanContext) -> dict[str, str]:
    """Return the catalog's row of UCX for the wanted release."""
    return pair_of(ctx.catalog.mpi["pairs"], str(ctx.profile["rocm_release"]))


def pair_of(pairs: t.Sequence[dict[str, str]], release: str) -> dict[str, str]:
    """Return the last row that begins at a release or before it."""
    return [row for row in pairs if release_key(row["rocm"]) <= release_key(release)][-1]


def mpi_refusals(ctx: PlanContext) -> list[Refusal]:
    """Return what stands against building: a tarball that nobody can verify, or a UCX that is not for this ROCm."""
    refusals = []
    for name, source in _sources(ctx).items():
        if source["sha256"]:
            continue
        refusals.append(
            Refusal(
                "mpi.tarball",
                f"mpi_{name}_sha256",
                f"no SHA-256 is known of {source['url']}",
                "64 hexadecimal digits",
                f"fetch the tarball once, look where its publisher states the sum, and set mpi_{name}_sha256",
            )
        )
    version, least = _sources(ctx)["ucx"]["version"], ucx_pair(ctx)["least"]
    if not version.replace(".", "").isdigit() or release_key(version) < release_key(least):
        refusals.append(
            Refusal(
                "mpi.version_pair",
                "mpi_ucx_version",
                f"UCX {version} for ROCm {ctx.profile['rocm_release']}",
                f"UCX {least} or newer",
                "leave mpi_ucx_version empty, or name a release that AMD lists for this ROCm",
            )
        )
    return refusals


def _sources(ctx: PlanContext) -> dict[str, dict[str, str]]:
    """Return the tarballs: version, url, sha256 ("" where none is known)."""
    found = {}
    for name, default in (("ucx", ucx_pair(ctx)["default"]), ("openmpi", ctx.catalog.mpi["openmpi"]["default"])):
        entry = ctx.catalog.mpi[name]
        version = str(ctx.profile[f"mpi_{name}_version"] or default)
        url = str(ctx.profile[f"mpi_{name}_url"] or entry["url"])
        series = ".".join(version.split(".")[:2])
        sha256 = str(ctx.profile[f"mpi_{name}_sha256"] or entry["sha256"].get(version, ""))
        found[name] = {"version": version, "url": url.format(version=version, series=series), "sha256": sha256}
    return found


def _source(ctx: PlanContext) -> Step:
    prefix = str(ctx.profile["mpi_prefix"])
    rocm = str(ctx.profile["mpi_rocm_path"] or f"/opt/rocm-{ctx.release['release']}")
    common = [f"--prefix={prefix}", f"--with-rocm={rocm}"]
    words = {"ucx": common, "openmpi": [*common, f"--with-ucx={prefix}"]}
    sources: dict[str, dict[str, t.Any]] = {
        name: {**source, "configure": [*words[name], *ctx.catalog.mpi[name]["configure"]]}
        for name, source in _sources(ctx).items()
    }
    # What was built says what it was built from: a node with the same record has the same files.
    record = {"system": f"{ctx.area('os').get('id')} {ctx.codename}", "rocm": rocm, **sources}
    file = ManagedFile(f"{prefix}/{RECORD}", json.dumps(record, indent=2) + "\n", "what this MPI was built from")
    reason = f"UCX {sources['ucx']['version']} and Open MPI {sources['openmpi']['version']}, which know ROCm"
    changes = (
        [Change("build", prefix, "another or none", "built once, then copied", reason)]
        if ctx.file_changes([file])
        else []
    )
    builder = str(ctx.profile["mpi_builder"] or min((host for host, _count in ctx.fleet), default=ctx.host))
    build = {
        **sources,
        "builder": builder,
        "prefix": prefix,
        "rocm": rocm,
        "packages": list(ctx.profile["mpi_build_packages"]),
        "id": file.sha256[:16],
        "record": file.as_input(),
    }
    return Step("mpi", tuple(changes), {"packages": [], "missing": [], "build": build}, (file,))
