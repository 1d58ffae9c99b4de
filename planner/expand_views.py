"""Expands views: each reference to a view becomes a subquery of its definition. No database is asked.

In: a statement, and a schema with the definitions of its views in the database's spelling. Out: a statement that
names tables only.

A view declared public that may read people's rows (`Ownership.may_show_owned`) is only queried alone. One person
could change any of its rows. In a join with private tables, or as groups, those would change other people's tuples. A
materialized view or a foreign table does not change when a person's rows go.

A view that reads tables outside the policy is unknown, as its tables are. Definitions are part of the schema's
fingerprint. Views of DuckDB are never expanded, since their text is DuckDB's SQL; they can be declared public.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from types import MappingProxyType

from sqlglot import exp

from planner.binding.derived_columns import ANSWERS, SCHEMAS, VIEW, refused_view
from planner.binding.outer_select import answer_within
from planner.binding.scope import table_reference
from planner.errors import PlannerError, StatementTooComplex, UnsupportedSQL
from planner.limits import check_depth
from planner.parsing.parse import Statement, private_select, read
from planner.policy.policy import Policy
from planner.postprocessing.allowed_sql import check_composed
from planner.postprocessing.decompose import decompose
from planner.public.route import check_public_grammar, means_cte, names_private_table
from planner.schema import Schema, View, table_name
from planner.sql.constant_intervals import written_interval
from planner.sql.trees import alias_or, cast_sql, children, copied, holds, named_as, nodes, position_of, tables_of

_OF_ONE_TYPE = (
    exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.In, exp.NullSafeEQ, exp.NullSafeNEQ, exp.Nullif,
    exp.Coalesce, exp.Least, exp.Greatest, exp.Pow, exp.Mod, exp.Add, exp.Sub, exp.Mul, exp.Div,
)  # fmt: skip
"""Operations that PostgreSQL applies to values of one type, so that a literal takes the type beside it."""


@lru_cache(maxsize=512)
def read_definition(definition: str) -> Statement:
    """Parse the definition of a view, as `pg_get_viewdef` writes it. The result is shared and must not be changed.

    Raises: PlannerError as `planner.parsing.parse.read`; its position is one in the definition.
    """
    statement = read(definition)
    tree = statement.tree
    for node in reversed(nodes(tree)):  # inner nodes first
        written = _plainer(node)
        if written is not None:
            node.replace(written)
    return replace(statement, tree=tree)


def refusal(definition: str, check: Callable[[Statement], object] = private_select) -> PlannerError | None:
    """Return why a grammar refuses a definition, or None. The default is the grammar of private tables."""
    try:
        check(read_definition(definition))
    except PlannerError as error:
        return error
    return None


def _plainer(node: exp.Expr) -> exp.Expr | None:
    """Return a node in an analyst's spelling; None if it has it already."""
    escaped = node.expression if isinstance(node, (exp.Like, exp.ILike)) else None
    if isinstance(escaped, exp.Anonymous) and escaped.name == "like_escape" and len(escaped.expressions) == 2:
        pattern, sign = (_without_type(part) for part in escaped.expressions)
        like = type(node)(this=node.this, expression=pattern, negate=node.args.get("negate"))
        return exp.Escape(this=like, expression=sign)
    value = node.this.unnest() if isinstance(node, exp.Cast) else None
    if not isinstance(node, exp.Cast) or not isinstance(value, exp.Literal):
        return None
    if isinstance(node.to.this, exp.Interval):  # `'2 mons'::interval month`
        return written_interval(cast_sql(value, "INTERVAL"))
    if node.to.this is exp.DataType.Type.DOUBLE and not value.is_string and _is_beside_a_column(node):
        return value
    # Another cast around it could change it. Alone, char(n) ignores blanks at the end of what it is compared with.
    known = node.to.this is exp.DataType.Type.BPCHAR and not node.to.expressions
    return value if known and not isinstance(_around(node), exp.Cast) else None


def _without_type(node: exp.Expr) -> exp.Expr:
    return node.this if isinstance(node, exp.Cast) else node


def _is_beside_a_column(node: exp.Expr) -> bool:
    """Does it stand beside a column, where both have one type?"""
    around = _around(node)
    if not isinstance(around, _OF_ONE_TYPE):
        return False
    own = [part for part in children(around) if part.unnest() is node]
    if isinstance(around, exp.Nullif) and around.this in own:  # its type is that of its first value
        return False
    return any(holds(part, exp.Column) for part in children(around) if part not in own)


def _around(node: exp.Expr) -> exp.Expr | None:
    around = node.parent
    while isinstance(around, exp.Paren):
        around = around.parent
    return around


_ITS_OWN = MappingProxyType(
    {
        "materialized view": "it is materialized: its rows stay after people leave its tables",
        "view": "its definition cannot be read",
    }
)

MAX_VIEWS = 64
"""The most views of one statement, including those within views: short definitions may double at each level."""


def expanded(
    statement: Statement, schema: Schema, policy: Policy, search_path: Sequence[str] | None = None
) -> Statement:
    """Expand the views of a statement; a statement without such views is returned as it is.

    Every node of a definition has the position of the view's name. Raises: UnsupportedSQL, naming the view, for a
    definition outside the grammar; StatementTooComplex for more than MAX_VIEWS.
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
        assert used.view.definition is not None, "it is written out"
        found = refusal(used.view.definition, private_select if private else check_public_grammar)
        if found is not None and not (private and _is_composed(used, schema, policy)):
            raise refused_view(used.view.table.name, found, used.position)
    return replace(statement, tree=tree)


def is_known(name: str, schema: Schema, policy: Policy) -> bool:
    """May the relation be named: is it a table of the policy, or a view over such relations only?"""
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
    """An expanded view: its position in the statement and its body."""

    view: View
    position: int | None
    body: exp.Query


class _Expansion:
    def __init__(self, schema: Schema, policy: Policy, search_path: Sequence[str]) -> None:
        self._schema = schema
        self._policy = policy
        self._search_path = search_path
        self.used: list[_Used] = []
        self._count = 0

    def named(self, table: exp.Table) -> View | None:
        """Return the view that a reference means, whatever the policy says of it; None for a declared table."""
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
                    raise UnsupportedSQL("it reads a relation without a schema", position=position_of(table))
                continue
            table.replace(self._subquery(table, view, within))

    def _subquery(self, table: exp.Table, view: View, within: Mapping[str, None]) -> exp.Subquery:
        name, position = view.table.name, position_of(table.this)
        if table.args.get("sample") is not None:
            hint = "sample one of the tables inside it"
            raise UnsupportedSQL("TABLESAMPLE on a view is not supported", hint=hint, position=position)
        self._count += 1
        if self._count > MAX_VIEWS:
            raise StatementTooComplex(f"more than {MAX_VIEWS} views, including those within views", position=position)
        try:
            body = self._body(view, position, within)
        except StatementTooComplex:
            raise
        except PlannerError as error:
            raise refused_view(name, error, position) from None
        self.used.append(_Used(view, position, body))
        alias = alias_or(table, exp.to_identifier(view.table.relation, quoted=True))
        subquery = exp.Subquery(this=body, alias=alias, joins=table.args.get("joins"))
        subquery.meta[VIEW] = name
        if answer_within(body) is not None:
            subquery.meta[ANSWERS] = names_private_table(body, self._schema, self._policy, self._search_path)
        if named_as(table)[0] is None:
            subquery.meta[SCHEMAS] = view.table.schemas
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


def _is_composed(used: _Used, schema: Schema, policy: Policy) -> bool:
    """Is it computed from several answers, each of which is within the grammar?"""
    assert used.view.definition is not None, "it is written out"
    tokens = read_definition(used.view.definition).tokens
    try:
        split = decompose(used.body, schema, policy)
        if split is None or not split.parts:
            return False
        check_composed(split, tokens, "postgres")
    except PlannerError:
        return False
    return True
