"""Brings the policies of the handled types in line with their definitions when a worker starts.

The database decides what is applied. Whatever is not applied is logged, with the command that applies it. A worker
starts in any case.
"""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

from ...errors import ForbiddenError, InvalidArgumentError
from ...operations.sync import policies_of, sync_policies
from ..defaults import CALL_TIMEOUT, SYNC_RETRY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...definition import JobDefinition
    from ...policies import Difference, PolicySync
    from ...transport.base import AsyncTransport
    from ..reporting.log import WorkerLog
    from ..tasks import Tasks


class Definitions:
    def __init__(
        self,
        transport: AsyncTransport,
        log: WorkerLog,
        tasks: Tasks,
        *,
        definitions: Sequence[JobDefinition[Any, Any]],
        app_version: str | None,
    ) -> None:
        self._transport = transport
        self._log = log
        self._tasks = tasks
        self._definitions = definitions
        self._app_version = app_version
        self._is_stopped = False

    async def sync(self) -> None:
        """Syncs now. If the database cannot be reached, it tries again every minute until `stop`. Never raises."""
        try:
            await self._sync()
        except Exception as error:  # noqa: BLE001 - a worker starts in any case
            more = "" if self._is_stopped else "; trying again in a minute"
            self._log.warning({"err": error}, f"The policies could not be compared with the definitions{more}")
            if not self._is_stopped:
                self._tasks.spawn(self._sync_later())

    def stop(self) -> None:
        self._is_stopped = True

    async def _sync_later(self) -> None:
        await asyncio.sleep(SYNC_RETRY)
        if not self._is_stopped:
            await self.sync()

    async def _sync(self) -> None:
        try:
            await self._sync_some(self._definitions)
        except InvalidArgumentError:
            # One invalid definition must not keep the others from being applied. A second try would be refused as well.
            for definition in self._definitions:
                await self._sync_alone(definition)

    async def _sync_alone(self, definition: JobDefinition[Any, Any]) -> None:
        try:
            await self._sync_some([definition])
        except InvalidArgumentError as error:
            because = "" if error.field is None else f", because of {error.field}"
            self._log.error(
                {"err": error, "job_type": definition.type},
                f"The definition of {definition.type} is not applied to its policy{because}: {error.message}."
                " The policy stays as it is until the definition is corrected and a worker starts with it.",
            )

    async def _sync_some(self, definitions: Sequence[JobDefinition[Any, Any]]) -> None:
        # Most starts change nothing, and then one call that takes no locks is enough.
        planned = await self._call(definitions, dry_run=True)
        if all(each.known and each.action == "unchanged" for each in planned):
            self._report_kept(planned)
            return
        try:
            synced = await self._call(definitions, dry_run=False)
        except ForbiddenError:
            self._report_forbidden(planned)
            self._report_kept(planned)
        else:
            self._report_changes(synced)
            self._report_kept(synced)

    async def _call(self, definitions: Sequence[JobDefinition[Any, Any]], *, dry_run: bool) -> list[PolicySync]:
        steps = sync_policies(definitions, app_version=self._app_version, dry_run=dry_run)
        try:
            call = next(steps)
            while True:
                text = await self._transport.call(call.name, call.args, timeout=CALL_TIMEOUT)
                call = steps.send(call.result(text))
        except StopIteration as done:
            synced: list[PolicySync] = done.value
            return synced

    def _report_changes(self, synced: Sequence[PolicySync]) -> None:
        changed = [each for each in synced if each.action != "unchanged"]
        if not changed:
            return
        what = [f"{each.type} ({', '.join(map(_change, each.changes)) or 'as the default'})" for each in changed]
        self._log.info({}, f"Policies were set as the definitions say: {'; '.join(what)}")

    def _report_forbidden(self, planned: Sequence[PolicySync]) -> None:
        differing = [each for each in planned if each.changes]
        if not differing:
            return
        differences = "; ".join(_difference(each.type, each.changes) for each in differing)
        self._log.warning(
            {},
            "Definitions differ from the policies in the database, and this login may not change policies:"
            f" {differences}. Apply the definitions as a login with jobforge_operator:"
            f" {self._command(differing, force=False)}",
        )

    def _report_kept(self, synced: Sequence[PolicySync]) -> None:
        by_hand = [each for each in synced if each.kept_because == "set_by_hand"]
        if by_hand:
            differences = "; ".join(_difference(each.type, each.kept) for each in by_hand)
            self._log.warning(
                {},
                "Settings that an operator has set by hand differ from the definitions, and stay:"
                f" {differences}. To apply the definitions: {self._command(by_hand, force=True)}",
            )
        newer = [each for each in synced if each.kept_because == "newer_version"]
        if not newer:
            return
        own = "no version" if self._app_version is None else f"version {self._app_version}"
        differences = "; ".join(f"{_difference(each.type, each.kept)} [{each.version}]" for each in newer)
        self._log.warning(
            {},
            "A newer version of the application is in force, so the definitions of this worker"
            f" ({own}) are not applied: {differences}."
            f" If this is a rollback: {self._command(newer, force=True)}",
        )

    def _command(self, synced: Sequence[PolicySync], *, force: bool) -> str:
        """The statement that applies the definitions of these types. It can be copied as it is."""
        types = {each.type for each in synced}
        policies = policies_of([each for each in self._definitions if each.type in types])
        args = [_literal(json.dumps(policies, ensure_ascii=False))]
        if self._app_version is not None:
            args.append(f"p_version => {_literal(self._app_version)}")
        if force:
            args.append("p_force => true")
        return f"select jobforge_sync_policies({', '.join(args)});"


def _difference(type: str, differences: Sequence[Difference]) -> str:
    each = [
        f"{one.key} is {json.dumps(one.before)}, the definition says {json.dumps(one.after)}" for one in differences
    ]
    return f"{type} ({', '.join(each)})"


def _change(one: Difference) -> str:
    return f"{one.key} {json.dumps(one.before)} → {json.dumps(one.after)}"


def _literal(text: str) -> str:
    """A text as a literal of SQL."""
    quoted = "'" + text.replace("'", "''") + "'"
    return "E" + quoted.replace("\\", "\\\\") if "\\" in text else quoted
