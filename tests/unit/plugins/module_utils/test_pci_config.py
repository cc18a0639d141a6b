# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Callable

import pytest

from ansible_collections.instinct.bringup.plugins.module_utils.pci_config import ConfigError, port_type

Config = Callable[..., bytes]


def changed(space: bytes, offset: int, value: int) -> bytes:
    return space[:offset] + bytes((value,)) + space[offset + 1 :]


@pytest.mark.parametrize(
    ("number", "name"),
    [(4, "root_port"), (5, "switch_upstream"), (6, "switch_downstream"), (0, None), (7, None)],
    ids=["root port", "upstream", "downstream", "endpoint", "PCI bridge"],
)
def test_port_types(config: Config, number: int, name: str | None) -> None:
    assert port_type(config(number)) == name


def test_a_conventional_function_has_no_port_type(config: Config) -> None:
    assert port_type(config(None)) is None
    assert port_type(changed(config(4), 6, 0)) is None


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        pytest.param(lambda space: space[:64], "only 64 bytes .* for root", id="what others than root get"),
        pytest.param(lambda space: space[:10], "10 bytes of configuration space", id="cut short"),
        pytest.param(lambda space: b"", "0 bytes", id="empty"),
        pytest.param(lambda space: b"\xff" * 256, "does not answer", id="fell off the bus"),
        pytest.param(lambda space: changed(space, 0x49, 0x48), "leads to 0x48", id="list in a circle"),
        pytest.param(lambda space: changed(space, 0x34, 0x10), "leads to 0x10", id="list into the header"),
        pytest.param(lambda space: changed(space, 0x49, 0xFC)[:200], "beyond 200 bytes", id="list beyond the end"),
    ],
)
def test_a_space_that_does_not_tell(config: Config, damage: Callable[[bytes], bytes], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        port_type(damage(config(4)))
