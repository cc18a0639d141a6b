# SPDX-License-Identifier: Apache-2.0
"""Hold the parts of a plan: what it is made from, its steps and its refusals."""

from __future__ import annotations

import dataclasses
import functools
import typing as t

from ansible_collections.instinct.bringup.plugins.plugin_utils.catalog import Catalog
from ansible_collections.instinct.bringup.plugins.plugin_utils.launch.peers import Peer
from ansible_collections.instinct.bringup.plugins.plugin_utils.managed import Change, ManagedFile, file_change
from ansible_collections.instinct.bringup.plugins.plugin_utils.packages import PackageFamilies, families_of
from ansible_collections.instinct.bringup.plugins.plugin_utils.profile import Profile


@dataclasses.dataclass(frozen=True)
class Refusal:
    """Say why a node cannot be brought up as asked: what was seen, what is wanted, what to do."""

    id: str
    subject: str
    seen: str
    wanted: str
    remedy: str


@dataclasses.dataclass(frozen=True)
class Step:
    """Hold what one role has to do. inputs: what the role's tasks read, whole, changed or not."""

    role: str
    changes: tuple[Change, ...]
    inputs: dict[str, t.Any]
    files: tuple[ManagedFile, ...] = ()
    packages: dict[str, str] = dataclasses.field(default_factory=dict)
    notes: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class PlanContext:
    """Give the plan its inputs. Nothing else is read: the plan is a function of these.

    fleet: host names and GPU counts for the hostfile, None where nobody knows the count.
    peers: what the other hosts of a job showed in this run, by host; empty where no option asks for it.
    run_dir: folder of the run on the controller. lock, deepspeed_lock: text of the wheels' lock file and of DeepSpeed's, None when the site named none.
    local: the node is the controller itself, which cannot reboot itself and go on.
    """

    host: str
    run_dir: str
    profile: Profile
    catalog: Catalog
    snapshot: dict[str, t.Any]
    fleet: tuple[tuple[str, int | None], ...] = ()
    lock: str | None = None
    deepspeed_lock: str | None = None
    local: bool = False
    peers: t.Mapping[str, Peer] = dataclasses.field(default_factory=dict)

    @property
    def run_id(self) -> str:
        """Return the name of the run, which is that of its folder."""
        return self.run_dir.rpartition("/")[2]

    @functools.cached_property
    def release(self) -> dict[str, t.Any]:
        """Return the catalog's entry of the wanted release."""
        return self.catalog.release(self.profile["rocm_release"])

    @functools.cached_property
    def driver_release(self) -> dict[str, t.Any]:
        """Return the catalog's entry of the release that the driver is of: the wanted one, unless a site says other."""
        return self.catalog.release(self.profile["rocm_driver_release"] or self.profile["rocm_release"])

    @property
    def torch_packages(self) -> dict[str, str]:
        """Return torch and what goes with it, name to exact version: the site's own, else the release's."""
        return dict(self.profile["pytorch_packages"] or self.release["torch"]["packages"])

    @property
    def driver(self) -> dict[str, t.Any]:
        """Return the wanted driver: its path, version and package version."""
        return dict(self.driver_release["driver"])

    @functools.cached_property
    def gpu(self) -> dict[str, t.Any]:
        """Return the catalog's entry of the GPU model."""
        return self.catalog.gpu(self.profile["gpu_model"])

    @functools.cached_property
    def families(self) -> PackageFamilies:
        """Return the classifier of installed packages."""
        return families_of(self.catalog)

    @functools.cached_property
    def distribution(self) -> dict[str, t.Any]:
        """Return the catalog's entry of the node's distribution."""
        return self.catalog.distribution(self.area("os").get("id"))

    @functools.cached_property
    def codename(self) -> str:
        """Return the node's suite in the vendor's repositories, such as "jammy"."""
        return str(self.distribution["versions"][self.area("os")["version_id"]]["codename"])

    @functools.cached_property
    def suffix(self) -> str:
        """Return what AMD's versions end with on this distribution, such as "22.04"."""
        return str(self.distribution["versions"][self.area("os")["version_id"]]["suffix"])

    @functools.cached_property
    def packages(self) -> dict[str, dict[str, t.Any]]:
        """Return the rows of dpkg, by package."""
        return dict(self.area("dpkg").get("packages") or {})

    def area(self, name: str) -> dict[str, t.Any]:
        """Return an area of the snapshot, empty where it was not or could not be looked at."""
        return dict(self.snapshot.get(name) or {})

    def watched(self, path: str) -> dict[str, t.Any] | None:
        """Return what the snapshot says of a watched path."""
        return self.area("watch").get(path)

    def file_changes(self, files: t.Iterable[ManagedFile]) -> list[Change]:
        """Return the changes that a role's files need."""
        return [change for file in files if (change := file_change(file, self.watched(file.path)))]

    def installed(self, name: str) -> str | None:
        """Return the version of a package that is wholly installed, else None."""
        row = self.packages.get(name)
        return str(row["version"]) if row and row["status"][1:2] == "i" else None

    def missing(self, names: t.Iterable[str]) -> list[str]:
        """Return those of the named packages that are not wholly installed."""
        return [name for name in names if self.installed(name) is None]
