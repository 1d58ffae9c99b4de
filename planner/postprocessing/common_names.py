"""The names of WITH, each made to mean one thing in the whole statement.

A statement is taken apart by the names of its queries in WITH (`planner.postprocessing.decompose`), and its parts are
put together again from them. SQL lets a name mean a table in the body of the query that takes it, and another query
further inside. Such a query gets a name of its own:

    WITH visit AS (SELECT * FROM visit WHERE x = 1) SELECT count(*) FROM visit
      --> WITH "visit (1)" AS (SELECT * FROM visit WHERE x = 1) SELECT count(*) FROM "visit (1)" AS visit
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from types import MappingProxyType

from sqlglot import exp

from planner.sql.trees import children, fold, quoted, tables_of


def with_own_names(tree: exp.Query) -> exp.Query:
    """Give each query in WITH whose name means something else elsewhere a name of its own, in place.

    Args:
      tree: a statement of its own.
    Returns: the same tree.
    Cost: a walk through the statement.

    >>> from sqlglot import parse_one
    >>> with_own_names(parse_one("WITH t AS (SELECT * FROM t) SELECT t.x FROM t", dialect="postgres")).sql("postgres")
    'WITH "t (1)" AS (SELECT * FROM t) SELECT t.x FROM "t (1)" AS t'
    """
    entries = [fold(entry.args["alias"].this) for entry in tree.find_all(exp.CTE)]
    if not entries:
        return tree
    named = {fold(table.this) for table in tables_of(tree) if isinstance(table.this, exp.Identifier)}
    _Naming({*entries, *named}, {name for name in entries if entries.count(name) > 1}).write(
        tree, MappingProxyType({})
    )
    return tree


class _Naming:
    """Attributes: `taken`, names that a new one must not be; `repeated`, those that several queries have."""

    def __init__(self, taken: set[str], repeated: set[str]) -> None:
        self._taken = taken
        self._repeated = repeated

    def write(self, node: exp.Expr, known: Mapping[str, str | None]) -> None:
        """Rename below a node, where names mean what `known` says: a new name, or None for one that stays."""
        clause = node.args.get("with_") if isinstance(node, exp.Query) else None
        if clause is not None:
            known = dict(known)
            for entry in clause.expressions:
                name = fold(entry.args["alias"].this)
                inside = known
                if clause.args.get("recursive"):
                    inside = {**known, name: None}
                self.write(entry.this, inside)
                itself = name not in inside and any(_common_names(table, name) for table in tables_of(entry.this))
                known = {**known, name: self._named(entry, name) if itself or name in self._repeated else None}
        waiting = [child for child in children(node) if child is not clause]
        while waiting:  # conditions are as deep as they are long
            inner = waiting.pop()
            if isinstance(inner, exp.Query) and inner.args.get("with_") is not None:
                self.write(inner, known)
                continue
            if isinstance(inner, exp.Table):
                self._refer(inner, known)
            waiting += children(inner)

    def _named(self, entry: exp.CTE, name: str) -> str:
        made = next(made for index in itertools.count(1) if (made := f"{name} ({index})") not in self._taken)
        self._taken.add(made)
        entry.args["alias"].set("this", quoted(made))
        return made

    def _refer(self, table: exp.Table, known: Mapping[str, str | None]) -> None:
        made = known.get(fold(table.this)) if _is_plain(table) else None
        if made is None:
            return
        alias = table.args.get("alias")
        if alias is None or alias.this is None:
            columns = alias.args.get("columns") if alias is not None else None
            table.set("alias", exp.TableAlias(this=table.this, columns=columns))
        identifier = quoted(made)
        identifier.meta.update(table.this.meta)
        table.set("this", identifier)


def _is_plain(table: exp.Table) -> bool:
    return table.args.get("db") is None and isinstance(table.this, exp.Identifier)


def _common_names(table: exp.Table, name: str) -> bool:
    return _is_plain(table) and fold(table.this) == name
