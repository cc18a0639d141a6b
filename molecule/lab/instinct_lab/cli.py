# SPDX-License-Identifier: Apache-2.0
"""The lab's commands: python -m instinct_lab COMMAND …"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from . import image, inventory, nodes, podman, settings
from .hardware import build, machine, overrides
from .podman import LabError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status (1 with a message when the lab cannot do it)."""
    options = _parser().parse_args(arguments)
    try:
        with _lock(options):
            return int(options.run(options) or 0)
    except LabError as error:
        print(f"instinct_lab: {error}", file=sys.stderr)
        return 1


@contextlib.contextmanager
def _lock(options: argparse.Namespace) -> Iterator[None]:
    """Let one command at a time change the lab: two builds of one mirror or one node would spoil each other."""
    if options.run in (_exec, _tree):
        yield
        return
    settings.STATE_DIR.mkdir(mode=0o755, parents=True, exist_ok=True)
    with settings.LOCK_FILE.open("a") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("instinct_lab: another command of the lab is at work, waiting for it", file=sys.stderr)
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="instinct_lab", description="Simulated nodes and a simulated vendor mirror.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    up = commands.add_parser("up", help="build what is missing, start the mirror and the nodes, write the inventory")
    up.add_argument("-N", type=int, default=None, metavar="COUNT", help="number of nodes (default 2)")
    up.add_argument("--node", action="append", default=[], metavar="NAME=STATE,MACHINE", help="one node, repeatable")
    up.add_argument("--no-mirror", action="store_true", help="leave the mirror alone (bare nodes only)")
    up.set_defaults(run=_up)

    reset = commands.add_parser("reset", help="nodes again in their state, in fresh containers")
    reset.add_argument("name", nargs="*")
    reset.set_defaults(run=_reset)

    down = commands.add_parser("down", help="remove containers and network")
    down.add_argument("--purge", action="store_true", help="also images, volumes and .lab")
    down.set_defaults(run=_down)

    run = commands.add_parser("exec", help="run a command in a node as root")
    run.add_argument("name")
    run.add_argument("words", nargs=argparse.REMAINDER, metavar="-- COMMAND")
    run.set_defaults(run=_exec)

    hardware = commands.add_parser(
        "hardware", help="change a running node's hardware", epilog=overrides.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    hardware.add_argument("name")
    hardware.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", dest="changes")
    hardware.add_argument("--reset", action="store_true", help="back to the machine as described")
    hardware.set_defaults(run=_hardware)

    tree = commands.add_parser("tree", help="write a machine as a plain root with sys/ and proc/")
    tree.add_argument("machine")
    tree.add_argument("destination", type=Path)
    tree.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", dest="changes")
    tree.set_defaults(run=_tree)

    mirror = commands.add_parser("mirror", help="the vendor mirror on its own")
    mirror.add_argument("action", choices=("start", "stop", "sign", "unsign", "status", "training"))
    mirror.set_defaults(run=_mirror)
    return parser


def _wanted(options: argparse.Namespace) -> list[nodes.Node]:
    given: dict[str, nodes.Node] = {}
    for entry in options.node:
        name, _, rest = entry.partition("=")
        state, _, shape = rest.partition(",")
        if not (name and state and shape):
            raise LabError(f"--node {entry}: write it as NAME=STATE,MACHINE")
        given[name] = nodes.make_node(name, state, shape)
    if options.N is None and given:
        return list(given.values())
    usual = nodes.default_nodes(2 if options.N is None else options.N)
    chosen = {node.name: node for node in usual} | given
    return sorted(chosen.values(), key=lambda node: settings.node_index(node.name))


def _up(options: argparse.Namespace) -> None:
    podman.require_tools()
    wanted = _wanted(options)
    if warning := nodes.raise_inotify_limit():
        print(warning, file=sys.stderr)
    _stage("images", image.ensure_base)
    podman.ensure_network()
    if not options.no_mirror:
        _stage("mirror", start_mirror)
    present = {node.name: node for node in nodes.load_cluster()}
    for node in wanted:
        old = present.pop(node.name, None)
        if old and (old.state, old.machine) == (node.state, node.machine):
            node.changes = old.changes
        elif old:
            nodes.remove([old])
    # Those that are not asked for any more.
    nodes.remove(list(present.values()))
    nodes.save_cluster(wanted)
    _stage("nodes", lambda: nodes.start_all(wanted, fresh=False))
    _finish(wanted)


def _finish(cluster: list[nodes.Node]) -> None:
    nodes.write_known_hosts(nodes.load_cluster())
    _stage("ready", lambda: nodes.wait_all(cluster))
    path = inventory.write(nodes.load_cluster())
    for node in cluster:
        print(f"{node.name}  {settings.node_address(node.name)}  {node.state:<10}  {node.machine}")
    print(f"inventory: {path.relative_to(settings.REPOSITORY)}")


def _stage(name: str, work: Callable[[], object]) -> None:
    started = time.monotonic()
    work()
    print(f"{name}: {time.monotonic() - started:.1f} s", flush=True)


def start_mirror() -> None:
    """Build the mirror when its content has changed, and start it."""
    try:
        from .mirror import build as mirror_build
        from .mirror import server
    except ImportError as error:
        raise LabError(f"the mirror cannot be loaded ({error}); `up --no-mirror` starts bare nodes") from error
    mirror_build.build(settings.MIRROR_DIR)
    server.start()


def _reset(options: argparse.Namespace) -> None:
    podman.require_tools()
    chosen = [nodes.find(name) for name in options.name] or nodes.load_cluster()
    names = {node.name for node in chosen}
    for node in chosen:
        node.changes = []
    nodes.save_cluster([next(n for n in chosen if n.name == o.name) if o.name in names else o
                        for o in nodes.load_cluster()])  # fmt: skip
    _stage("nodes", lambda: nodes.start_all(chosen, fresh=True))
    _finish(chosen)


def _down(options: argparse.Namespace) -> None:
    podman.require_tools()
    nodes.remove_all()
    made = [settings.INVENTORY_DIR / "hosts.yml", settings.INVENTORY_DIR / "group_vars" / "gpu_nodes.yml"]
    for path in (settings.CLUSTER_FILE, settings.KNOWN_HOSTS, *made):
        path.unlink(missing_ok=True)
    if options.purge:
        image.remove_all()
        podman.run("volume", "rm", "-f", settings.APT_CACHE_VOLUME, check=False)
        shutil.rmtree(settings.STATE_DIR, ignore_errors=True)


def _exec(options: argparse.Namespace) -> int:
    node = nodes.find(options.name)
    words = options.words[1:] if options.words[:1] == ["--"] else options.words
    if not words:
        raise LabError("exec: name a command after --")
    return podman.run("exec", node.container, *words, check=False, capture=False).returncode


def _hardware(options: argparse.Namespace) -> None:
    if not options.changes and not options.reset:
        raise LabError("hardware: say --set KEY=VALUE or --reset")
    node = nodes.change_hardware(nodes.find(options.name), options.changes, options.reset)
    print(f"{node.name}: {', '.join(node.changes) or 'as described'}")


def _tree(options: argparse.Namespace) -> None:
    build.write_offline(overrides.apply(machine.load(options.machine), options.changes), options.destination)


def _mirror(options: argparse.Namespace) -> None:
    if options.action == "start":
        start_mirror()
        return
    from .mirror import server, training

    if options.action == "training":
        training.serve()
        return

    result = getattr(server, options.action)()
    if result is not None:
        print(result)
