# SPDX-License-Identifier: Apache-2.0
"""Estimate the device and host memory that training a model takes, part by part.

Training in bfloat16 with Adam keeps, for each parameter, 2 bytes of weight, 2 of gradient, and 12 in
single precision: the weight, the momentum and the variance. ZeRO divides them among the GPUs, stage by
stage; FSDP keeps weight and gradient in single precision and divides them within its group.

Not counted: HIP's context, kernels, PyTorch's own caching, gathered units of FSDP, which depend on how a
model is wrapped. So what does not fit here does not fit, and what only just fits may not.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ansible_collections.instinct.bringup.plugins.plugin_utils.deepspeed.sizes import BUCKET_BYTES, GIB, HALF, Sizes

SINGLE = 4
# The weight, the momentum and the variance in single precision.
OPTIMIZER = 12
# Bytes a parameter that offload keeps in host memory: the optimizer's, a gradient in single precision, the weight.
HOST = OPTIMIZER + SINGLE + HALF
# DeepSpeed steps stage 3 by groups of so many parameters, which is its default.
SUB_GROUP = 1_000_000_000
# A job of more nodes than this is not proposed.
MOST_NODES = 1024


@dataclasses.dataclass(frozen=True)
class Job:
    """Hold what a job is. activation_bytes: of one micro batch on one GPU, as somebody measured it; 0 is not counted.

    world: GPUs of the job. node_gpus: those of this node. rccl_bytes: RCCL's buffers for one communicator, at most.
    """

    parameters: int
    world: int
    node_gpus: int
    activation_bytes: int = 0
    rccl_bytes: int = 0


@dataclasses.dataclass(frozen=True)
class Estimate:
    """Hold what a config takes: parts of one GPU's memory, in bytes by name, and the bytes of the node's own memory."""

    name: str
    parts: tuple[tuple[str, int], ...]
    host_bytes: int = 0

    @property
    def total(self) -> int:
        """Return the bytes of one GPU."""
        return sum(size for _name, size in self.parts)

    def describe(self, card_bytes: int) -> str:
        """Return the parts and their sum beside what a card has, as a sentence without its end."""
        parts = ", ".join(f"{name} {gib(size)}" for name, size in self.parts if size)
        host = f"; {gib(self.host_bytes)} GiB of the node's own memory" if self.host_bytes else ""
        return f"{self.name}: {parts} = {gib(self.total)} of {gib(card_bytes)} GiB{host}"


def estimate(job: Job, sizes: Sizes) -> list[Estimate]:
    """Return an estimate for each config, those that take most of the card first."""
    return [_zero2(job, sizes), _zero3(job, sizes), _offload(job, sizes), _fsdp(job)]


def gib(size: float) -> str:
    """Return bytes in GiB with one decimal."""
    return f"{size / GIB:.1f}"


def _share(job: Job, each: int, among: int) -> int:
    return -(-job.parameters * each // among)


def _working(job: Job, step: int) -> list[tuple[str, int]]:
    """Return what comes and goes: activations until the backward pass is done, then what the step converts."""
    if job.activation_bytes >= step:
        return [("activations", job.activation_bytes)]
    return [("the step's gradients in single precision", step)]


def _zero2(job: Job, sizes: Sizes) -> Estimate:
    parts = [
        ("parameters", job.parameters * HALF),
        ("gradients", _share(job, HALF, job.world)),
        ("optimizer", _share(job, OPTIMIZER, job.world)),
        ("buckets", BUCKET_BYTES * sizes.bucket),
        *_working(job, _share(job, SINGLE, job.world)),
        ("RCCL", job.rccl_bytes),
    ]
    return Estimate("zero2", tuple(parts))


def _gathered(job: Job, sizes: Sizes) -> list[tuple[str, int]]:
    live = min(sizes.live_parameters, job.parameters)
    return [("gathered parameters", live * HALF), ("buckets", sizes.bucket * HALF)]


def _zero3(job: Job, sizes: Sizes) -> Estimate:
    step = SINGLE * min(SUB_GROUP, _share(job, 1, job.world))
    parts = [
        ("parameters", _share(job, HALF, job.world)),
        ("gradients", _share(job, HALF, job.world)),
        ("optimizer", _share(job, OPTIMIZER, job.world)),
        *_gathered(job, sizes),
        *_working(job, step),
        ("RCCL", job.rccl_bytes),
    ]
    return Estimate("zero3", tuple(parts))


def _offload(job: Job, sizes: Sizes) -> Estimate:
    parts = [*_gathered(job, sizes), ("activations", job.activation_bytes), ("RCCL", job.rccl_bytes)]
    return Estimate("zero3_offload", tuple(parts), _share(job, HOST * job.node_gpus, job.world))


def _fsdp(job: Job) -> Estimate:
    """Divide among the GPUs of a node; the nodes hold copies. Two communicators: the node's, and the one between."""
    parts = [
        ("parameters", _share(job, SINGLE, job.node_gpus)),
        ("gradients", _share(job, SINGLE, job.node_gpus)),
        ("optimizer", _share(job, OPTIMIZER - SINGLE, job.node_gpus)),
        ("activations", job.activation_bytes),
        ("RCCL", 2 * job.rccl_bytes),
    ]
    return Estimate("fsdp", tuple(parts))


class Limits(t.NamedTuple):
    """What there is: bytes of a card, and of host memory that a job may take, None where nobody knows."""

    card: int
    host: int | None


def fits(found: Estimate, limits: Limits) -> bool:
    """Say whether an estimate is within what there is. What nobody knows refuses nothing."""
    return found.total <= limits.card and (limits.host is None or found.host_bytes <= limits.host)


def smallest_change(job: Job, sizes: Sizes, limits: Limits) -> str:
    """Return what would make a model fit that no config fits, the least of its kind each."""
    ways = []
    for name in ("zero3_offload", "zero3"):
        nodes = _nodes(name, job, sizes, limits)
        if nodes is not None:
            ways.append(f"{nodes} nodes of {job.node_gpus} GPUs with {name}")
    less = _parameters(job, sizes, limits)
    if less:
        ways.append(f"a model of at most {less / 1e9:.1f} billion parameters on these {job.world} GPUs")
    calm = dataclasses.replace(job, activation_bytes=0)
    bare = [found for found in estimate(calm, sizes) if fits(found, limits)]
    if job.activation_bytes and bare:
        least = min(bare, key=lambda found: found.total)
        room = gib(limits.card - least.total)
        ways.insert(0, f"activations of at most {room} GiB with {least.name}: a smaller micro batch or checkpointing")
    host = _host(job, sizes, limits)
    if host is not None:
        ways.insert(0, f"{gib(host)} GiB of host memory a node with zero3_offload")
    return ", or ".join(ways) or "GPUs with more memory"


def _named(name: str, job: Job, sizes: Sizes) -> Estimate:
    return next(found for found in estimate(job, sizes) if found.name == name)


def _nodes(name: str, job: Job, sizes: Sizes, limits: Limits) -> int | None:
    """Return the fewest nodes like this one on which a config fits, None where more do not help."""
    for nodes in range(1, MOST_NODES + 1):
        larger = dataclasses.replace(job, world=nodes * job.node_gpus)
        if larger.world >= job.world and fits(_named(name, larger, sizes), limits):
            return nodes
    return None


def _parameters(job: Job, sizes: Sizes, limits: Limits) -> int:
    """Return the parameters of the largest model that some config fits, 0 where there is none."""
    least, most = 0, job.parameters
    while most - least > 1_000_000:
        middle = (least + most) // 2
        smaller = dataclasses.replace(job, parameters=middle)
        if any(fits(found, limits) for found in estimate(smaller, sizes)):
            least = middle
        else:
            most = middle
    return least


def _host(job: Job, sizes: Sizes, limits: Limits) -> int | None:
    """Return the host memory that offload would take where only that is missing."""
    found = _named("zero3_offload", job, sizes)
    return found.host_bytes if found.total <= limits.card and not fits(found, limits) else None
