# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from ansible_collections.instinct.bringup.plugins.plugin_utils.launch.model import LaunchModel
from ansible_collections.instinct.bringup.plugins.plugin_utils.launch.peers import Peer, peer_of
from ansible_collections.instinct.bringup.plugins.plugin_utils.launch.ssh import (
    known_hosts,
    ssh_config,
    unknown_hosts,
)

ONE, TWO = ("ssh-ed25519 " + letter * 68 for letter in "AB")
MODEL = LaunchModel((("gpu01", 8), ("gpu02", 8)), 29500, "/launch", "/hostfile", "/venv", "/env")


def entries(text: str) -> list[str]:
    return [line for line in text.splitlines() if not line.startswith("#")]


def test_hosts_are_known_by_name_and_address() -> None:
    peers = {"gpu01": Peer("10.0.0.1", (ONE,), ()), "gpu02": Peer("gpu02", (TWO,), ())}
    assert entries(known_hosts(MODEL, peers, "")) == [f"gpu01,10.0.0.1 {ONE}", f"gpu02 {TWO}"]


def test_a_host_that_this_run_did_not_look_at_keeps_its_keys() -> None:
    peers = {"gpu01": Peer("10.0.0.1", (ONE,), ())}
    text = known_hosts(MODEL, peers, f"# words\ngpu01,10.0.0.1 {TWO}\ngpu02,10.0.0.2 {TWO}\ngone {TWO}\n")
    assert entries(text) == [f"gpu01,10.0.0.1 {ONE}", f"gpu02,10.0.0.2 {TWO}"]


def test_a_host_without_a_key_is_named() -> None:
    text = known_hosts(MODEL, {"gpu01": Peer("10.0.0.1", (ONE,), ())}, "")
    assert unknown_hosts(MODEL, text) == ["gpu02"]


@pytest.mark.parametrize(
    "key",
    [
        "ssh-ed25519 AAAA",
        f"{ONE}\ngpu02 {TWO}",
        f"cert-authority {ONE}",
        "ssh-ed25519 $(reboot)" + "A" * 60,
        f"{ONE} x",
    ],
)
def test_what_is_no_key_is_written_to_no_file(key: str) -> None:
    assert unknown_hosts(MODEL, known_hosts(MODEL, {"gpu01": Peer("gpu01", (key,), ())}, "")) == ["gpu01", "gpu02"]


def test_an_address_that_could_be_a_pattern_is_left_out() -> None:
    text = known_hosts(MODEL, {"gpu01": Peer("*", (ONE,), ())}, "")
    assert entries(text) == [f"gpu01 {ONE}"]


def test_nothing_asks_and_no_new_key_is_taken() -> None:
    lines = ssh_config(MODEL, "deploy").splitlines()
    assert lines[1] == "Match localuser deploy originalhost gpu01,gpu02"
    assert {"  StrictHostKeyChecking yes", "  BatchMode yes"} <= set(lines)


def test_a_peer_is_read_from_its_snapshot_without_comments() -> None:
    watch = {
        "/etc/ssh/ssh_host_ed25519_key.pub": {"type": "file", "text": f"{ONE} root@gpu01\n"},
        "/etc/ssh/ssh_host_rsa_key.pub": {"type": "absent", "text": None},
        "/launch/key.pub": {"type": "file", "text": f"{TWO} instinct\n"},
    }
    peer = peer_of({"watch": watch}, "10.0.0.1", "/launch/key.pub", ["0-7"])
    assert peer == Peer("10.0.0.1", (ONE,), ("0-7",), TWO)
    assert Peer.from_dict({"address": "a", "host_keys": [], "processors": [], "public_key": ""}).host_keys == ()
