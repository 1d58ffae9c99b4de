"""What is wrong with a request, field by field, and which field or word was meant. Never the values that came."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from fastapi import Request
from fastapi.routing import APIRoute
from pydantic import BaseModel

from planner.suggestions import did_you_mean
from privacy.registry import why_not_served

_MAX_NAME_LENGTH = 64
_WORD = re.compile(r"'([^']*)'")


def fields_of(request: Request) -> Collection[str]:
    """The fields that the body of this request may have; none where the route takes no body."""
    route = request.scope.get("route")
    body = route.body_field if isinstance(route, APIRoute) else None
    model = None if body is None else body.field_info.annotation
    return model.model_fields if isinstance(model, type) and issubclass(model, BaseModel) else ()


def is_json(request: Request) -> bool:
    """Whether the body's media type is JSON's; any other body is not read as a JSON value."""
    kind, _, subtype = request.headers.get("content-type", "").partition(";")[0].strip().lower().partition("/")
    return kind == "application" and (subtype == "json" or subtype.endswith("+json"))


def fault_text(fault: Mapping[str, object], fields: Collection[str]) -> str:
    """Where the fault is and what should be there.

    Args:
      fault: one of pydantic's.
      fields: from `fields_of`.

    >>> fault_text({"type": "extra_forbidden", "loc": ("body", "epsilom"), "msg": "..."}, ["sql", "epsilon"])
    'body.epsilom: there is no such field; did you mean epsilon?'
    >>> fault_text({"type": "missing", "loc": ("body", "sql"), "msg": "Field required"}, ["sql", "epsilon"])
    'body.sql: Field required'
    """
    place = fault["loc"]
    assert isinstance(place, tuple)
    where = ".".join(str(part)[:_MAX_NAME_LENGTH] for part in place)
    kind, said, hint = fault["type"], str(fault["msg"]), None
    if kind == "extra_forbidden":
        said, hint = "there is no such field", did_you_mean(str(place[-1]), fields)
    elif kind == "literal_error" and isinstance(fault.get("input"), str):
        meant = str(fault["input"])
        unserved = why_not_served(meant) if place[-1] == "mechanism" else None
        hint = unserved or did_you_mean(meant, _WORD.findall(said))
    return f"{where}: {said}{'' if hint is None else f'; {hint}'}"
