"""What may be asked: tables, columns, what the policy declares of them, how tables join. No statistics of rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from planner.policy.policy import ColumnPolicy, Policy
from planner.policy.table_lookup import table_in_sql
from planner.schema import Schema, Table
from planner.sql.sql_types import sql_type
from server.explain.catalog_table import CatalogColumn, CatalogTable, JoinPath
from server.explain.examples import Example, examples

if TYPE_CHECKING:
    from planner.examine_views import ShownView

_SHOWN_VALUES = 12


@dataclass(frozen=True)
class Catalog:
    """What may be asked, and the defaults of asking. It says nothing of private rows, not even how many there are.

    Attributes:
      dataset: the name that clients connect to.
      schemas: where tables without a schema are looked for, in order.
      tables: and views.
      epsilon: what a query spends that does not say.
      min_epsilon: the least that one query may spend; a join whose duration depends on the data costs more.
      max_epsilon: the most that one query may spend.
      delta: as epsilon.
      time_grain: what now() is snapped to.
      answer_quantum_s: seconds: the answer of a join that may explode leaves at 1, 2, 4, ... times it; 0: at once.
      hold_all_answers: do the answers of other private questions wait as well?
      unbounded_joins: may private tables meet by other conditions than keys?
      max_join_tuples: a question whose public bound on join tuples is larger, or unknown, is refused; None: none is.
      examples: questions to begin with.
    """

    dataset: str
    schemas: tuple[str, ...]
    tables: tuple[CatalogTable, ...]
    epsilon: float
    min_epsilon: float
    max_epsilon: float
    delta: float
    time_grain: str
    answer_quantum_s: float
    hold_all_answers: bool
    unbounded_joins: bool
    max_join_tuples: int | None
    examples: tuple[Example, ...]


def catalog(schema: Schema, policy: Policy) -> Catalog:
    """What the policy lets anybody ask of the schema."""
    names = sorted(name for name in policy.tables if name in schema.tables)
    tables = tuple(_table(schema.tables[name], schema, policy, names) for name in names)
    # The planner is not loaded by who only reads a catalog that was sent: the command line, say.
    from planner.examine_views import shown_views

    views = tuple(_view(view, schema, policy) for view in shown_views(schema, policy))
    settings = policy.side_channels
    return Catalog(
        policy.name,
        policy.schemas,
        tables + views,
        policy.epsilon,
        settings.min_epsilon,
        policy.max_epsilon,
        policy.delta,
        policy.time_grain,
        settings.answer_quantum_s,
        settings.hold_all_answers,
        settings.unbounded_joins,
        settings.max_join_tuples,
        examples(tables, policy.epsilon),
    )


def _table(table: Table, schema: Schema, policy: Policy, names: list[str]) -> CatalogTable:
    columns = tuple(
        _column(column.name, column.type, column.nullable, policy.column(table.name, column.name))
        for column in table.columns
    )
    unit = table.name in policy.privacy_units
    joins = tuple(path for path in _joins(table, policy) if path.table in names)
    sql, public = table_in_sql(table, schema, policy.schemas), policy.is_public(table.name)
    return CatalogTable(table.name, table.namespace, sql, public, unit, columns, table.keys, joins)


def _view(view: ShownView, schema: Schema, policy: Policy) -> CatalogTable:
    """A view: what the policy declares of a column holds where the view shows it as it is."""
    columns = tuple(
        _column(shown.column.name, shown.column.type, shown.column.nullable, policy.column(*shown.base or ("", "")))
        for shown in view.columns
    )
    table = schema.views[view.name].table
    sql = table_in_sql(table, schema, policy.schemas)
    return CatalogTable(view.name, table.namespace, sql, view.public, False, columns, (), (), "view")


def _joins(table: Table, policy: Policy) -> Iterator[JoinPath]:
    """The catalog's foreign keys as the policy changes them, then those that only the policy declares."""
    declared = {key.columns: key for key in policy.foreign_keys if key.table == table.name}
    for key in table.foreign_keys:
        said = declared.pop(key.columns, None)
        yield JoinPath(key.columns, key.references, key.key, said is None or said.owning)
    for said in declared.values():
        yield JoinPath(said.columns, said.references, said.key, said.owning)


def _column(name: str, kind: str, nullable: bool, declared: ColumnPolicy) -> CatalogColumn:
    low: float | str | None = None
    high: float | str | None = None
    if declared.range is not None:
        low, high = declared.range
    elif declared.dates is not None:
        low, high = (day.isoformat() for day in declared.dates)
    labels = sql_type(kind).labels
    kind = "enum" if labels else kind
    values = declared.domain if declared.domain is not None else labels or None
    domain = None if values is None else tuple(str(value) for value in values)
    return CatalogColumn(name, kind, nullable, low, high, domain, "; ".join(_words(low, high, domain)))


def _words(low: float | str | None, high: float | str | None, domain: tuple[str, ...] | None) -> Iterator[str]:
    if low is not None:
        yield f"{_spelled(low)} to {_spelled(high)}"
    if domain is not None:
        more = "" if len(domain) <= _SHOWN_VALUES else f" and {len(domain) - _SHOWN_VALUES} more"
        yield f"{', '.join(domain[:_SHOWN_VALUES])}{more}"


def _spelled(bound: float | str | None) -> str:
    return f"{bound:g}" if isinstance(bound, float) else str(bound)
