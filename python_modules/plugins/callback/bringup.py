# SPDX-License-Identifier: Apache-2.0
"""Show the plans and the summary of a bring-up run, and keep its report."""

from __future__ import annotations

DOCUMENTATION = r"""
name: bringup
type: aggregate
short_description: Show the plans and the summary of a bring-up run, and keep its report
description:
  - Prints each node's plan as it is made, and a table of all verdicts at the end.
  - Writes C(results.json) into the run's folder as nodes finish, so often that it takes a tenth of the time at most,
    and C(index.html) and C(junit.xml) at the end. While a run goes on, or when it was cut, C(results.json) says C(complete) false.
  - Does nothing in a playbook that does not call M(instinct.bringup.run).
version_added: 0.1.0
author: The instinct-bringup authors
requirements:
  - Enabled by C(callbacks_enabled) in C(ansible.cfg).
"""

import typing as t

from ansible.plugins.callback import CallbackBase

from ansible_collections.instinct.bringup.plugins.plugin_utils.bytecode import keep_bytecode

if t.TYPE_CHECKING:
    from ansible.executor.stats import AggregateStats
    from ansible.executor.task_result import CallbackTaskResult
    from ansible.inventory.host import Host
    from ansible.playbook.play import Play
    from ansible.playbook.task import Task

    from ansible_collections.instinct.bringup.plugins.plugin_utils.report.recorder import RunRecorder

RUN = "instinct.bringup.run"
PLAN = "instinct.bringup.plan"
VERIFY = "instinct.bringup.verify"


class CallbackModule(CallbackBase):
    """Hand the events of a run to its recorder. A report that cannot be written warns and stops nothing."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "instinct.bringup.bringup"
    CALLBACK_NEEDS_ENABLED = True

    def __init__(self) -> None:
        super().__init__()
        # None as long as there was no run of ours.
        self._recorder: RunRecorder | None = None
        self._opens_run = False

    def v2_runner_on_ok(self, result: CallbackTaskResult) -> None:
        """Start with the run, show a plan, take up a verdict."""
        action = _action(result)
        if action == RUN and "run" in result.result:
            self._guarded(self._take_up().start, result.result["run"]["dir"])
        elif self._recorder is None:
            return
        elif action == PLAN:
            # A plan that is made again, after the driver came, has nothing new for a person.
            if self._guarded(self._recorder.planned, _host(result)):
                self._show_plan(result)
        elif action == VERIFY:
            self._guarded(self._recorder.refresh, _host(result))

    def v2_runner_on_failed(self, result: CallbackTaskResult, ignore_errors: bool = False) -> None:
        """Note why a host goes no further; what a play ignores is none of ours."""
        if ignore_errors or self._recorder is None:
            return
        action = _action(result)
        role = result.task._role
        self._guarded(
            self._recorder.failed,
            _host(result),
            result.task_name,
            _message(result.result),
            action=action,
            role=role.get_name(False) if role else "",
        )

    def v2_runner_on_unreachable(self, result: CallbackTaskResult) -> None:
        """Note that a host does not answer."""
        if self._recorder is not None and not result.task_fields.get("ignore_unreachable"):
            self._guarded(self._recorder.unreachable, _host(result), _message(result.result))

    def v2_runner_on_start(self, host: Host, task: Task) -> None:
        """Take the occasion to write what was held back."""
        if self._recorder is not None:
            self._guarded(self._recorder.tick)

    def v2_playbook_on_play_start(self, play: Play) -> None:
        """Remember whether the play is one of ours, and load what its processes will share."""
        self._opens_run = any(_full_name(task) == RUN for block in play.tasks for task in block.block)
        if self._opens_run:
            self._take_up()
            from ansible_collections.instinct.bringup.plugins.plugin_utils.warm import warm

            warm()

    def v2_playbook_on_no_hosts_matched(self) -> None:
        """End a run of ours that has nobody to look at: exit 0 would read as a verdict.

        :raises SystemExit: with 4, as for hosts that do not answer.
        """
        if self._opens_run:
            self._display.error(
                "No host to look at, so there is no verdict. The inventory has no host, or none that the pattern matches. "
                "Name the inventory with -i, and look at `ansible-inventory -i … --graph`."
            )
            raise SystemExit(4)

    def v2_playbook_on_stats(self, stats: AggregateStats) -> None:
        """Write the whole report and show the summary."""
        if self._recorder is None:
            return
        results = self._guarded(self._recorder.finish)
        if results is not None and self._recorder.folder is not None:
            from ansible_collections.instinct.bringup.plugins.plugin_utils.report.summary import summary_table

            self._display.display(f"\n{summary_table(results)}\nreport: {self._recorder.folder.path}/index.html")

    def _take_up(self) -> RunRecorder:
        """Return the recorder. What it needs is imported here, since every other playbook would pay for it."""
        if self._recorder is None:
            keep_bytecode()
            from ansible_collections.instinct.bringup.plugins.plugin_utils.report.recorder import RunRecorder

            self._recorder = RunRecorder()
        return self._recorder

    def _show_plan(self, result: CallbackTaskResult) -> None:
        text = result.result.get("plan_text")
        if text:
            self._display.display(f"\n{text}")

    def _guarded(self, function: t.Callable[..., t.Any], *args: t.Any, **kwargs: t.Any) -> t.Any:
        """Call the recorder; a full disk under the report must not end the run on the nodes."""
        from ansible_collections.instinct.bringup.plugins.plugin_utils.report.run_folder import RunFolderError

        try:
            return function(*args, **kwargs)
        except (OSError, RunFolderError) as error:
            self._display.warning(f"the report could not be written: {error}")
            return None


def _full_name(task: Task) -> str:
    """Return the full name of a task's action. Only a short one is resolved: Ansible warns of one that it cannot."""
    action = str(task.action)
    return action if "." in action else str(task.resolved_action or action)


def _action(result: CallbackTaskResult) -> str:
    return _full_name(result.task)


def _host(result: CallbackTaskResult) -> str:
    return str(result.host.get_name())


def _message(result: t.Mapping[str, t.Any]) -> str:
    """Return a failed task's message, of a loop the first failed item's. Arguments are never looked at."""
    items = [item for item in result.get("results") or [] if isinstance(item, dict)]
    failed = next((item for item in items if item.get("failed") and item.get("msg")), result)
    message = str(failed.get("msg") or result.get("censored") or "")
    if message.startswith("non-zero return code"):
        # All that a command's task says by itself; why is in what the command said last.
        said = str(failed.get("stderr") or failed.get("stdout") or "").strip().splitlines()
        message = " / ".join([f"exit {failed.get('rc')}", *(line.strip() for line in said[-6:] if line.strip())])
    return message
