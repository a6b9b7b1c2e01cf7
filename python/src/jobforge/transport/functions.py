"""The public SQL functions as clients call them, read from `api.json`, which is written from the catalog."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Literal

from ..errors import InvalidArgumentError
from ..sql_files import sql_root

if TYPE_CHECKING:
    from collections.abc import Mapping

Returns = Literal["json", "parts", "rows", "text", "timestamptz", "uuid", "void"]
"""One JSON value; a JSON document as rows of texts, its parts; rows, which clients get as an array; a JSON document as
a text; a time; a uuid; or nothing."""

_TENANT_IS_ARGUMENT: Final = frozenset(
    {
        "jobforge_claim_jobs",
        "jobforge_settle_jobs",
        "jobforge_settle_jobs_text",
        "jobforge_bind_role",
        "jobforge_create_token",
    }
)
"""Functions whose `p_tenant_id` does not say for whom they act: for workers it only narrows what is claimed."""


@dataclass(frozen=True, slots=True)
class ApiFunction:
    """One function of the API schema."""

    name: str
    parameters: Mapping[str, str]
    """Names with SQL types."""
    returns: Returns
    callers: tuple[str, ...]
    """The roles that may call it."""
    is_read_only: bool
    """Whether it changes nothing, so that a call can be repeated."""
    tenant: str | None
    """The parameter with the tenant, or the list of tenants, for which the call acts; None if it acts for none.

    A caller that is trusted to name its tenant names that one.
    """


@cache
def api_functions() -> Mapping[str, ApiFunction]:
    """All functions by name."""
    document = json.loads((sql_root() / "api.json").read_text(encoding="utf-8"))
    return {each["name"]: _read(each) for each in document["functions"]}


def api_function(name: str) -> ApiFunction:
    """One function. Raises an InvalidArgumentError if there is none."""
    found = api_functions().get(name)
    if found is None:
        raise InvalidArgumentError(f"There is no function {name}", field=name)
    return found


def _read(each: Mapping[str, Any]) -> ApiFunction:
    name: str = each["name"]
    parameters: dict[str, str] = {one["name"]: one["type"] for one in each["parameters"]}
    return ApiFunction(
        name,
        parameters,
        _returns(each["returns"]),
        tuple(each["callers"]),
        each["readOnly"],
        _tenant_of(name, parameters),
    )


def _tenant_of(name: str, parameters: Mapping[str, str]) -> str | None:
    if "p_tenant_ids" in parameters:
        return "p_tenant_ids"
    return "p_tenant_id" if "p_tenant_id" in parameters and name not in _TENANT_IS_ARGUMENT else None


def _returns(found: Mapping[str, Any]) -> Returns:
    if found["rows"]:
        return "parts" if found["type"] == "text" else "rows"
    returns: dict[str, Returns] = {
        "jsonb": "json",
        "json": "json",
        "text": "text",
        "uuid": "uuid",
        "void": "void",
        "timestamptz": "timestamptz",
    }
    return returns[found["type"]]
