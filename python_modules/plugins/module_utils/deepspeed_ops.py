# SPDX-License-Identifier: Apache-2.0
"""Compile and load ops of DeepSpeed's as a job would, in a cache of their own. Minutes long: only on request."""

from __future__ import annotations

import json
from typing import Any, Callable, Dict, NamedTuple, Optional

from ansible_collections.instinct.bringup.plugins.module_utils.command_runner import Result
from ansible_collections.instinct.bringup.plugins.module_utils.probe import ProbeError
from ansible_collections.instinct.bringup.plugins.module_utils.text import Tree

SECONDS = 900
# What stands before the answer: DeepSpeed and the compilers print as they like.
MARK = "instinct-ops:"
_LINE = 300
# The venv's own interpreter runs this as the job's user.
SCRIPT = (
    r"""
import json, os, sys, tempfile
answer = os.dup(1)
os.dup2(2, 1)
ops = {}
with tempfile.TemporaryDirectory() as cache:
    os.environ["TORCH_EXTENSIONS_DIR"] = cache
    import torch
    gpus = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if not gpus:
        os.environ.setdefault("DS_ACCELERATOR", "cpu")
    import deepspeed
    from deepspeed.accelerator import get_accelerator
    for name, builder in (("fused_adam", "FusedAdamBuilder"), ("cpu_adam", "CPUAdamBuilder")):
        try:
            made = get_accelerator().create_op_builder(builder)
            ops[name] = {"loads": False, "error": "this accelerator has no such op"}
            if made is not None and not type(made).__name__.startswith("NotImplemented"):
                made.load()
                ops[name] = {"loads": True, "error": None}
        except BaseException as error:
            lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
            told = [line for line in lines if "error:" in line.lower() or "not found" in line.lower()]
            ops[name] = {"loads": False, "error": (told or lines)[0]}
os.write(answer, ("\n" + "%s" + json.dumps({"gpus": gpus, "version": deepspeed.__version__, "ops": ops})).encode())
"""
).replace("%s", MARK)

Json = Dict[str, Any]
# Takes a command and the seconds it may take. Raises ProbeError.
LongProbe = Callable[..., Result]


class OpsRequest(NamedTuple):
    """Whose jobs, in which venv, for which ROCm (a folder) and GPU (its gfx name)."""

    user: str
    venv: str
    rocm_home: str
    arch: str


def read_ops(tree: Tree, probe: LongProbe, request: OpsRequest) -> Optional[Json]:
    """Return {"gpus", "version", "ops": {name: {"loads", "error"}}}, None and a problem where nothing answered."""
    python = request.venv + "/bin/python"
    if not tree.exists(python):
        tree.problem("deepspeed_ops", python, "there is no such interpreter")
        return None
    path = request.venv + "/bin:" + request.rocm_home + "/bin:/usr/local/bin:/usr/bin:/bin"
    environment = ["PATH=" + path, "ROCM_HOME=" + request.rocm_home, "PYTORCH_ROCM_ARCH=" + request.arch]
    # timeout ends the compilers too, which a killed interpreter would leave behind.
    argv = ["/usr/bin/timeout", "-k", "10", str(SECONDS), "/usr/sbin/runuser", "-u", request.user, "--"]
    argv += ["/usr/bin/env", *environment, python, "-c", SCRIPT]
    try:
        done = probe(argv, SECONDS + 20)
    except ProbeError as error:
        tree.problem("deepspeed_ops", python, str(error))
        return None
    answer = parse_answer(done.out)
    if answer is None:
        said = done.err.strip().splitlines() or ["it said nothing"]
        why = "no answer after %d seconds" % SECONDS if done.rc == 124 else "exit code %d: %s" % (done.rc, said[-1])
        tree.problem("deepspeed_ops", python, why[:_LINE])
    return answer


def parse_answer(out: str) -> Optional[Json]:
    """Return what the script said, None where it did not say it whole. The venv's code is the site's, its words are not."""
    _, mark, text = out.rpartition(MARK)
    try:
        said: Json = json.loads(text) if mark else {}
        gpus, version, ops = int(said["gpus"]), str(said["version"]), dict(said["ops"])
        read = {
            str(name): {"loads": op["loads"] is True, "error": str(op["error"])[:_LINE] if op["error"] else None}
            for name, op in ops.items()
        }
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    return {"gpus": gpus, "version": version, "ops": read}
