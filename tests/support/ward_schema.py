"""The catalog of `tests.support.ward_grid`, without a file."""

from __future__ import annotations

from planner.schema import PUBLIC, Column, ForeignKey, Schema, Table


def ward_schema() -> Schema:
    """Patients, and visits that belong to them."""
    patient = "id bigint, ward text, month integer, sex text ?, age integer"
    visit = "id bigint, patient bigint, place text, kind text"
    key = ForeignKey(("patient",), "patient", ("id",))
    return Schema({"patient": _table("patient", patient), "visit": _table("visit", visit, key)})


def _table(name: str, columns: str, *keys: ForeignKey) -> Table:
    found = []
    for column in columns.split(", "):
        named, kind, *nullable = column.split()
        found.append(Column(named, kind, bool(nullable)))
    return Table(name, PUBLIC, tuple(found), (("id",),), keys, ("id",))
