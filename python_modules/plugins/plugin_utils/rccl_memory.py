# SPDX-License-Identifier: Apache-2.0
"""Bound the device memory that RCCL takes on a rank, by the rules of its source.

A connection is one channel, one neighbour and one direction (transport/p2p.cc). Its receiving side
holds a head and the buffers of three protocols, its sending side only a head; each is rounded up to
the 2 MiB of an IPC allocation. A communicator pays for all its connections, and a framework makes
one communicator for each process group.

Not counted: network peers, kernels' scratch and code, the HIP context, and what send and receive
(all-to-all) connect when they are first used.
"""

from __future__ import annotations

import dataclasses
import typing as t

MIB = 1024 * 1024
DEFAULT_BUFFSIZE = 4 * MIB
LEAST_CHANNELS = 2

_HEAD = 4096
_LL = 8 * 256 * 8 * 16
_LL128 = 28 * 256 * 8 * 8
_UNIT = 2 * MIB
# A rank of one node has a neighbour before and after it in the ring, and one above and one below it
# in the tree, which is a chain there. Each side of the ring may be a third peer beside the two of the tree.
_MOST_PEERS = 3


@dataclasses.dataclass(frozen=True)
class MemoryBounds:
    """Hold the least and the most MiB a rank takes for one communicator."""

    least_mib: int
    most_mib: int


def connection_bytes(buffsize: int = DEFAULT_BUFFSIZE) -> tuple[int, int]:
    """Return the bytes of the receiving and the sending side of a connection. buffsize: NCCL_BUFFSIZE."""
    return _rounded(_HEAD + _LL + _LL128 + buffsize), _rounded(_HEAD)


def channel_limits(rccl_version: str, max_nchannels: int | None = None) -> tuple[int, int]:
    """Return the fewest and the most channels that RCCL may use, within NCCL_MAX_NCHANNELS."""
    version = tuple(int(part) for part in rccl_version.split("."))
    # MAXCHANNELS: 32 up to ROCm 6.0 (RCCL 2.18.3), 64 in 6.1 (2.18.6), 128 from 6.2 (2.20.5) on.
    built_in = 32 if version < (2, 18, 6) else 64 if version < (2, 20) else 128
    most = built_in if max_nchannels is None else min(max_nchannels, built_in)
    return min(LEAST_CHANNELS, most), most


def collective_bounds(ranks: int, channels: tuple[int, int], buffsize: int = DEFAULT_BUFFSIZE) -> MemoryBounds:
    """Return what the rings and trees of one communicator take on a rank of a single node.

    channels: the fewest and the most that RCCL may use, twice the same where it is known.
    Each channel has at least the two neighbours of the ring, which with two ranks are one peer.
    """
    if ranks < 2:
        return MemoryBounds(0, 0)
    receive, send = connection_bytes(buffsize)
    each = (receive + send) // MIB
    fewest, most = channels
    return MemoryBounds(fewest * each, most * min(ranks - 1, _MOST_PEERS) * each)


def memory_note(ranks: int, rccl_version: str, variables: t.Mapping[str, str]) -> str:
    """Return a sentence for the plan on what the variables of a profile mean in memory.

    variables: name to value; NCCL_BUFFSIZE and NCCL_MAX_NCHANNELS count.
    """
    channels = channel_limits(rccl_version, _number(variables.get("NCCL_MAX_NCHANNELS")))
    size = _number(variables.get("NCCL_BUFFSIZE")) or DEFAULT_BUFFSIZE
    bounds = collective_bounds(ranks, channels, size)
    return (
        f"RCCL's rings and trees take {bounds.least_mib} to {bounds.most_mib} MiB of device memory on each of {ranks} "
        f"ranks for one communicator ({channels[0]} to {channels[1]} channels, NCCL_BUFFSIZE {size}); network peers, "
        "all-to-all and further communicators come on top"
    )


def _number(text: str | None) -> int | None:
    return None if text is None else int(text)


def _rounded(size: int) -> int:
    return -(-size // _UNIT) * _UNIT
