"""Find the table that a name in a statement means, by PostgreSQL's rules, among the tables of the policy.

The database always gets the table with its schema (`planner.sql.trees.table_sql`), so no session's search path
matters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from planner.errors import UnknownTable, nearest
from planner.policy.policy import Policy
from planner.schema import OF_FILE, PUBLIC, Schema, Table, sql_identifier, table_name

_SHOWN = 5

_VIEW: str | None = (
    "views of files are not read: write its SELECT in WITH; the administrator may declare a public one as a table"
)


@dataclass(frozen=True)
class TableReference:
    """A table as a statement names it: identifiers after folding; None for a part that is not written."""

    database: str | None
    namespace: str | None
    relation: str

    def __str__(self) -> str:
        return ".".join(part for part in (self.database, self.namespace, self.relation) if part is not None)


def find_table(
    reference: TableReference, schema: Schema, policy: Policy, search_path: Sequence[str] | None = None
) -> Table | None:
    """The table that a reference means.

    Args:
      schema: the catalog.
      policy: names the tables that can be queried, and the search path if none is given.
      search_path: schemas in which a name without one is looked for, in order.
    Returns: None for no table, for one that the policy does not name, and for one of another database. A name that
      means an unnamed table does not mean another one further down the path, since PostgreSQL would read the first.
    """
    if reference.database is not None and reference.database not in (policy.name, schema.database):
        return None
    if reference.namespace is not None:
        table = schema.at(reference.namespace, reference.relation)
    else:
        table = schema.on_path(reference.relation, policy.schemas if search_path is None else search_path)
    return table if table is not None and table.name in policy.tables else None


def table_in_sql(table: Table, schema: Schema, search_path: Sequence[str]) -> str:
    """How to name a table under a search path: with its schema, unless `public` needs none."""
    if table.name == table_name(PUBLIC, table.relation) and schema.on_path(table.relation, search_path) is table:
        return sql_identifier(table.relation)
    return f"{sql_identifier(table.namespace)}.{sql_identifier(table.relation)}"


def no_such_table(
    reference: TableReference,
    schema: Schema,
    policy: Policy,
    search_path: Sequence[str] | None = None,
    position: int | None = None,
) -> UnknownTable:
    """The error for an unknown reference, with the likely name if there is one.

    Args:
      reference, schema, policy, search_path: as of `find_table`.
      position: of the reference in the statement.
    """
    if reference.database is not None and reference.database not in (policy.name, schema.database):
        message = f"database {reference.database!r} does not exist"
        hint = f"leave out the database, or write {sql_identifier(policy.name)}"
        return UnknownTable(message, hint=hint, position=position)
    message = f"there is no table {str(reference)!r} that can be queried"
    view = schema.views.get(reference.relation)
    meant = _VIEW if view is not None and view.kind == OF_FILE else _meant(reference, schema, policy, search_path)
    return UnknownTable(message, hint=meant, position=position)


def _meant(
    reference: TableReference, schema: Schema, policy: Policy, search_path: Sequence[str] | None
) -> str | None:
    """Tables of this name in other schemas, else those with the most similar name."""
    names: dict[str, list[Table]] = {}
    for name in sorted(policy.tables.keys() & schema.tables.keys()):
        names.setdefault(schema.tables[name].relation, []).append(schema.tables[name])
    relation = reference.relation if reference.relation in names else nearest(reference.relation, names)
    if relation is None:
        return None
    same = names[relation]
    here = [table for table in same if reference.namespace == table.namespace] or same
    path = policy.schemas if search_path is None else search_path
    return f"did you mean {' or '.join(table_in_sql(table, schema, path) for table in here[:_SHOWN])}?"
