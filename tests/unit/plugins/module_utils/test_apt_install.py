# SPDX-License-Identifier: Apache-2.0
"""What apt cannot read is named by its URL, and what an installation would take away is refused by its name."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from ansible_collections.instinct.bringup.plugins.module_utils.apt_install import (
    InstallRefused,
    missed_lists,
    read_lists,
    refuse_removals,
)
from ansible_collections.instinct.bringup.plugins.module_utils.command_runner import Result

OURS = "http://mirror.example/rocm/apt/5.4.2"
SITES = "http://site.example/apt"
# As apt 2.0 to 2.6 say it.
DEAD = f"W: Failed to fetch {OURS}/dists/jammy/InRelease  Could not connect to mirror.example:80 (192.0.2.1), connection refused\n"
NOT_YET = f"E: Release file for {OURS}/dists/jammy/InRelease is not valid yet (invalid for another 5h 3min 20s).\n"
UNSIGNED = f"E: The repository '{SITES} jammy Release' is not signed.\n"
CHATTER = (
    f"W: {SITES}/dists/jammy/InRelease: Key is stored in legacy trusted.gpg keyring\n"
    "W: Some index files failed to download. They have been ignored, or old ones used instead.\n"
)


class Apt:
    """Answer apt-get, apt-config and dpkg-query as a test wants them to; calls are kept."""

    def __init__(
        self, *, err: str = "", out: str = "", rc: int = 0, config: str = "", held: Sequence[str] = ()
    ) -> None:
        self.answer = Result(rc, out, err)
        self.config = config
        self.held = held
        self.calls: list[str] = []

    def __call__(self, argv: Sequence[str]) -> Result:
        self.calls.append(" ".join(argv))
        if argv[0] == "apt-config":
            return Result(0, self.config, "")
        if argv[0] == "dpkg-query":
            rows = [f"{name}\t{name}\tall\t1\thi \thold\tinstalled" for name in self.held]
            return Result(0, "\n".join(rows), "")
        return self.answer


@pytest.mark.parametrize(
    ("err", "rc", "says"),
    [
        (DEAD + CHATTER, 0, f"{OURS}/dists/jammy/InRelease  Could not connect to mirror.example:80"),
        (NOT_YET, 100, "is not valid yet (invalid for another 5h 3min 20s)"),
        (UNSIGNED, 100, f"'{SITES} jammy Release' is not signed"),
        ("E: Malformed entry 1 in list file /etc/apt/sources.list.d/x.list (Component)\n", 100, "x.list"),
        (
            "E: Could not get lock /var/lib/apt/lists/lock. It is held by process 1 (apt-get)\n",
            100,
            "/var/lib/apt/lists/lock is held by process 1 (apt-get)",
        ),
    ],
    ids=["ours is dead", "a clock that is wrong", "apt fails for another", "no URL at all", "locked"],
)
def test_a_list_that_cannot_be_read_is_named(monkeypatch: pytest.MonkeyPatch, err: str, rc: int, says: str) -> None:
    module = "ansible_collections.instinct.bringup.plugins.module_utils.apt_install.run_when_unlocked"
    monkeypatch.setattr(module, lambda run, argv: run(argv))
    with pytest.raises(InstallRefused) as refused:
        read_lists(Apt(err=err, rc=rc), [OURS])
    assert says in str(refused.value)
    assert "Nothing was installed" in str(refused.value)


def test_a_list_of_the_sites_that_cannot_be_read_is_a_warning_with_its_url() -> None:
    err = f"W: Failed to fetch {SITES}/dists/jammy/InRelease  Could not resolve 'site.example'\n" + CHATTER
    (warning,) = read_lists(Apt(err=err), [OURS])
    assert f"{SITES}/dists/jammy/InRelease" in warning
    assert read_lists(Apt(err=CHATTER), [OURS]) == []


def test_apts_own_proxy_is_named_since_its_message_names_the_server_only() -> None:
    config = 'Acquire::http::Proxy "http://me:secret@proxy.example:3128";\nAcquire::http::Proxy::x "DIRECT";\n'
    with pytest.raises(InstallRefused) as refused:
        read_lists(Apt(err=DEAD, config=config), [OURS])
    assert "at apt's proxy http://***@proxy.example:3128" in str(refused.value)


def test_a_repository_beside_ours_is_not_ours() -> None:
    (missed,) = missed_lists(Result(0, "", DEAD.replace("5.4.2", "5.4.20")))
    assert missed.url == f"{OURS}0/dists/jammy/InRelease"
    assert read_lists(Apt(err=DEAD.replace("5.4.2", "5.4.20")), [OURS]) != []


def test_a_password_in_a_url_is_not_told() -> None:
    with pytest.raises(InstallRefused) as refused:
        read_lists(
            Apt(err=DEAD.replace("http://", "http://me:secret@")), [OURS.replace("http://", "http://me:secret@")]
        )
    assert "secret" not in str(refused.value)


SIMULATED = (
    "Inst rocm-core (5.4.2.50402-104~22.04 ROCm:jammy [amd64])\nInst libdrm2:amd64 [2.4.110] (2.4.113 x [amd64])\n"
    "Conf rocm-core (5.4.2.50402-104~22.04 ROCm:jammy [amd64])\n"
)


@pytest.mark.parametrize(
    ("lines", "names"),
    [
        ("Remv libucx0 [1.12.1]\n", "libucx0"),
        ("Purg openmpi-bin [4.1.2]\nRemv libopenmpi3:amd64 [4.1.2]\n", "openmpi-bin, libopenmpi3"),
    ],
)
def test_what_an_installation_would_remove_is_refused_with_its_name(lines: str, names: str) -> None:
    apt = Apt(out=SIMULATED + lines)
    with pytest.raises(InstallRefused, match=f"apt would remove: {names}[.]"):
        refuse_removals(apt, ["rocm-core=*.50402-*"], [])
    assert all(" -s " in call for call in apt.calls if call.startswith("apt-get"))


def test_what_somebody_holds_is_not_changed_along() -> None:
    with pytest.raises(InstallRefused, match="on hold: libdrm2"):
        refuse_removals(Apt(out=SIMULATED, held=["libdrm2", "linux-generic"]), ["rocm-core"], [])
    for ours in (["libdrm2"], []):
        packages = ["rocm-core"] if ours else ["rocm-core", "libdrm2=2.4.113"]
        assert refuse_removals(Apt(out=SIMULATED, held=["libdrm2"]), packages, ours) == ["rocm-core", "libdrm2"]


def test_what_apt_cannot_install_is_told_in_its_words() -> None:
    with pytest.raises(InstallRefused, match="Unable to locate package rocm-dkms"):
        refuse_removals(Apt(err="E: Unable to locate package rocm-dkms\n", rc=100), ["rocm-dkms"], [])
