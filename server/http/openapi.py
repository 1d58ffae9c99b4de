"""The API's description in OpenAPI 3.1, with the problems of each route and the descriptions of records.

A body that is one of the server's own records takes its description from that record's docstring.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import is_dataclass
from functools import cache
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from server import query
from server import reloadable_pipeline as reloadable
from server.answers.proposals import accuracy
from server.answers.workload import workload
from server.error_table import TABLE
from server.explain import catalog
from server.http.exchange import MEDIA_TYPE, ProblemBody
from server.ledger import analyst, entry
from server.policy import accepted_policy

MAX_NUMBER = (1 << 53) - 1
"""The largest number of a charge or an entry in a request: exact in JSON, and within the ledger's 64-bit columns."""

_OF_HTTP = {400: "A body that is not JSON.", 404: "No such route."}
"""The framework's refusals, all with 08P01."""


@cache
def _codes(status: int) -> str:
    """The SQLSTATEs of an HTTP status, each with its fixed sentence or the first line of its error's docstring."""
    said = {"08P01": _OF_HTTP[status]} if status in _OF_HTTP else {}
    for kind, row in TABLE.items():
        if row.status == status:
            said.setdefault(row.code, row.sentence or inspect.cleandoc(kind.__doc__ or "").partition("\n")[0])
    return " ".join(f"{code}: {sentence}" for code, sentence in said.items())


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The `responses` of a route with these problems."""
    return {
        status: {"model": ProblemBody, "description": f"{HTTPStatus(status).phrase}. {_codes(status)}"}
        for status in statuses
    }


def describe(app: FastAPI) -> Callable[[], dict[str, Any]]:
    """The application's description, made once."""

    def description() -> dict[str, Any]:
        if not app.openapi_schema:
            made = get_openapi(
                title=app.title,
                version=app.version,
                openapi_version="3.1.0",
                summary=app.summary,
                description=app.description,
                routes=app.routes,
            )
            for operations in made["paths"].values():
                for operation in operations.values():
                    _set_media_types(operation["responses"])
            for name, schema in made["components"]["schemas"].items():
                if name in _RECORDS:
                    _describe(_RECORDS[name], schema)
            app.openapi_schema = made
        return app.openapi_schema

    return description


def _set_media_types(responses: dict[str, Any]) -> None:
    for status, response in responses.items():
        if int(status) >= 400:
            response["content"] = {MEDIA_TYPE: response["content"].pop("application/json")}


_ATTRIBUTE = re.compile(r"^  (\w[\w, ]*): (.+(?:\n    .+)*)", re.MULTILINE)


def _describe(record: type, schema: dict[str, Any]) -> None:
    """Copy the descriptions of a record and its fields from its docstring and those of its bases."""
    for kind in reversed(record.__mro__[:-1]):  # the record's own docstring comes last
        about, _, attributes = inspect.cleandoc(kind.__doc__ or "").partition("\n\nAttributes:\n")
        schema["description"] = " ".join(about.split())
        for names, said in _ATTRIBUTE.findall(attributes):
            for name in names.split(", "):
                if name in schema["properties"]:
                    schema["properties"][name]["description"] = " ".join(said.replace("None", "null").split())
    if record.__name__ in _EXAMPLES:
        schema["examples"] = [_EXAMPLES[record.__name__]]


_EXAMPLES: Mapping[str, object] = {
    "Explanation": {
        "rewritten_sql": "SELECT orders.o_custkey AS o0, count(*) * 1073741824 AS w0 FROM orders GROUP BY 1",
        "privacy_units": ["customer"],
        "owners": ["customer: orders.o_custkey"],
        "weight_bounds": [["count(*)", 1.0]],
        "groups_per_unit": 1,
        "mechanism": "gem",
        "reason": "one owner per row: truncation is exact",
        "epsilon": 1.0,
        "delta": 0.0,
        "expected_noise": [["count(*)", [[1.0, 3.0], [2.0, 6.0]]]],
        "columns": [{"name": "count", "type": "int8"}],
        "tuples_per_unit": 50,
        "tables": [{"alias": "orders_0", "table": "orders", "join": "inner", "added": False}],
        "ownership": ["orders_0: o_custkey references customer"],
        "n_groups": 1,
        "groups_reason": "there is one group",
        "mechanisms": [
            {"release": "count(*)", "mechanism": "gem", "epsilon": 1.0, "reason": "selects, then releases once"}
        ],
    },
    "Proposal": {
        "epsilon": 0.314,
        "delta": 0.0,
        "charge": 0.314,
        "epsilon_left": 9.0,
        "interval_width": 499.1,
        "relative_error": 0.0017,
        "basis": "released",
        "reason": "expected from your answer of charge 12",
    },
    "Budget": {"epsilon": 10.0, "delta": 0.0, "epsilon_left": 9.0, "delta_left": 0.0},
}

_RECORDS: Mapping[str, type] = {
    name: kind
    for module in (
        accepted_policy,
        accuracy,
        analyst,
        catalog,
        entry,
        query,
        reloadable,
        workload,
    )
    for name, kind in vars(module).items()
    if isinstance(kind, type) and is_dataclass(kind)
}
"""The records by the name of their schema."""
