# SPDX-License-Identifier: Apache-2.0
"""Judge a node: named checks, pure functions of profile, catalog, snapshot and plan.

To add a check, write a function in the file of its area, decorate it with ``check`` and add its
rows to the area's test. docs/checks.md is made from the code by checks/docs.py.
"""

from __future__ import annotations

# Importing an area registers its checks.
from ansible_collections.instinct.bringup.plugins.plugin_utils.checks import (  # noqa: F401
    access,
    apt,
    binding,
    boot,
    deepspeed_build,
    deepspeed_config,
    dkms,
    env,
    firmware,
    firmware_state,
    fleet,
    fs,
    gpu,
    health,
    kernel,
    kernel_packages,
    launch,
    managed,
    mpi,
    numa,
    packages,
    pcie,
    pcie_bus,
    processor,
    python_env,
    rccl,
    rccl_env,
    rccl_links,
    secure_boot,
    slurm,
    tools,
    tuning,
    xgmi,
    xgmi_matrix,
)
from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.model import (
    CheckContext,
    CheckResult,
    verdict,
)
from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.registry import (
    CHECKS,
    check,
    run_checks,
)

__all__ = ["CHECKS", "CheckContext", "CheckResult", "check", "run_checks", "verdict"]
