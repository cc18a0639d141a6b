# SPDX-License-Identifier: Apache-2.0
"""The checks of deepspeed_config.py: the files of the node, judged by what is installed on it."""

from __future__ import annotations

import json
from collections.abc import Callable

from support.machines import Json
from support.rows import Row, changes, each

FOLDER = "/etc/deepspeed"
ZERO3 = f"{FOLDER}/zero3.json"
OFFLOAD = f"{FOLDER}/zero3_offload.json"
SEVEN = {"deepspeed_model_parameters": 7_000_000_000}
FORTY = {"deepspeed_model_parameters": 40_000_000_000}


def text(path: str, content: str | None) -> Callable[[Json], None]:
    def apply(snapshot: Json) -> None:
        snapshot["watch"][path]["text"] = content

    return apply


def keys(over: Json, path: str = ZERO3) -> Callable[[Json], None]:
    """Put keys over what a config holds, one level down too."""

    def apply(snapshot: Json) -> None:
        config = json.loads(snapshot["watch"][path]["text"])
        for key, value in over.items():
            config[key] = {**config[key], **value} if isinstance(config.get(key), dict) else value
        snapshot["watch"][path]["text"] = json.dumps(config)

    return apply


def installed(version: str) -> Callable[[Json], None]:
    def apply(snapshot: Json) -> None:
        snapshot["python_envs"][0]["distributions"]["deepspeed"] = {"version": version}

    return apply


def gone(snapshot: Json) -> None:
    for path in snapshot["watch"]:
        if path.startswith(FOLDER):
            snapshot["watch"][path] = {"type": "absent", "text": None}


def unread(snapshot: Json) -> None:
    snapshot["watch"][ZERO3] = None
    snapshot["problems"].append({"area": "watch", "path": ZERO3, "message": "Permission denied (EACCES)"})


def services(limit: object) -> Callable[[Json], None]:
    def apply(snapshot: Json) -> None:
        snapshot["services"] = [{"name": "sshd", "pid": 1, "memlock_soft": limit, "memlock_hard": limit}]

    return apply


def memory(total: int | None, group: int | None = None) -> Callable[[Json], None]:
    def apply(snapshot: Json) -> None:
        snapshot["memory"] = {"total_bytes": total, "group_limit_bytes": group}

    return apply


PINNED = keys({"zero_optimization": {"offload_param": {"device": "cpu", "pin_memory": True}}}, OFFLOAD)


@each(
    {
        "as rendered": Row("ok", "judged by DeepSpeed 0.9.3"),
        "misspelled": Row(
            "fail",
            "gradiant_clipping: is no key",
            keys({"gradiant_clipping": 1}),
            subject=ZERO3,
            expected="gradient_clipping",
            observed="gradiant_clipping",
            evidence=f"{ZERO3}:1",
        ),
        "of the popular recipe": Row(
            "fail", "no version reads it", keys({"comms_config": {}}), expected="comms_logger"
        ),
        "newer than what is installed": Row(
            "fail", "from DeepSpeed 0.10.0", keys({"zero_optimization": {"zero_quantized_weights": True}})
        ),
        "what is installed reads it": Row(
            "ok", "0.10.3", changes(keys({"zero_optimization": {"zero_quantized_weights": True}}), installed("0.10.3"))
        ),
        "deprecated": Row("warn", "deprecated", keys({"zero_optimization": {"cpu_offload": False}})),
        "twice": Row("fail", "stands twice", text(ZERO3, '{"train_batch_size": 8, "train_batch_size": 8}')),
        "setting that FSDP does not have": Row(
            "fail", "no setting", keys({"limit_all_gather": True}, f"{FOLDER}/fsdp.json"), expected="limit_all_gathers"
        ),
        "installed version that nobody knows": Row("unknown", "0.8.0 to 0.19.8", installed("0.42.0")),
        "not readable": Row("unknown", "EACCES", unread),
        "too long to be read": Row("unknown", "does not hold it", text(ZERO3, None)),
        "no config": Row("skipped", "no config", gone),
    }
)
def test_ds_config_unknown_key(row: Row) -> None:
    row.assert_holds("ds.config_unknown_key")


@each(
    {
        "as rendered": Row("ok"),
        "aio in zero": Row(
            "fail", "belongs at the top", keys({"zero_optimization": {"aio": {"block_size": 1}}}), expected="aio"
        ),
        "torch_adam at the top": Row(
            "fail", "belongs in optimizer.params", keys({"torch_adam": True}), expected="optimizer.params.torch_adam"
        ),
        "no config": Row("skipped", "no config", gone),
    }
)
def test_ds_config_wrong_parent(row: Row) -> None:
    row.assert_holds("ds.config_wrong_parent")


@each(
    {
        "as rendered": Row("ok"),
        "number as text": Row(
            "fail", "without quotes", keys({"zero_optimization": {"reduce_bucket_size": "5e8"}}), expected="500000000"
        ),
        "auto without the Trainer": Row("fail", "only the Hugging Face Trainer", keys({"gradient_clipping": "auto"})),
        "auto with the Trainer": Row("ok", "", keys({"gradient_clipping": "auto"}, f"{FOLDER}/zero3_auto.json")),
        "batch of another number of GPUs": Row("fail", "is not 1 x 1 x 8", keys({"train_batch_size": 4})),
        "batch of these GPUs": Row("ok", "", keys({"train_batch_size": 8})),
        "no JSON": Row("fail", "a comma before }", text(ZERO3, '{"train_batch_size": 8,}'), observed="the whole file"),
        "number too large": Row("fail", "larger than any", text(ZERO3, '{"train_batch_size": 1e400}')),
    }
)
def test_ds_config_values(row: Row) -> None:
    row.assert_holds("ds.config_values")


@each(
    {
        "no model": Row("skipped", "how large the model is"),
        "fits": Row("ok", options=SEVEN, expected="at most 1024.0 GiB", subject=OFFLOAD),
        "above the node": Row("warn", "zero2 and zero3 and fsdp fit the cards", memory(100 << 30), options=SEVEN),
        "above the node, and nothing else fits": Row(
            "fail", "above what a job may take", memory(500 << 30), options=FORTY
        ),
        "above the control group": Row(
            "warn",
            "above what a job may take",
            memory(1 << 40, 100 << 30),
            options=SEVEN,
            expected="at most 100.0 GiB",
            observed="117.3 GiB needed; MemTotal 1024.0 GiB, control group's limit 100.0 GiB, locked memory unlimited",
        ),
        "pinned above 60 %": Row("warn", "above 60%", changes(memory(150 << 30), PINNED), options=SEVEN),
        "pinned above what may be locked": Row("warn", "locked memory", changes(services(8192), PINNED), options=SEVEN),
        "not pinned, little may be locked": Row(
            "ok",
            "",
            changes(
                services(8192),
                *(
                    keys(
                        {
                            "zero_optimization": {
                                part: {"device": "cpu"} for part in ("offload_param", "offload_optimizer")
                            }
                        },
                        f"{FOLDER}/{name}.json",
                    )
                    for name in ("zero3_offload", "zero3_offload_auto")
                ),
            ),
            options=SEVEN,
        ),
        "memory not readable": Row("unknown", "does not hold it", memory(None), options=SEVEN),
        "no config": Row("skipped", "offloads", gone, options=SEVEN),
        "a config not readable": Row("unknown", "EACCES", unread, options=SEVEN),
    }
)
def test_ds_offload_fits(row: Row) -> None:
    row.assert_holds("ds.offload_fits")
