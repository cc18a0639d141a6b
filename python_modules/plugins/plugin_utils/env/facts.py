# SPDX-License-Identifier: Apache-2.0
"""Tell from a node what the profiles ask: its devices by name, and whether its cards are bridged."""

from __future__ import annotations

import collections.abc as c
import dataclasses
import functools
import re
import typing as t

from ansible_collections.instinct.bringup.plugins.plugin_utils.env.host import Host, host_from

AUTO = "auto"
# Where a node's interfaces cannot be named: all but the loopback and those of containers and machines.
EXCLUDED = "^lo,docker,veth,virbr"
# Names of interfaces that containers and virtual machines make as they come and go.
_PASSING = (
    *("lo", "docker", "veth", "virbr", "br-", "cni", "podman", "flannel", "cali", "tap", "tun", "vnet", "lxc", "kube"),
    *("wg", "dummy", "ifb", "sit", "gre", "erspan", "ip6tnl", "ip_vti", "nlmon"),
)
# What all five files carry alike. DeepSpeed hands its lines to a shell, in old releases without quotes.
VALUE = re.compile(r"[A-Za-z0-9_./:,^=+@%-]+")
# The kernel takes almost anything as the name of a device. Such a name is not written where a shell would read it.
_DEVICE = re.compile(r"[A-Za-z0-9_.+@%-]+")


@dataclasses.dataclass(frozen=True)
class NodeFacts:
    """What the profiles are filled in from. topology_file: path of the node's own, None without one."""

    snapshot: c.Mapping[str, t.Any]
    options: c.Mapping[str, t.Any]
    topology_file: str | None = None

    @functools.cached_property
    def host(self) -> Host:
        """Return the node's devices."""
        return host_from(self.snapshot)

    @property
    def fill(self) -> dict[str, str]:
        """Return what stands in braces in the catalog's values."""
        return {
            "socket_ifname": self._socket_ifname,
            "ib_hca": self._ib_hca,
            "topology_file": self.topology_file or "",
        }

    def holds(self, condition: str) -> bool | None:
        """Say whether a condition of the catalog holds; None where the node could not be looked at.

        :raises KeyError: no such condition.
        """
        hives = [gpu.hive for gpu in self.host.gpus or ()]
        known = bool(hives) and None not in hives
        answers = {
            "topology_file": self.topology_file is not None,
            "unbridged": 0 in hives if known else None,
            "bridged": 0 not in hives if known else None,
            "hca": bool(self._ib_hca),
        }
        return answers[condition]

    @property
    def _socket_ifname(self) -> str:
        """Return the site's choice, else the node's interfaces by name, without those that come and go.

        RCCL passes over one that has no address. One that is down is named too: a cable that is
        pulled must not change a file.
        """
        given = str(self.options["rccl_socket_ifname"])
        if given != AUTO:
            return given
        lasting = [name for name in _plain(self.host.interfaces or ()) if not name.startswith(_PASSING)]
        return "=" + ",".join(sorted(lasting)) if lasting else EXCLUDED

    @property
    def _ib_hca(self) -> str:
        given = str(self.options["rccl_ib_hca"])
        if given != AUTO:
            return given
        names = _plain(self.host.hcas or ())
        return "=" + ",".join(sorted(names)) if names else ""


def _plain(names: c.Iterable[str]) -> list[str]:
    return [name for name in names if _DEVICE.fullmatch(name)]
