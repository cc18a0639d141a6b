# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Callable

import pytest

from ansible_collections.instinct.bringup.plugins.module_utils.pci_config import (
    ConfigError,
    access_control,
    atomics,
    port_type,
)

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


def with_extended(config: Config, control: int) -> bytes:
    space = bytearray(config(4))
    space[0x100:0x104] = (0x0001 | 0x2A0 << 20).to_bytes(4, "little")
    space[0x2A0:0x2A4] = (0x000D | 1 << 16).to_bytes(4, "little")
    space[0x2A6:0x2A8] = control.to_bytes(2, "little")
    return bytes(space)


@pytest.mark.parametrize(
    ("control", "switched_on"),
    [
        (0, set()),
        (0x01, {"source_validation"}),
        (0x1D, {"source_validation", "request_redirect", "completion_redirect", "upstream_forwarding"}),
        (0x04, {"request_redirect"}),
    ],
)
def test_access_control(config: Config, control: int, switched_on: set[str]) -> None:
    found = access_control(with_extended(config, control))
    assert found is not None
    assert {name for name, on in found.items() if on} == switched_on


def test_a_port_without_access_control_is_not_one_that_hides_it(config: Config) -> None:
    assert access_control(config(5)) is None
    assert access_control(config(None)) is None
    with pytest.raises(ConfigError, match="for root"):
        access_control(config(4)[:64])
    with pytest.raises(ConfigError, match="only 256 bytes"):
        access_control(config(4)[:256])
    with pytest.raises(ConfigError, match="leads to"):
        access_control(changed(with_extended(config, 0), 0x103, 0x10))


def test_atomics(config: Config) -> None:
    space = bytearray(config(4))
    space[0x64 + 0x24 : 0x64 + 0x28] = (0x40 | 0x80 | 0x100).to_bytes(4, "little")
    assert atomics(bytes(space)) == {
        "routing": True, "completer_32": True, "completer_64": True, "requester": False,
    }  # fmt: skip
    assert atomics(config(None)) is None
    with pytest.raises(ConfigError, match="cut short"):
        atomics(bytes(space[:0x80]))
