# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import ctypes

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.instinct.bringup.plugins.plugin_utils.env.registry import default_registry
from ansible_collections.instinct.bringup.plugins.plugin_utils.env.values import (
    Versions,
    as_integer,
    channels_limit,
    value_problem,
)


def problem(name: str, value: str, release: str = "5.4.2") -> str:
    registry = default_registry()
    state = registry.states(name, release)[0]
    return value_problem(state.variable, value, state.default, Versions(release, registry.torch(release)))


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("NCCL_BUFFSIZE", "4M", "read as 4: write 4194304"),
        ("NCCL_BUFFSIZE", "512 KB", "read as 512: write 524288"),
        ("NCCL_BUFFSIZE", "1.5", "read as 1"),
        ("NCCL_BUFFSIZE", "", "empty"),
        ("NCCL_BUFFSIZE", "0", "out of range"),
        ("NCCL_BUFFSIZE", "010", "octal, 8"),
        ("NCCL_BUFFSIZE", '"4194304"', "quotes become part"),
        ("NCCL_BUFFSIZE", "4194304\r", "CR LF"),
        ("NCCL_BUFFSIZE", " 4194304", "space"),
        ("NCCL_IB_DISABLE", "off", "read as 0"),
        ("NCCL_IB_DISABLE", "true", "read as 0"),
        ("NCCL_IB_DISABLE", "2", "write 0 or 1"),
        ("NCCL_MAX_NCHANNELS", "33", "from 1 to 32"),
        ("NCCL_MAX_NCHANNELS", "0", "from 1 to 32"),
        ("NCCL_IB_TC", "256", "from 0 to 255"),
        ("RCCL_P2P_NET_DISABLE", "-1", "write 0 or 1"),
        ("RCCL_INTRANET_THRESHOLD", "-1", "mark for a name that is not set"),
        ("NCCL_P2P_LEVEL", "NVL", "here the word is XGMI"),
        ("NCCL_P2P_LEVEL", "sys", "here the word is SYS"),
        ("NCCL_P2P_LEVEL", "FAR", "passed over"),
        ("NCCL_ALGO", "Ring,Star", "'Star' is none of"),
        ("NCCL_DEBUG", "LOUD", "none of"),
        ("NCCL_P2P_DISABLE", "yes", "only 1 counts"),
        ("HSA_FORCE_FINE_GRAIN_PCIE", "true", "only 1 counts"),
        ("HSA_OVERRIDE_GFX_VERSION", "9.0.a", "discovery of the GPUs fails"),
        ("HSA_OVERRIDE_GFX_VERSION", "gfx90a", "decimals"),
        ("HIP_VISIBLE_DEVICES", "0;1", "neither an index"),
        ("NCCL_SOCKET_IFNAME", "eth0,,eth1", "empty name"),
        ("NCCL_IB_HCA", "mlx5_0:x", "no adapter"),
        ("PYTORCH_HIP_ALLOC_CONF", "expandable_segments:True", "after PyTorch 2.0"),
        ("PYTORCH_HIP_ALLOC_CONF", "max_split_size_mb", "not key:value"),
        ("NCCL_COMM_ID", "gpu01", "host:port"),
    ],
)
def test_what_the_reader_does_not_take_as_it_looks(name: str, value: str, words: str) -> None:
    assert words in problem(name, value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("NCCL_BUFFSIZE", "4194304"),
        ("NCCL_BUFFSIZE", "0x400000"),
        ("NCCL_BUFFSIZE", "-2"),
        ("NCCL_IB_DISABLE", "1"),
        ("NCCL_IB_DISABLE", "0x1"),
        ("NCCL_MAX_NCHANNELS", "32"),
        ("NCCL_P2P_LEVEL", "XGMI"),
        ("NCCL_P2P_LEVEL", "3"),
        ("NCCL_ALGO", "^Tree"),
        ("NCCL_PROTO", "LL,Simple"),
        ("NCCL_DEBUG", "info"),
        ("NCCL_DEBUG_SUBSYS", "INIT,ENV"),
        ("NCCL_SOCKET_IFNAME", "^lo,docker"),
        ("NCCL_SOCKET_IFNAME", "=eth0"),
        ("NCCL_IB_HCA", "=mlx5_0:1,mlx5_1"),
        ("HIP_VISIBLE_DEVICES", "0,1"),
        ("ROCR_VISIBLE_DEVICES", "GPU-a1b2c3d4e5f60718"),
        ("HIP_VISIBLE_DEVICES", ""),
        ("HSA_OVERRIDE_GFX_VERSION", "9.0.10"),
        ("AMD_DIRECT_DISPATCH", "true"),
        ("NCCL_TOPO_FILE", "/etc/rccl/topology.xml"),
        ("PYTORCH_HIP_ALLOC_CONF", "max_split_size_mb:512,garbage_collection_threshold:0.8"),
    ],
)
def test_what_the_reader_takes(name: str, value: str) -> None:
    assert problem(name, value) == ""


def test_a_default_is_always_taken() -> None:
    assert problem("RCCL_FORCE_ENABLE_GDRDMA", "-1", "develop") == ""


@pytest.mark.parametrize(("release", "most"), [("5.2.0", 32), ("6.0.2", 32), ("6.1.0", 64), ("6.2.2", 128)])
def test_channels_are_bounded_by_the_build(release: str, most: int) -> None:
    assert channels_limit(release) == most
    assert problem("NCCL_MAX_NCHANNELS", str(most), release) == ""
    assert problem("NCCL_MAX_NCHANNELS", str(most + 1), release)


@settings(max_examples=40)
@given(st.from_regex(r"[ ]{0,2}[-+]?(0x|0|)[0-9a-fA-F]{0,6}[a-zA-Z]{0,2}", fullmatch=True))
def test_a_number_is_read_as_c_reads_it(text: str) -> None:
    library = ctypes.CDLL(None)
    library.strtoll.restype = ctypes.c_longlong
    library.strtoll.argtypes = [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_int]
    assert as_integer(text) == library.strtoll(text.encode(), None, 0)
