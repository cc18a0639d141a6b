# SPDX-License-Identifier: Apache-2.0
"""Choose the sizes of the configs from the card, the node's memory and the model."""

from __future__ import annotations

import dataclasses
import typing as t

from ansible_collections.instinct.bringup.plugins.plugin_utils.deepspeed.errors import ConfigError

GIB = 1024**3
# DeepSpeed's own defaults, which nothing needs to be above.
MOST_BUCKET = 500_000_000
MOST_LIVE = 1_000_000_000
PERSISTENCE = 100_000
# Buckets may take this part of a card, and parameters that are gathered at once that part.
BUCKET_SHARE = 64
LIVE_SHARE = 16
# Bytes of an element of the reduction's two buffers and the gathering's one, in half precision.
BUCKET_BYTES = 6
HALF = 2
# A need above this part of the host's memory is not pinned: pinned pages cannot be reclaimed or moved.
PIN_SHARE = 0.6


@dataclasses.dataclass(frozen=True)
class Sizes:
    """Hold what the configs are rendered from. bucket, live_parameters and persistence count elements."""

    micro_batch: int
    accumulation: int
    bucket: int
    live_parameters: int
    persistence: int
    pin_memory: bool


def make_sizes(options: t.Mapping[str, t.Any], card_bytes: int, pin_memory: bool) -> Sizes:
    """Return the sizes for a card of so many bytes.

    options: deepspeed_micro_batch, deepspeed_gradient_accumulation and deepspeed_bucket_size, 0 for one by the card.

    :raises ConfigError: an option is not a whole number above 0.
    """
    given = options["deepspeed_bucket_size"]
    bucket = (
        bucket_of(card_bytes) if given == 0 and not isinstance(given, bool) else whole(options, "deepspeed_bucket_size")
    )
    return Sizes(
        micro_batch=whole(options, "deepspeed_micro_batch"),
        accumulation=whole(options, "deepspeed_gradient_accumulation"),
        bucket=bucket,
        live_parameters=min(MOST_LIVE, card_bytes // LIVE_SHARE // HALF),
        persistence=PERSISTENCE,
        pin_memory=pin_memory,
    )


def bucket_of(card_bytes: int) -> int:
    """Return the elements of a bucket for a card: 1, 2 or 5 times a power of ten, so that people can read it."""
    most = min(MOST_BUCKET, card_bytes // BUCKET_SHARE // BUCKET_BYTES)
    steps: list[int] = [digit * 10**power for power in range(6, 9) for digit in (1, 2, 5)]
    return max((step for step in steps if step <= most), default=steps[0])


def whole(options: t.Mapping[str, t.Any], name: str) -> int:
    """Return an option that is a whole number above 0.

    :raises ConfigError: it is not.
    """
    value: t.Any = options[name]
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ConfigError(f"{name} is {value!r}; it must be a whole number above 0")
    return int(value)
