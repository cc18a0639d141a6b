# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from ansible_collections.instinct.bringup.plugins.plugin_utils.env.names import Names
from ansible_collections.instinct.bringup.plugins.plugin_utils.env.registry import default_registry


def names(release: str = "5.4.2") -> Names:
    return Names(default_registry(), release)


@pytest.mark.parametrize(
    ("name", "verdict", "instead"),
    [
        ("RCCL_BUFFSIZE", "unread", "NCCL_BUFFSIZE"),
        ("RCCL_TOPO_FILE", "unread", "NCCL_TOPO_FILE"),
        ("RCCL_SOCKET_IFNAME", "unread", "NCCL_SOCKET_IFNAME"),
        ("RCCL_MAX_NCHANNELS", "unread", "NCCL_MAX_NCHANNELS"),
        ("RCCL_ENABLE_CLIQUE", "obsolete", ""),
        ("HSA_CACHE_SIZE", "unread", ""),
        ("HCCL_IPC_ACCEPT_WAIT_TIME", "unread", ""),
        ("HSA_FORCE_FINE_GRAIN_PCIE", "ok", ""),
        ("HIP_PLATFORM", "build_time_only", ""),
        ("HIP_PATH", "build_time_only", ""),
        ("HIP_RUNTIME", "build_time_only", ""),
        ("PYTORCH_ROCM_ARCH", "build_time_only", ""),
    ],
)
def test_the_popular_recipe(name: str, verdict: str, instead: str) -> None:
    judged = names().judge(name)
    assert judged is not None
    assert (judged.verdict, judged.use_instead) == (verdict, instead)


@pytest.mark.parametrize("release", ["5.2.3", "5.3.0", "5.4.2", "5.7.1", "6.2.2"])
def test_clique_is_obsolete_from_5_2_3_on(release: str) -> None:
    judged = names(release).judge("RCCL_ENABLE_CLIQUE")
    assert judged is not None
    assert judged.verdict == "obsolete"


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("CCL_NET_GDR_LEVEL", "NCCL_NET_GDR_LEVEL"),
        ("NCCL_SOCKETIF_NAME", "NCCL_SOCKET_IFNAME"),
        ("NCCL_MIN_NCHANNEL", "NCCL_MIN_NCHANNELS"),
        ("NCLL_DEBUG_SUBSYS", "NCCL_DEBUG_SUBSYS"),
        ("HIP_VISBLE_DEVICES", "HIP_VISIBLE_DEVICES"),
        ("ROCM_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"),
        ("HAS_OVERRIDE_GFX_VERSION", "HSA_OVERRIDE_GFX_VERSION"),
        ("NCCL_DBEUG", "NCCL_DEBUG"),
    ],
)
def test_a_slip_of_the_pen_is_told_with_the_name_that_was_meant(written: str, meant: str) -> None:
    judged = names().judge(written)
    assert judged is not None
    assert (judged.verdict, judged.use_instead) == ("typo", meant)


@pytest.mark.parametrize(
    ("name", "release", "verdict", "words"),
    [
        pytest.param("NCCL_NO_SUCH_SWITCH", "5.4.2", "unread", "no such name", id="closed prefix"),
        pytest.param("UCX_NO_SUCH_SWITCH", "5.4.2", "unknown", "may read it", id="open prefix"),
        pytest.param("RCCL_MSCCL_ENABLE", "5.4.2", "not_yet", "from 5.5.0 on", id="not yet"),
        pytest.param("HIP_LAUNCH_BLOCKING", "5.4.2", "not_yet", "6.1.0", id="not yet, with what does it"),
        pytest.param("NCCL_GROUP_CUDA_STREAM", "5.4.2", "unread", "nothing asks", id="no caller"),
        pytest.param("GPU_ENABLE_HW_DEBUG", "5.4.2", "unread", "debug builds", id="debug builds"),
        pytest.param("NCCL_LL128_FORCE_ENABLE", "5.4.2", "unread", "RCCL_LL128_FORCE_ENABLE", id="the other prefix"),
        pytest.param("NCCL_BUFFSIZE", "7.1.0", "unknown", "unknown for this release", id="beyond"),
        pytest.param("RCCL_BUFFSIZE", "7.1.0", "unknown", "unknown for this release", id="dead, beyond"),
        pytest.param("NCCL_NO_SUCH_SWITCH", "7.1.0", "unknown", "unknown for this release", id="closed, beyond"),
        pytest.param("HCCL_OTHER", "5.4.2", "unread", "another vendor", id="another vendor"),
        pytest.param("NCL_COMPLETELY_ELSE", "5.4.2", "unknown", "has one like it", id="nearly a prefix"),
    ],
)
def test_names_that_are_not_simply_read(name: str, release: str, verdict: str, words: str) -> None:
    judged = names(release).judge(name)
    assert judged is not None
    assert judged.verdict == verdict
    assert words in judged.message + judged.use_instead


@pytest.mark.parametrize("name", ["PATH", "HOME", "LANG", "SLURM_JOB_ID", "OMP_NUM_THREADS", "MY_SETTING", "nccl"])
def test_other_names_are_not_judged(name: str) -> None:
    assert names().judge(name) is None


@pytest.mark.parametrize("release", ["5", "5.4", "5.4.2", "develop"])
def test_a_release_is_numbers_with_dots(release: str) -> None:
    assert names(release).release == release


def test_another_release_is_refused() -> None:
    with pytest.raises(ValueError, match="invalid literal"):
        names("five")
