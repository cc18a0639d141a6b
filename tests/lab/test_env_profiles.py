# SPDX-License-Identifier: Apache-2.0
"""The five files of a profile give one environment, each to the program that reads it."""

from __future__ import annotations

import base64
import json
import re

import pytest

from .conftest import Lab, Playbook, Run

pytestmark = pytest.mark.lab
NODE = "node2"
PROFILE = {"rccl_profile": "low_memory", "rccl_extra_env": {"NCCL_IB_TC": 106, "NCCL_NET_PLUGIN": "none"}}
# What a shell, a unit and Python have without any file of ours.
BARE = {
    "PATH",
    "LC_CTYPE",
    "PWD",
    "SHLVL",
    "_",
    "LANG",
    "HOME",
    "LOGNAME",
    "USER",
    "SHELL",
    "INVOCATION_ID",
    "SYSTEMD_EXEC_PID",
}
# RCCL's own way with its file: everything before the first = is the name, and what is set already stays.
BY_RCCL = """
import os
for line in open("/etc/rccl.conf"):
    name, equals, value = line.rstrip("\\n").partition("=")
    if equals and name not in os.environ:
        os.environ[name] = value
os.execvp("env", ["env", "-0"])
"""
# DeepSpeed's launcher: a line without = ends it.
BY_DEEPSPEED = """
import os
for line in open("/etc/rccl/deepspeed_env"):
    name, value = line.split("=", maxsplit=1)
    os.environ[name.strip()] = value.strip()
os.execvp("env", ["env", "-0"])
"""


@pytest.fixture
def applied(lab: Lab, playbook: Playbook) -> Run:
    """Return the run that wrote a profile with a site's additions to a node."""
    run = playbook("site.yml", "--limit", NODE, bringup_only=["rccl"], **PROFILE)
    assert "unreachable=0" in run.output, run.output
    return run


def environment(lab: Lab, script: str) -> dict[str, str]:
    """Return what a command that prints NUL-ended entries has beyond what every shell has."""
    shown = lab.on(NODE, f"{script} | base64 -w0")
    entries = base64.b64decode(shown.strip().splitlines()[-1]).decode().split("\0")
    pairs = (entry.partition("=") for entry in entries if entry)
    return {name: value for name, _equals, value in pairs if name not in BARE}


def test_every_reader_gets_the_same_environment(lab: Lab, applied: Run) -> None:
    shell = environment(lab, "env -i PATH=/usr/bin:/bin bash -c '. /etc/profile.d/rccl.sh; env -0'")
    unit = environment(
        lab, "systemd-run --quiet --pipe --wait --collect -p EnvironmentFile=/etc/rccl/rccl.env /usr/bin/env -0"
    )
    lab.on(
        NODE, f"cat > /tmp/by_rccl.py <<'EOF'\n{BY_RCCL}\nEOF\ncat > /tmp/by_deepspeed.py <<'EOF'\n{BY_DEEPSPEED}\nEOF"
    )
    rccl = environment(lab, "env -i PATH=/usr/bin:/bin /usr/bin/python3 /tmp/by_rccl.py")
    deepspeed = environment(lab, "env -i PATH=/usr/bin:/bin /usr/bin/python3 /tmp/by_deepspeed.py")
    lua = dict(re.findall(r'^setenv\("(\w+)", "([^"]*)"\)$', lab.on(NODE, "cat /etc/rccl/modulefiles/rccl.lua"), re.M))
    assert shell == unit == rccl == deepspeed == lua
    assert shell["NCCL_MAX_NCHANNELS"] == "2"
    assert shell["NCCL_IB_TC"] == "106"
    assert "VISIBLE_DEVICES" not in "".join(shell)


def test_the_real_environment_wins_over_the_file(lab: Lab, applied: Run) -> None:
    lab.on(NODE, f"cat > /tmp/by_rccl.py <<'EOF'\n{BY_RCCL}\nEOF")
    held = environment(lab, "env -i PATH=/usr/bin:/bin NCCL_MAX_NCHANNELS=8 /usr/bin/python3 /tmp/by_rccl.py")
    assert held["NCCL_MAX_NCHANNELS"] == "8"


def test_the_lint_finds_nothing_in_any_of_them(lab: Lab, applied: Run, playbook: Playbook) -> None:
    for path in ("/etc/rccl.conf", "/etc/profile.d/rccl.sh", "/etc/rccl/rccl.env", "/etc/rccl/deepspeed_env"):
        run = playbook("playbooks/lint-env.yml", "--limit", NODE, path=path)
        assert run.code == 0, run.output


def test_a_second_run_changes_nothing(applied: Run, playbook: Playbook) -> None:
    again = playbook("site.yml", "--limit", NODE, bringup_only=["rccl"], **PROFILE)
    assert "changed=0" in again.output


def test_a_dead_name_on_the_node_is_found(lab: Lab, applied: Run, playbook: Playbook) -> None:
    lab.on(NODE, "echo 'export RCCL_BUFFSIZE=4M NCCL_MIN_NCHANNEL=4' > /etc/profile.d/zz-site.sh")
    try:
        run = playbook("playbooks/verify.yml", "--limit", NODE, **PROFILE)
        linted = playbook("playbooks/lint-env.yml", "--limit", NODE, path="/etc/profile.d/zz-site.sh")
    finally:
        lab.on(NODE, "rm -f /etc/profile.d/zz-site.sh")
    told = {
        check["subject"]: check for check in run.results["nodes"][NODE]["checks"] if check["id"] == "env.unknown_var"
    }
    assert told["RCCL_BUFFSIZE"]["outcome"] == "warn"
    assert told["RCCL_BUFFSIZE"]["evidence"] == "/etc/profile.d/zz-site.sh:1"
    assert told["NCCL_MIN_NCHANNEL"]["observed"] == "typo"
    assert linted.code != 0


@pytest.mark.parametrize(
    ("extra", "words"),
    [({"RCCL_BUFFSIZE": 1}, "NCCL_BUFFSIZE is the name"), ({"NCCL_BUFFSIZE": "4M"}, "write 4194304")],
    ids=["unread", "value"],
)
def test_an_addition_without_effect_is_refused_before_anything_is_changed(
    playbook: Playbook, extra: dict[str, object], words: str
) -> None:
    run = playbook("site.yml", "--limit", NODE, bringup_only=["rccl"], rccl_extra_env=extra)
    assert run.code != 0
    assert run.results["nodes"][NODE]["verdict"] == "refused"
    assert words in json.dumps(run.results["nodes"][NODE])
