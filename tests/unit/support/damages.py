# SPDX-License-Identifier: Apache-2.0
"""A damage for each thing that a plan manages, made from the plan's own model: the inputs of every role, entered whole.

What is an input of a role and has no maker of damages here must stand in DERIVED, with the reason; both the unit test and
the lab's test fail otherwise. So nothing can be managed without somebody seeing that it is repaired.
"""

from __future__ import annotations

import ast
import collections.abc as c
import dataclasses
import pathlib
import typing as t

Inputs = dict[str, t.Any]
Model = dict[str, Inputs]
# The site's values with which everything is managed that can be.
TUNING: dict[str, t.Any] = {
    "kernel_tuning_boot_parameters": ["iommu=pt"],
    "kernel_tuning_sysctl": {"kernel.numa_balancing": "0"},
    "kernel_tuning_transparent_hugepage": "always",
    "kernel_tuning_memlock_services": ["slurmd"],
    "kernel_tuning_memlock": "8M",
}
# What hurts a file, by the attribute. Files take them in turn, so that each file is hurt in one way and each way is used.
FILE_DAMAGE = {
    "content": "echo '# by hand' >>{path}",
    "mode": "chmod 0666 {path}",
    "owner": "chown deploy {path}",
    "absent": "rm {path}",
    "link": "mv {path} {aside} && ln -s {aside} {path}",
}
HUGE_PAGES = "/sys/kernel/mm/transparent_hugepage/enabled"
UNIT = "instinct-bringup-tuning.service"
GRUB_MENU = "/boot/grub/grub.cfg"
# A package that AMD has in other releases; a made one of its name is enough for the purge.
FOREIGN = ("rocm-bandwidth-test", "1.4.0.50701-98~22.04")


@dataclasses.dataclass(frozen=True)
class Damage:
    """Hold a script that damages managed things of one kind, and the subjects that the plan must then name, and no other.

    along: kinds of change that the damage brings with it, such as the hold of a package. leaves: files that the repair
    leaves otherwise than they were, on purpose.
    """

    kind: str
    subjects: tuple[str, ...]
    script: str
    along: tuple[str, ...] = ()
    leaves: tuple[str, ...] = ()


def _files(inputs: Inputs) -> list[Damage]:
    """Hurt all files of a role at once, each in another way: each is told and repaired by itself."""
    ways = list(FILE_DAMAGE)
    paths = [file["path"] for file in inputs["files"]]
    scripts = [hurt(ways[(number + len(paths)) % len(ways)], path) for number, path in enumerate(paths)]
    found = [Damage("file", tuple(paths), "; ".join(scripts))] if paths else []
    return found + [
        Damage("file", (path,), f"sed -i s/LimitMEMLOCK=.*/LimitMEMLOCK=64K/ {path}")
        for path in paths
        if path.endswith(".service.d/99-instinct-bringup.conf")
    ]


def hurt(way: str, path: str) -> str:
    """Return the script that hurts a file in one of the ways."""
    return FILE_DAMAGE[way].format(path=path, aside=f"/root/aside-{path.strip('/').replace('/', '-')}")


def _pin(inputs: Inputs) -> list[Damage]:
    path = inputs["pin"]["path"]
    # CASES P-02: the two characters where a line end should be.
    return [Damage("file", (path,), f"printf '%s' 'Package: *\\nPin: release o=repo.radeon.com' >{path}")]


def _packages(inputs: Inputs) -> list[Damage]:
    # Its hold goes with a package, and where it is the release itself the link that it made.
    names = sorted({word.partition("=")[0] for word in inputs["packages"]})
    along = ("hold", "link", "dkms", "reboot")
    # One alone, and all of a role at once: what is alike need not be waited for thirty times.
    return [
        Damage("package", chosen, f"dpkg --force-depends --purge {' '.join(chosen)}", along=along)
        for chosen in ((names[0],), tuple(names))
    ]


def _unfinished(inputs: Inputs) -> list[Damage]:
    """As dpkg leaves it when it is killed in a package of the release."""
    name = inputs["packages"][0].partition("=")[0]
    half = "s/^Status: .*/Status: hold ok half-configured/"
    return [
        Damage("dpkg", (name,), f"sed -i '/^Package: {name}$/,/^$/{half}' /var/lib/dpkg/status", along=("package",))
    ]


def _installer(inputs: Inputs) -> list[Damage]:
    return [Damage("package", ("amdgpu-install",), "dpkg --force-depends --purge amdgpu-install", along=("hold",))]


def _holds(inputs: Inputs) -> list[Damage]:
    names = inputs["hold"]["names"]
    return [Damage("hold", (name,), f"apt-mark unhold {name}") for name in (names[0], names[-1])]


def _key(inputs: Inputs) -> list[Damage]:
    path = inputs["key"]["path"]
    return [
        Damage("key", (path,), f"echo '<html>404 Not Found' >{path}"),
        Damage("key", (path,), f"chmod 0600 {path}"),
        Damage("key", (path,), f"rm {path}"),
    ]


def _members(_inputs: Inputs) -> list[Damage]:
    return [Damage("member", ("deploy",), "gpasswd -d deploy render")]


def _link(_inputs: Inputs) -> list[Damage]:
    # The repair takes the choice by hand, so that a site's own one with a higher number does not win again.
    record = ("/var/lib/dpkg/alternatives/rocm",)
    return [Damage("link", ("/opt/rocm",), "ln -sfn /opt/rocm-0 /etc/alternatives/rocm", leaves=record)]


def _wheels(inputs: Inputs) -> list[Damage]:
    site = f"{inputs['venv']}/lib/python3*/site-packages"
    return [
        Damage("wheel", ("torch",), f"sed -i 's/^Version: .*/Version: 2.9.1/' {site}/torch-*.dist-info/METADATA"),
        Damage("wheel", ("torchvision",), f"rm {site}/torchvision-*.dist-info/RECORD"),
        Damage("wheel", ("torchaudio",), f"chown -R deploy {site}/torchaudio-*.dist-info"),
        Damage("venv", (inputs["venv"],), f"rm -r {inputs['venv']}", along=("wheel", "file", "scratch")),
    ]


def _scratch(inputs: Inputs) -> list[Damage]:
    return [Damage("scratch", (inputs["scratch"],), f"mkdir {inputs['scratch']}; touch {inputs['scratch']}/left")]


def _sysctl(_inputs: Inputs) -> list[Damage]:
    return [
        Damage("sysctl", (key,), f"echo 1 >/proc/sys/{key.replace('.', '/')}") for key in TUNING["kernel_tuning_sysctl"]
    ]


def _unit(_inputs: Inputs) -> list[Damage]:
    return [
        Damage("unit", (UNIT,), f"systemctl disable {UNIT}"),
        Damage("live", (HUGE_PAGES,), f"echo 'always [madvise] never' >{HUGE_PAGES}"),
    ]


def _boot(_inputs: Inputs) -> list[Damage]:
    return [
        Damage("boot", (GRUB_MENU,), f"sed -i 's/ iommu=pt//' {GRUB_MENU}"),
        # The lab's /proc/cmdline lies there: as if the node had been started by hand with other words.
        Damage(
            "reboot", ("the node",), "sed 's/ iommu=pt//' /proc/cmdline >/root/words; cat /root/words >/proc/cmdline"
        ),
    ]


def _foreign_packages(_inputs: Inputs) -> list[Damage]:
    name, version = FOREIGN
    fields = (
        f"Package: {name}\\nVersion: {version}\\nArchitecture: all\\nMaintainer: lab\\nDescription: made by a test\\n"
    )
    make = (
        f"mkdir -p /root/made/DEBIAN && printf '{fields}' >/root/made/DEBIAN/control && "
        "dpkg-deb -b /root/made /root/made.deb && dpkg -i /root/made.deb"
    )
    return [
        Damage("package", (name,), make),
        Damage("package", (name,), f"{make} && apt-mark hold {name}", along=("hold",)),
    ]


def _foreign_files(_inputs: Inputs) -> list[Damage]:
    path = "/etc/apt/sources.list.d/rocm-5.list"
    return [Damage("file", (path,), f"echo 'deb https://repo.radeon.com/rocm/apt/5.7.1 jammy main' >{path}")]


def _foreign_alternatives(_inputs: Inputs) -> list[Damage]:
    words = "update-alternatives --force --install /usr/bin/rocm-tool rocm-tool /opt/rocm-5.1.3/bin/rocm-tool 10"
    # As a removed package leaves it: with its target gone, which update-alternatives itself would refuse.
    make = "mkdir -p /opt/rocm-5.1.3/bin && touch /opt/rocm-5.1.3/bin/rocm-tool"
    return [Damage("alternative", ("rocm-tool",), f"{make} && {words} && rm -r /opt/rocm-5.1.3")]


def _foreign_dkms_trees(_inputs: Inputs) -> list[Damage]:
    return [Damage("dkms", ("amdgpu/6.7.0-1787201.22.04",), "mkdir -p /var/lib/dkms/amdgpu/6.7.0-1787201.22.04")]


def _foreign_trees(_inputs: Inputs) -> list[Damage]:
    make = "mkdir -p /opt/rocm-5.1.3/lib && touch /opt/rocm-5.1.3/lib/librccl.so.1.0.50103"
    return [Damage("tree", ("/opt/rocm-5.1.3",), make)]


def _foreign_wheels(inputs: Inputs) -> list[Damage]:
    venv = "/opt/instinct-bringup/venv"
    script = (
        f"cd {venv}/lib/python3*/site-packages && mkdir triton-3.3.0.dist-info && "
        "printf 'Metadata-Version: 2.1\\nName: triton\\nVersion: 3.3.0\\n' >triton-3.3.0.dist-info/METADATA && "
        "printf 'triton-3.3.0.dist-info/METADATA,,\\ntriton-3.3.0.dist-info/RECORD,,\\n' >triton-3.3.0.dist-info/RECORD"
    )
    return [Damage("wheel", (f"{venv}: triton",), script)]


# Who makes the damages of an input, by "role.input" or, where every role's is alike, by the input.
MAKERS: dict[str, c.Callable[[Inputs], list[Damage]]] = {
    "files": _files,
    "packages": _packages,
    "rocm.missing": _unfinished,
    "rocm.pin": _pin,
    "rocm.installer": _installer,
    "rocm.hold": _holds,
    "rocm.key": _key,
    "rocm.members": _members,
    "rocm.link": _link,
    "pytorch.lock": _wheels,
    "pytorch.scratch": _scratch,
    "kernel_tuning.sysctl": _sysctl,
    "kernel_tuning.unit": _unit,
    "kernel_tuning.grub": _boot,
    "rocm_purge.packages": _foreign_packages,
    "rocm_purge.files": _foreign_files,
    "rocm_purge.alternatives": _foreign_alternatives,
    "rocm_purge.dkms_trees": _foreign_dkms_trees,
    "rocm_purge.trees": _foreign_trees,
    "rocm_purge.wheels": _foreign_wheels,
}
# Inputs that are no managed things, each with why.
DERIVED = {
    "missing": "the part of packages that lacks",
    "absent": "files that nobody asks for: the purge's planted list shows that one goes",
    "rocm.method": "a word of the profile",
    "rocm.usecases": "names of packages in AMD's words",
    "rocm.headers": "the part of the kernel's headers that lacks",
    "rocm.simulate": "what is simulated before it is installed",
    "pytorch.venv": "the path of what lock's damages hurt",
    "pytorch.source": "where wheels come from",
    "pytorch.wheelhouse": "copies that are taken away again",
    "pytorch.reinstall": "the part of the lock that lacks",
    "pytorch.owner": "who owns the environment, repaired with the wheels",
    "pytorch.damaged": "the part of the lock that is repaired",
    "mpi.build": "a build takes a compiler and a quarter of an hour: None here, since the distribution's MPI is the default",
    "pytorch.kind": "pip's arguments",
    "pytorch.environment": "variables of a build",
    "deepspeed.locks": "the part of DeepSpeed's lock that lacks: it goes through what mends the wheels of torch",
    "deepspeed.scratch": "the same folder as pytorch.scratch",
    "launch.model": "what the files say, for a person",
    "launch.ssh": "keys between nodes, where a site asks for them: off here, since it takes two nodes",
    "kernel_tuning.reload": "whether systemd is told of new units",
    "rocm_purge.unhold": "the holds of what goes: a damage of packages has one",
    "rocm_purge.run_id": "the name of the run",
    "rocm_purge.run_dir": "the folder of the run",
}
# Roles that change nothing that stays: they ask, write the journal, or start the node again.
FRAME = ("preflight", "reboot")
# Kinds of change that are no thing on a node, each with why.
NO_THING = {
    "probe": "a question to the mirror or to apt",
    "journal": "an interrupted run, which the tests of interruptions make",
    "build": "an MPI of the site's own building, which is off by default: see mpi.build",
}


def _maker(role: str, name: str) -> c.Callable[[Inputs], list[Damage]] | None:
    return MAKERS.get(f"{role}.{name}", MAKERS.get(name))


def without_damage(model: Model) -> list[str]:
    """Return the inputs, as role.input, for which nothing here makes a damage or says why there is none."""
    return [
        f"{role}.{name}"
        for role, inputs in sorted(model.items())
        if role not in FRAME
        for name in sorted(inputs)
        if _maker(role, name) is None and not {name, f"{role}.{name}"} & set(DERIVED)
    ]


def damages(model: Model) -> list[Damage]:
    """Return the damages of a model, role by role in the order of their names."""
    found: list[Damage] = []
    for role, inputs in sorted(model.items()):
        if role in FRAME:
            continue
        for name in sorted(inputs):
            maker = _maker(role, name)
            made = maker(inputs) if maker is not None else []
            found += [damage for damage in made if damage not in found]
    return found


def rounds(found: c.Sequence[Damage]) -> list[list[Damage]]:
    """Return the damages in rounds: of a kind one a round, and none beside another that brings its kind along.

    So each is told and repaired by itself, and a node is converged a dozen times instead of forty.
    """
    packed: list[list[Damage]] = []
    for damage in found:
        for entry in packed:
            if not any(_meet(damage, other) for other in entry):
                entry.append(damage)
                break
        else:
            packed.append([damage])
    return packed


def _meet(one: Damage, other: Damage) -> bool:
    return one.kind == other.kind or one.kind in other.along or other.kind in one.along


def kinds_of_change(plan_sources: pathlib.Path) -> set[str]:
    """Return every kind of change that the plan's code can make, read from the calls in its sources."""
    kinds = set()
    for path in sorted(plan_sources.rglob("*.py")):
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(call, ast.Call) or not call.args or not isinstance(call.args[0], ast.Constant):
                continue
            called = call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")
            subject = ast.unparse(call.func)
            if called == "Change" or subject == "purge.add":
                kinds.add(str(call.args[0].value))
    return kinds
