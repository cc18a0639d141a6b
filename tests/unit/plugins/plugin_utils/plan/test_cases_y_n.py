# SPDX-License-Identifier: Apache-2.0
"""The field cases of Python wheels and of Ansible, Y-01 to Y-10 and N-01 to N-12, where the logic is pure.

What needs an effect is in the lab: N-01 and N-11 are molecule's check step over a bare node, N-03 the journey's second
run, Y-04's index the lab's refusals.
"""

from __future__ import annotations

import pathlib
import re
import time
import typing as t

import pytest
import yaml

from ansible_collections.instinct.bringup.plugins.module_utils import mounts
from ansible_collections.instinct.bringup.plugins.module_utils.apt_policy import read_policy
from ansible_collections.instinct.bringup.plugins.module_utils.command_runner import Result, environment
from ansible_collections.instinct.bringup.plugins.module_utils.fetch import Answer, FetchError
from ansible_collections.instinct.bringup.plugins.module_utils.text import Tree
from ansible_collections.instinct.bringup.plugins.module_utils.wheel_index import (
    Interpreter,
    WheelProblem,
    find_wheel,
)

from . import made

ROLES = made.REPOSITORY / "roles"
CP310 = Interpreter("cp310", "x86_64", (2, 35))


def step(plan: dict[str, t.Any], role: str) -> dict[str, t.Any]:
    return next(step for step in plan["steps"] if step["role"] == role)


def role_text(role: str) -> str:
    return "\n".join(path.read_text(encoding="utf-8") for path in sorted((ROLES / role / "tasks").glob("*.yml")))


def refused(index_page: str | None, version: str) -> str:
    def fetch(url: str, limit: int) -> Answer:
        if index_page is None:
            raise FetchError(url, "HTTP 404 Not Found", 404)
        return Answer(url, 200, index_page.encode())

    with pytest.raises(WheelProblem) as problem:
        find_wheel("http://mirror.example/whl/rocm7.2", "torch", version, CP310, fetch)
    return str(problem.value)


def test_y01_a_later_pip_keeps_the_pins_without_being_asked() -> None:
    files = {file["path"]: file["content"] for file in made.plan(made.bare())["files"]}
    venv = "/opt/instinct-bringup/venv"
    assert "torch==2.0.1+rocm5.4.2\n" in files[f"{venv}/constraints.txt"]
    assert f"constraint = {venv}/constraints.txt" in files[f"{venv}/pip.conf"]


@pytest.mark.parametrize("version", ["2.9.1", "2.0.1", "2.0.1+cu118"])
def test_y01_a_swapped_build_is_planned_back_whatever_its_number(version: str) -> None:
    snapshot = made.converged()
    snapshot["python_envs"][0]["distributions"]["torch"]["version"] = version
    assert step(made.plan(snapshot), "pytorch")["inputs"]["reinstall"] == ["torch"]


def test_y02_one_index_alone_is_asked_and_every_pin_is_exact() -> None:
    assert "extra-index-url" not in role_text("pytorch")
    source = step(made.plan(made.bare()), "pytorch")["inputs"]["source"]
    assert source == "--index-url https://download.pytorch.org/whl/rocm5.4.2"
    lock = made.LOCK.replace("torch==2.0.1+rocm5.4.2", "torch>=2.0")
    assert made.plan(made.bare(), lock=lock)["refusals"][0]["id"] == "py.lock"


def test_y03_an_index_that_answers_without_the_version_is_no_index_for_it() -> None:
    page = '<a href="torch-2.11.0%2Brocm7.2-cp310-cp310-manylinux_2_28_x86_64.whl">x</a>'
    assert "2.11.0+rocm7.2" in refused(page, "2.8.0+rocm7.2")


def test_y04_a_tag_that_is_not_there_and_an_interpreter_without_a_wheel_are_two_messages() -> None:
    page = '<a href="torch-2.8.0%2Brocm7.2-cp312-cp312-manylinux_2_28_x86_64.whl">x</a>'
    no_tag, no_python = refused(None, "2.8.0+rocm7.2"), refused(page, "2.8.0+rocm7.2")
    assert "404" in no_tag
    assert "404" not in no_python
    assert "cp312" in no_python
    assert "cp310" in no_python


def test_y05_a_second_owner_of_triton_goes() -> None:
    snapshot = made.converged()
    snapshot["python_envs"][0]["distributions"]["triton"] = {"version": "3.3.0", "requires": []}
    assert step(made.plan(snapshot), "rocm_purge")["inputs"]["wheels"] == [
        {"venv": "/opt/instinct-bringup/venv", "distributions": ["triton"]}
    ]


def test_y06_numpy_2_under_a_torch_for_numpy_1_is_refused() -> None:
    (refusal,) = made.plan(made.bare(), lock=made.LOCK.replace("1.26.4", "2.0.1"))["refusals"]
    assert "built for numpy 1" in refusal["seen"]


def test_y07_the_systems_python_is_never_installed_into() -> None:
    plan = made.plan(made.bare())
    assert step(plan, "pytorch")["inputs"]["missing"] == ["python3-venv", "python3-packaging"]
    for task in yaml.safe_load((ROLES / "pytorch" / "tasks" / "main.yml").read_text(encoding="utf-8")):
        if "ansible.builtin.pip" in task:
            assert task["ansible.builtin.pip"]["virtualenv"]
    assert "break-system-packages" not in role_text("pytorch")


def test_y10_wheels_are_unpacked_where_the_venv_is_and_its_space_is_asked_first() -> None:
    assert 'TMPDIR: "{{ pytorch_lock.scratch }}"' in role_text("pytorch")
    assert "--no-cache-dir" in role_text("pytorch")
    snapshot = made.bare()
    snapshot["space"]["/opt/instinct-bringup/venv"] = {"free_bytes": 2**30, "total_bytes": 2**40}
    (refusal,) = made.plan(snapshot)["refusals"]
    assert (refusal["subject"], refusal["seen"]) == ("/opt/instinct-bringup/venv", "1.0 GiB free")


def test_y10_every_word_of_the_fetch_is_a_text() -> None:
    # YAML makes a mapping of an unquoted word with a colon at its end.
    tasks = yaml.safe_load((ROLES / "pytorch" / "tasks" / "wheelhouse.yml").read_text(encoding="utf-8"))
    lists = [value for task in tasks for value in task.get("vars", {}).values()]
    assert len(lists) == 2
    assert all(isinstance(word, str) for words in lists for word in words)


def test_y10_the_controller_fetches_the_wheels_once_for_all_nodes_of_one_python() -> None:
    plan = made.plan(made.bare(), pytorch_wheelhouse="/srv/wheels")
    inputs = step(plan, "pytorch")["inputs"]
    assert inputs["source"] == "--no-index --find-links /opt/instinct-bringup/venv/.scratch/wheelhouse"
    assert inputs["wheelhouse"]["arguments"][-4:] == ["--python-version", "3.10", "--implementation", "cp"]
    other = made.bare()
    other["python"]["tag"] = "cp311"
    assert (
        step(made.plan(other, pytorch_wheelhouse="/srv/wheels"), "pytorch")["inputs"]["wheelhouse"]["folder"]
        != (inputs["wheelhouse"]["folder"])
    )
    # The nodes need not reach the index, so it is not asked from them.
    assert plan["steps"][0]["inputs"]["probe"]["wheel_index"] is None
    assert step(made.plan(made.bare()), "pytorch")["inputs"]["wheelhouse"] is None


def test_n02_every_call_of_apt_waits_for_the_lock_and_none_removes_one() -> None:
    for path in ROLES.rglob("tasks/*.yml"):
        text = path.read_text(encoding="utf-8")
        assert text.count("ansible.builtin.apt:") == text.count("lock_timeout: 600"), path
        assert not re.search(r"rm .*lock", text)
    assert "DPkg::Lock::Timeout=600" in role_text("rocm")


def test_n03_one_role_reboots_and_only_in_its_step() -> None:
    with_reboot = [path.parts[-3] for path in ROLES.rglob("tasks/*.yml") if "builtin.reboot" in path.read_text()]
    assert with_reboot == ["reboot"]


@pytest.mark.parametrize(
    ("option", "value", "read"),
    [
        ("rocm_release", 6.1, "6.1, a number"),
        ("rocm_driver_release", 5.1, "5.1, a number"),
        ("rocm_release", 5, "5, a"),
    ],
)
def test_n04_a_version_that_yaml_made_a_number_says_what_yaml_made(option: str, value: object, read: str) -> None:
    (refusal,) = made.plan(made.bare(), **{option: value})["refusals"]
    assert read in refusal["seen"]


def test_n06_no_condition_is_a_bare_list_or_text() -> None:
    playbooks = [
        made.REPOSITORY / "site.yml",
        *(made.REPOSITORY / "playbooks").rglob("*.yml"),
        *ROLES.rglob("tasks/*.yml"),
    ]
    for path in playbooks:
        for line in path.read_text(encoding="utf-8").splitlines():
            found = re.match(r"\s*when: ([a-z_.]+)$", line)
            # Values of the plan's own that are true or false.
            assert not found or found[1].rpartition(".")[2] in {
                "needed", "grub", "sysctl", "reload", "wanted", "settle", "pause",
            }, f"{path}: {line}"  # fmt: skip


def test_n08_no_play_gathers_ansibles_facts_which_hang_on_a_dead_mount() -> None:
    for path in [made.REPOSITORY / "site.yml", *(made.REPOSITORY / "playbooks").glob("*.yml")]:
        for play in yaml.safe_load(path.read_text(encoding="utf-8")):
            assert play.get("gather_facts") is False or "ansible.builtin.import_playbook" in play, path


def test_n08_a_mount_that_hangs_is_given_up_and_named(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """statvfs of a file system whose server is gone never comes back, and ignores alarms."""
    (tmp_path / "proj").mkdir()
    monkeypatch.setattr(mounts, "SECONDS", 0.1)
    monkeypatch.setattr(mounts.os, "statvfs", lambda _path: time.sleep(60))
    tree = Tree(str(tmp_path))
    assert mounts.read_space(tree, ["/proj"]) == {"/proj": None}
    assert tree.problems() == [{"area": "space", "path": "/proj", "message": "no answer after 0.1 seconds"}]


def test_n10_commands_are_run_in_a_fixed_locale() -> None:
    assert environment()["LC_ALL"] == "C"
    assert environment()["LANGUAGE"] == "C"


def test_n10_an_answer_in_another_language_is_not_read_as_not_installed() -> None:
    czech = "hipcc:\n  Nainstalovaná verze: (žádná)\n  Kandidát:            5.7.1-3\n"
    tree = Tree("/")
    assert read_policy(tree, lambda _argv: Result(0, czech, ""), ["hipcc"]) is None
    assert "not understood" in tree.problems()[0]["message"]


def test_n11_apt_key_is_not_used_to_change_anything() -> None:
    files: list[pathlib.Path] = [
        *ROLES.rglob("*.yml"),
        *(made.REPOSITORY / "python_modules/plugins/modules").glob("*.py"),
    ]
    for path in files:
        assert not re.search(r"builtin\.apt_key|\[.apt-key.", path.read_text(encoding="utf-8")), path


def test_n12_host_keys_are_checked_and_none_is_written_by_a_play() -> None:
    settings = (made.REPOSITORY / "ansible.cfg").read_text(encoding="utf-8")
    assert "host_key_checking = false" not in settings.lower()
    assert not any("known_hosts" in path.read_text(encoding="utf-8") for path in ROLES.rglob("*.yml"))
