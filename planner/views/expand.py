"""Views written out: each reference to one becomes the subquery that it stands for.

So who owns a row of a view is who owns the rows of the tables behind it; no database is ever asked for the view
itself, and what the policy says of its tables holds within it. Like a table, a view that reads what the policy does
not name is not there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from sqlglot import exp

from planner.binding.answer.outer_select import answer_within
from planner.binding.derived_columns import ANSWERS, NAMESPACE, VIEW, refused_view
from planner.binding.scope import table_reference
from planner.errors import PlannerError, StatementTooComplex, UnsupportedSQL
from planner.limits import check_depth
from planner.parsing.grammar import check_grammar
from planner.parsing.parse import Statement
from planner.policy.policy import Policy
from planner.postprocessing.allowed_sql import check_allowed
from planner.postprocessing.decompose import decompose
from planner.public.grammar import check_public_grammar
from planner.public.route import means_cte, names_private_table
from planner.schema import Schema, View, table_name
from planner.sql.trees import copied, nodes, position_of, tables_of
from planner.views.definition import read_definition, refusal

_ITS_OWN = MappingProxyType(
    {
        "materialized view": "it is materialized: its rows stay when the people behind them are gone",
        "view": "its definition cannot be read",
    }
)

MAX_VIEWS = 64
"""In one statement, with those within views: a short definition may name another twice, which names another twice."""


def expanded(
    statement: Statement, schema: Schema, policy: Policy, search_path: Sequence[str] | None = None
) -> Statement:
    """Write out the views that a statement names.

    Args:
      statement: from `planner.parsing.parse.read`; it is not changed.
      schema, policy, search_path: as for `planner.policy.table_lookup.find_table`.
    Returns: the statement itself where it names no view that can be queried; otherwise one whose every node of a
      definition has the place of the view's name.
    Raises: UnsupportedSQL for a view whose definition is not within the grammar of the statement's way, naming the
      view; StatementTooComplex for more than MAX_VIEWS.
    Cost: a walk through the statement; per view named a copy of its definition, which is parsed once.
    """
    expansion = _Expansion(schema, policy, policy.schemas if search_path is None else search_path)
    if not schema.views or not any(expansion.named(table) for table in tables_of(statement.tree)):
        return statement
    tree = copied(statement.tree)
    expansion.write_out(tree)
    if not expansion.used:
        return statement
    check_depth(tree)
    private = names_private_table(tree, schema, policy, search_path)
    for used in expansion.used:
        found = _refusal(used.view, private=private)
        if found is not None and not (private and _is_composed(used, schema, policy)):
            raise refused_view(used.view.table.name, found, used.position)
    return replace(statement, tree=tree)


def is_known(name: str, schema: Schema, policy: Policy) -> bool:
    """May the relation be named: a table that can be queried, or a view of nothing but such relations?

    Cost: linear in the views behind it.
    """
    found, waiting = {name}, [name]
    while waiting:
        relation = waiting.pop()
        if relation in schema.tables:
            if relation not in policy.tables:
                return False
            continue
        view = schema.views.get(relation)
        if view is None or view.kind not in _ITS_OWN:
            return False
        waiting += [other for other in view.reads if other not in found]
        found.update(view.reads)
    return True


@dataclass(frozen=True)
class _Used:
    """A view, where the statement names what led to it, and what it stands for."""

    view: View
    position: int | None
    body: exp.Query


class _Expansion:
    """Writes out one statement.

    Attributes:
      used: the views.
    """

    def __init__(self, schema: Schema, policy: Policy, search_path: Sequence[str]) -> None:
        self._schema = schema
        self._policy = policy
        self._search_path = search_path
        self.used: list[_Used] = []
        self._count = 0

    def named(self, table: exp.Table) -> View | None:
        """The view that a reference means, whatever the policy says of it; None for one declared to be a table."""
        if not isinstance(table.this, exp.Identifier) or means_cte(table):
            return None
        reference = table_reference(table)
        if reference.database is not None and reference.database not in (self._policy.name, self._schema.database):
            return None
        if reference.namespace is not None:
            name: str | None = table_name(reference.namespace, reference.relation)
        else:
            name = self._schema.name_on_path(reference.relation, self._search_path)
        return None if name is None or name in self._schema.tables else self._schema.views.get(name)

    def write_out(self, tree: exp.Query, within: Mapping[str, None] = MappingProxyType({})) -> None:
        """Replace each reference to a view, in place."""
        for table in tables_of(tree):
            view = self.named(table)
            if view is None or not is_known(view.table.name, self._schema, self._policy):
                if within and table.args.get("db") is None and not means_cte(table):
                    raise UnsupportedSQL("it reads what is in no schema", position=position_of(table))
                continue
            table.replace(self._subquery(table, view, within))

    def _subquery(self, table: exp.Table, view: View, within: Mapping[str, None]) -> exp.Subquery:
        name, position = view.table.name, position_of(table.this)
        if table.args.get("sample") is not None:
            hint = "sample one of the tables inside it"
            raise UnsupportedSQL("TABLESAMPLE on a view is not supported", hint=hint, position=position)
        self._count += 1
        if self._count > MAX_VIEWS:
            raise StatementTooComplex(f"more than {MAX_VIEWS} views, with those within views", position=position)
        alias = table.args.get("alias")
        if alias is None or alias.this is None:
            columns = alias.args.get("columns") if alias is not None else None
            alias = exp.TableAlias(this=exp.to_identifier(view.table.relation, quoted=True), columns=columns)
            qualified = True
        else:
            qualified = False
        try:
            body = self._body(view, position, within)
        except StatementTooComplex:
            raise
        except PlannerError as error:
            raise refused_view(name, error, position) from None
        self.used.append(_Used(view, position, body))
        subquery = exp.Subquery(this=body, alias=alias, joins=table.args.get("joins"))
        subquery.meta[VIEW] = name
        if answer_within(body) is not None:
            subquery.meta[ANSWERS] = names_private_table(body, self._schema, self._policy, self._search_path)
        if qualified:
            subquery.meta[NAMESPACE] = view.table.namespace
        return subquery

    def _body(self, view: View, position: int | None, within: Mapping[str, None]) -> exp.Query:
        if view.kind != "view" or view.definition is None:
            raise UnsupportedSQL(_ITS_OWN[view.kind])
        if view.table.name in within:
            raise UnsupportedSQL("it reads itself")
        body = read_definition(view.definition).tree.copy()
        for node in nodes(body):
            if node._meta and "start" in node._meta:
                node._meta = {**node._meta, "start": (position or 1) - 1}
        self.write_out(body, {**within, view.table.name: None})
        return body


def _refusal(view: View, *, private: bool) -> PlannerError | None:
    """Why the definition is not within the grammar of the way that the statement takes."""
    assert view.definition is not None, "it is written out"
    if private:
        return refusal(view.definition)
    return refusal(view.definition, lambda it: check_public_grammar(it.tree, it.tokens))


def _is_composed(used: _Used, schema: Schema, policy: Policy) -> bool:
    """Is it computed from several answers, of which each is within the grammar?"""
    assert used.view.definition is not None, "it is written out"
    tokens = read_definition(used.view.definition).tokens
    try:
        split = decompose(used.body, schema, policy)
        if split is None or not split.parts:
            return False
        check_allowed(split.outer, tokens, "postgres")
        for part in split.parts:
            check_grammar(part.select, tokens)
    except PlannerError:
        return False
    return True
