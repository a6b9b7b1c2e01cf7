"""Payloads and results that are too large for the database: read from the artifact store, and stored there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...artifacts.stored_value import OFFLOAD_BYTES, is_stored_value
from ...errors import ArtifactStoreRequiredError, PayloadTooLargeError
from ...jsontext import dumps
from .ending import failure, refusal

if TYPE_CHECKING:
    from ...aio.artifacts import AsyncArtifacts
    from ..claiming.protocol import Verdict
    from .run import Run


class Offloading:
    """Reads stored values for a worker, and stores large results if the worker offloads them."""

    def __init__(self, artifacts: AsyncArtifacts | None, *, stores_results: bool) -> None:
        self._artifacts = artifacts
        self._stores_results = stores_results

    async def read(self, run: Run, value: Any) -> Any:
        """A value as it was before it was offloaded. Raises if the worker cannot read it."""
        if not is_stored_value(value):
            return value
        if self._artifacts is None:
            raise ArtifactStoreRequiredError("The value is an artifact, and this worker has no artifact store")
        return await self._artifacts.resolve(value, tenant=run.job["tenant_id"])

    def wants(self, verdict: Verdict) -> bool:
        """Whether the result of this end must be stored outside of the database."""
        result = verdict.get("result")
        # A character has at most four bytes.
        if not self._stores_results or result is None or len(result) * 4 <= OFFLOAD_BYTES:
            return False
        return verdict["status"] == "succeeded" and len(result.encode()) > OFFLOAD_BYTES

    async def store(self, run: Run, verdict: Verdict) -> Verdict:
        """The end with a reference instead of its result."""
        if self._artifacts is None:
            return verdict
        tenant = run.job["tenant_id"]
        try:
            stored = await self._artifacts.offload_result(
                verdict["result"], tenant=tenant, job_id=run.id, attempt=run.attempt
            )
        except PayloadTooLargeError as error:
            return refusal(error)
        except Exception as error:  # noqa: BLE001 - a store may raise anything, and may work again later
            return failure(error)
        return {**verdict, "result": dumps(stored), "artifact_ref": stored["$artifact"]}
