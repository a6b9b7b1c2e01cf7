"""Artifacts: read from the store of this client, or else through the server; stored so that they are deleted later."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from ..arguments import check_range, check_tenant, check_text, check_uuid
from ..artifacts.forms import form
from ..artifacts.store import StoredArtifact, SweepResult, owned_key, parse_key
from ..artifacts.stored_value import StoredContent, is_stored_value, offloadable, stored_value
from ..errors import ArtifactNotFoundError, ArtifactStoreRequiredError, InvalidArgumentError
from ..fast import loads
from ..operations.call import Call, nothing, whole
from ..transport.base import ServerFiles
from ..words import UNSET, Bounds

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ..arguments import Tenant
    from ..artifacts.forms import AnyStore, ArtifactStore
    from ..artifacts.store import ListedArtifact
    from .runner import Runner

T = TypeVar("T")

_JSON: Final = "application/json"
_SWEEP_LIMIT: Final = Bounds(1, 1000)
_LINK_SECONDS: Final = Bounds(1, 7 * 86_400)


class Artifacts:
    """Large contents outside of the database, such as reports: `forge.artifacts`."""

    def __init__(self, runner: Runner, store: AnyStore | None) -> None:
        """The runner must not be that of a transaction: a note that is rolled back would leave a content for ever."""
        self._runner = runner
        self.store = store
        """The store of this client, if it has one."""
        self._store = None if store is None else form(store)

    def get(self, ref: str, *, tenant: Tenant) -> Iterator[builtins.bytes]:
        """The content of an artifact, such as `artifact_ref` of a report: `for part in artifacts.get(ref, …)`.

        Raises an ArtifactNotFoundError if the tenant has no such artifact. Without a store, a client over HTTP asks
        the server.
        """
        key = owned_key(ref, check_tenant(tenant))
        if self._store is not None:
            for part in self._store.get(key.ref):
                yield part
            return
        server = self._server()
        content = server.download(f"/v1/artifacts/{key.area}/{key.id}/{key.name}?tenant_id={key.tenant}")
        if content is None:
            raise ArtifactNotFoundError(ref)
        for part in content:
            yield part

    def bytes(self, ref: str, *, tenant: Tenant) -> builtins.bytes:
        """The whole content as bytes."""
        whole = bytearray()
        for part in self.get(ref, tenant=tenant):
            whole += part
        return builtins.bytes(whole)

    def text(self, ref: str, *, tenant: Tenant) -> str:
        """The whole content as text."""
        return (self.bytes(ref, tenant=tenant)).decode("utf-8")

    def url(self, ref: str, seconds: int, *, tenant: Tenant) -> str | None:
        """A link to the content for some seconds. None if the store cannot make one."""
        check_range(seconds, "seconds", _LINK_SECONDS)
        key = owned_key(ref, check_tenant(tenant))
        return self._required().url(key.ref, seconds)

    def put(
        self,
        name: str,
        content: Iterable[builtins.bytes] | builtins.bytes | str,
        *,
        tenant: Tenant,
        job_id: str,
        content_type: str = "application/octet-stream",
    ) -> str:
        """Stores a content of a job under a name, and returns its reference. The same name again replaces it.

        It is deleted when the job is forgotten.
        """
        folder = f"files/{check_tenant(tenant).lower()}/{check_uuid(job_id, 'job_id').lower()}"
        parts = one_part(content) if isinstance(content, str | bytes) else content
        store = self.keeping()
        stored = store.put(f"{folder}/{check_text(name, 'name')}", parts, content_type=content_type)
        return stored.ref

    def keeping(self, store: AnyStore | None = None) -> KeepingStore:
        """A store that tells the database of each folder before it puts something there.

        So the content is deleted when its job is forgotten, whatever crashes in between. Default: the store of this
        client.
        """
        return KeepingStore(self._runner, self._required() if store is None else form(store))

    @property
    def can_offload(self) -> bool:
        """Whether this client can store payloads: it has a store, or a server that does."""
        return self._store is not None or isinstance(self._runner.transport, ServerFiles)

    def offload_payload(self, text: str, *, tenant: str) -> dict[str, Any]:
        """Stores a payload that is too large for the database, and returns the reference that replaces it."""
        content = offloadable(text, "payload")
        if self._store is not None:
            return self._offload(self._store, content, "payloads", tenant, None, "payload.json")
        path = f"/v1/artifacts/payloads?tenant_id={tenant.lower()}"
        stored: dict[str, Any] = loads(self._server().upload(path, content))
        return stored_value(StoredArtifact(stored["ref"], stored["bytes"], stored["sha256"]))

    def offload_result(self, text: str, *, tenant: str, job_id: str, attempt: int) -> dict[str, Any]:
        """Stores a result. Each attempt has a name of its own: a run that has lost its lease may still store one."""
        content = offloadable(text, "result")
        return self._offload(self._required(), content, "results", tenant, job_id, f"result-{attempt}.json")

    def resolve(self, value: Any, *, tenant: Tenant) -> Any:
        """A payload or result as it was before it was offloaded. Any other value is returned as it is."""
        if not is_stored_value(value):
            return value
        content = StoredContent(value)
        for part in self.get(content.ref, tenant=tenant):
            content.add(part)
        return content.value()

    def sweep(self, *, limit: int = 100) -> SweepResult:
        """Deletes the artifacts of jobs that are forgotten from the store, up to `limit` jobs.

        Workers with a store do this themselves. Needs the rights of a worker or an operator.
        """
        args = {"p_limit": check_range(limit, "limit", _SWEEP_LIMIT)}
        store = self._required()
        found: dict[str, Any] = self._runner.run(Call("jobforge_take_artifacts", args, whole))
        deleted = 0
        emptied: list[dict[str, Any]] = []
        try:
            for folder in found["gone"]:
                prefix = f"{folder['area']}/{folder['tenant_id']}/{folder['id']}/"
                for each in store.list(prefix):
                    store.delete(each.ref)
                    deleted += 1
                emptied.append(folder)
        finally:
            # What was deleted is reported, even if the store then failed.
            if emptied:
                report = Call("jobforge_forget_artifacts", {"p_artifacts": emptied}, nothing)
                self._runner.run(report)
        return SweepResult(found["looked"], deleted)

    def _offload(
        self,
        store: ArtifactStore,
        content: builtins.bytes,
        area: str,
        tenant: str,
        job_id: str | None,
        name: str,
    ) -> dict[str, Any]:
        id = _note(self._runner, area, tenant, job_id)
        key = f"{area}/{tenant.lower()}/{id}/{name}"
        return stored_value(store.put(key, one_part(content), content_type=_JSON))

    def _required(self) -> ArtifactStore:
        if self._store is None:
            raise ArtifactStoreRequiredError
        return self._store

    def _server(self) -> ServerFiles:
        if not isinstance(self._runner.transport, ServerFiles):
            raise ArtifactStoreRequiredError
        return self._runner.transport


class KeepingStore:
    """A store that tells the database of each folder before it puts something there."""

    def __init__(self, runner: Runner, store: ArtifactStore) -> None:
        self._runner = runner
        self._store = store

    def put(self, key: str, content: Iterable[bytes], *, content_type: str) -> StoredArtifact:
        parts = parse_key(key)
        if parts is None:
            message = f"Invalid argument: {key} is not the key of an artifact"
            hint = "A name has up to 128 letters, digits, dots, hyphens and underscores."
            raise InvalidArgumentError(message, field="name", hint=hint)
        _note(self._runner, parts.area, parts.tenant, parts.id)
        return self._store.put(key, content, content_type=content_type)

    def get(self, ref: str) -> Iterator[bytes]:
        return self._store.get(ref)

    def url(self, ref: str, seconds: int) -> str | None:
        return self._store.url(ref, seconds)

    def delete(self, ref: str) -> None:
        self._store.delete(ref)

    def list(self, prefix: str) -> Iterator[ListedArtifact]:
        return self._store.list(prefix)


def _note(runner: Runner, area: str, tenant: str, job_id: str | None) -> str:
    """Tells the database of a folder. Returns its id."""
    args = {"p_tenant_id": tenant, "p_area": area, "p_job_id": UNSET if job_id is None else job_id}
    row = runner.run(Call("jobforge_note_artifact", args, whole))
    return cast("str", row["id"])


def one_part(content: bytes | str) -> Iterator[bytes]:
    """A content in one part."""
    yield content.encode() if isinstance(content, str) else content
