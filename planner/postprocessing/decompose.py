"""Splits a statement into questions over private rows and a SELECT around their answers.

Post-processing of released answers is free (docs/mathematics.md, section 9.1). So a statement is split at every
SELECT that aggregates private rows. Each such SELECT becomes a part, which is planned, released and charged as if the
analyst had asked for it alone. The SQL around the parts reads relations that hold their answers.

Soundness needs one property: `outer` names no private table. `write_outer.py` checks it again: it looks every name up
and refuses private tables.

A query in WITH may have the name of a table that its own body reads, or of another query further inside. Such a query
first gets a unique name:

    WITH visit AS (SELECT * FROM visit WHERE x = 1) SELECT count(*) FROM visit
      --> WITH "visit (1)" AS (SELECT * FROM visit WHERE x = 1) SELECT count(*) FROM "visit (1)" AS visit
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import TypeVar

from sqlglot import exp

from planner.binding.from_clause import may_be_per_person
from planner.binding.group_keys import distinct_as_groups
from planner.binding.output_names import output_name
from planner.binding.person_tables import grouped_select
from planner.binding.scope import table_reference
from planner.binding.windowed_rows import first_rows, windowed_select, windows_apart
from planner.errors import StatementTooComplex
from planner.parsing.literal_rows import with_values
from planner.policy.policy import Policy
from planner.policy.table_lookup import find_table
from planner.postprocessing.beside_answers import BesideAnswers, part_from_answers
from planner.postprocessing.composed import (
    MAX_PARTS,
    Composed,
    NotComposed,
    Part,
    ReleasedTable,
    relation_name,
    released_table_name,
)
from planner.postprocessing.finer_groups import apart as by_finer_groups
from planner.postprocessing.released_core import asks_for_groups, released_core, subqueries
from planner.postprocessing.released_tables import (
    ONE,
    VALUE,
    grouped_by_outside,
    has_one_row,
    key_name,
    own_columns,
    unique_columns,
)
from planner.postprocessing.unions_of_rows import has_union, spread, union_of_answers
from planner.schema import Schema
from planner.sql.trees import (
    add_conditions,
    alias_or,
    bound_column,
    children,
    columns_of,
    conjunction,
    copied,
    fold,
    from_items,
    named_as,
    own_name,
    position_of,
    select_within,
    tables_of,
)


def with_own_names(tree: exp.Query) -> exp.Query:
    """Give each query in WITH a unique name if its name also means something else, in place, and return the tree.

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
    """Attributes: `taken`, the names in use; `repeated`, the names of several queries."""

    def __init__(self, taken: set[str], repeated: set[str]) -> None:
        self._taken = taken
        self._repeated = repeated

    def write(self, node: exp.Expr, known: Mapping[str, str | None]) -> None:
        """Rename below a node. `known` maps each name to its new name, or to None if it stays."""
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
        while waiting:  # no recursion: conditions are as deep as they are long
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
        entry.args["alias"].set("this", own_name(made))
        return made

    def _refer(self, table: exp.Table, known: Mapping[str, str | None]) -> None:
        made = known.get(fold(table.this)) if _is_plain(table) else None
        if made is None:
            return
        table.set("alias", alias_or(table, table.this))
        identifier = exp.to_identifier(made, quoted=True)  # a new one, since it gets a position
        identifier.meta.update(table.this.meta)
        table.set("this", identifier)


def _is_plain(table: exp.Table) -> bool:
    return table.args.get("db") is None and isinstance(table.this, exp.Identifier)


def _common_names(table: exp.Table, name: str) -> bool:
    return _is_plain(table) and fold(table.this) == name


class Reads(Enum):
    """What a query reads: private rows; answers, with or without public rows; or public rows only."""

    ROWS = "rows"
    ANSWERS = "answers"
    PUBLIC = "public"


def _together(found: Collection[Reads]) -> Reads:
    return next((reads for reads in Reads if reads in found), Reads.PUBLIC)


@dataclass(frozen=True)
class _Common:
    """A query in WITH: what it reads, its text (over rows the analyst's, else over answers), and its columns."""

    reads: Reads
    written: exp.CTE
    columns: tuple[str, ...]


_Visible = Mapping[str, _Common]

_Q = TypeVar("_Q", bound=exp.Query)


def decompose(
    tree: exp.Query,
    schema: Schema,
    policy: Policy,
    search_path: Sequence[str] | None = None,
    *,
    lists: bool = False,
) -> Composed | None:
    """Split a statement whose views are expanded; it is not changed. Cost: a few walks through it.

    Args:
      lists: are answers that are joined with private rows, or listed by IN, released before these are asked? Else the
        rows are grouped by the columns that meet an answer (`beside_answers.py`), which suits columns that are keys.
    Returns: None if no split exists: a SELECT lists private rows, joins them with an answer in a way that does not
      add up, or has them in a subquery of a condition.
    Raises: StatementTooComplex for too many questions.
    """
    splitting = _Decomposition(schema, policy, search_path, lists=lists)
    try:
        reads, outer = splitting.query(with_own_names(copied(tree)), MappingProxyType({}))
    except NotComposed:
        return None
    if reads is Reads.ROWS:
        return None
    _check_number(splitting.parts)
    return Composed(tuple(splitting.parts), outer, tuple(splitting.tables), splitting.groups_more)


def _check_number(parts: Sequence[Part]) -> None:
    if len(parts) > MAX_PARTS:
        message = f"the statement asks {len(parts)} questions, more than {MAX_PARTS}"
        hint = "ask for several aggregates in one SELECT, each with its FILTER (WHERE ...), or for fewer"
        places = [place for part in parts if (place := position_of(part.select)) is not None]
        raise StatementTooComplex(message, hint=hint, position=max(places, default=None))


class _Decomposition:
    def __init__(
        self, schema: Schema, policy: Policy, search_path: Sequence[str] | None, *, lists: bool = False
    ) -> None:
        self._schema = schema
        self._policy = policy
        self._search_path = search_path
        self._lists = lists
        self._by_text: dict[str, Part] = {}
        self._tables: dict[str, ReleasedTable] = {}
        self._beside: dict[int, list[exp.Expr]] = {}
        self.groups_more = False
        self._asked: dict[str, Reads | None] = {}

    @property
    def parts(self) -> list[Part]:
        return list(self._by_text.values())

    @property
    def tables(self) -> list[ReleasedTable]:
        return list(self._tables.values())

    def query(self, node: exp.Expr, visible: _Visible) -> tuple[Reads, exp.Query]:
        """Return what a query reads, and the query over answers; over private rows, the query itself."""
        if isinstance(node, exp.Subquery) and isinstance(node.this, exp.Query) and node.args.get("alias") is None:
            reads, inner = self.query(node.this, visible)
            node.set("this", inner)
            return reads, node
        if not isinstance(node, (exp.Select, exp.SetOperation)):
            raise NotComposed
        visible = self._with(node, visible)
        if isinstance(node, exp.SetOperation):
            return self._combined(node, visible), node
        reads = self._from(node, visible)
        if reads is not Reads.ROWS:
            found = {reads, *(self._condition(inner, visible) for inner in subqueries(node))}
            return _together(found), node
        if not asks_for_groups(node):
            if id(node) in self._beside and not self._lists:
                raise NotComposed
            self._release_items(node, visible)
            self._release_first(node, visible)
            return Reads.ROWS, node
        finer = (
            None
            if id(node) in self._beside
            else by_finer_groups(node, lambda name: self._names_column(node, name, visible))
        )
        return (Reads.ANSWERS, self._released(node, visible)) if finer is None else self.query(finer, visible)

    def _reads(self, query: exp.Query, visible: _Visible) -> Reads | None:
        """What a query reads, which is split in place but asked nowhere; None if it cannot be split."""
        trial = _Decomposition(self._schema, self._policy, self._search_path, lists=self._lists)
        try:
            return trial.query(query, visible)[0]
        except NotComposed:
            return None

    def _named_query(self, node: exp.Query, visible: _Visible) -> tuple[Reads, exp.Query]:
        """As `query`, for FROM and WITH: a query with a group or rows per person is no answer."""
        apart = windows_apart(node)
        listed = windowed_select(apart)
        if listed is not None and (apart is not node or first_rows(listed) is not None):
            alone = copied(listed)
            alone.set("distinct", None)
            if self._reads(alone, visible) is Reads.ROWS:
                return Reads.ROWS, node
        select = grouped_select(apart)
        if select is not None:
            try:
                alone = self._with_common(copied(select), visible, Reads.ROWS)
            except NotComposed:
                return self.query(node, visible)
            if may_be_per_person(alone, self._schema, self._policy, self._search_path):
                self._release_first(select, visible, per_person=True)
                return Reads.ROWS, node
        return self.query(node, visible)

    def _with(self, node: exp.Query, visible: _Visible) -> _Visible:
        """Split the queries of WITH; those that list private rows are left to the parts that read them."""
        clause = node.args.get("with_")
        if clause is None:
            return visible
        if clause.args.get("recursive"):
            raise NotComposed
        known, left = dict(visible), []
        for entry in clause.expressions:
            written, released = copied(entry), len(self._tables)
            reads, body = self._named_query(entry.this, known)
            if reads is not Reads.ROWS:
                entry.set("this", body)
                left.append(entry)
            kept = written if reads is Reads.ROWS and len(self._tables) == released else copied(entry)
            known[fold(entry.args["alias"].this)] = _Common(reads, kept, _names(entry))
        if left:
            clause.set("expressions", left)
        else:
            node.set("with_", None)
        return MappingProxyType(known)

    def _combined(self, node: exp.SetOperation, visible: _Visible) -> Reads:
        found = set()
        for side in ("this", "expression"):
            listed = _listed(node.args[side]) if isinstance(node, exp.Union) else None
            if listed is not None and listed.args.get("distinct") is not None:
                node.set(side, distinct_as_groups(listed))
            reads, body = self.query(node.args[side], visible)
            if reads is Reads.ROWS and listed is not None and node.args.get("distinct"):
                listed.set("distinct", exp.Distinct())
                reads, body = self.query(distinct_as_groups(listed), visible)
            node.set(side, body)
            found.add(reads)
        if Reads.ROWS in found and len(found) > 1:
            raise NotComposed
        return _together(found)

    def _from(self, select: exp.Select, visible: _Visible) -> Reads:
        """Split the items of FROM; answers beside private rows are noted for `_part_from_answers`."""
        reads_of = [(item, self._item(item, visible)) for item in from_items(select)]
        found = {one for _, one in reads_of}
        if Reads.ROWS in found and Reads.ANSWERS in found:
            self._beside[id(select)] = [item for item, one in reads_of if one is Reads.ANSWERS]
        return _together(found)

    def _item(self, item: exp.Expr, visible: _Visible) -> Reads:
        joined = {self._item(join.this, visible) for join in item.args.get("joins") or []}
        joined.add(self._alone(item, visible))
        if Reads.ROWS in joined and Reads.ANSWERS in joined:
            raise NotComposed
        return _together(joined)

    def _alone(self, item: exp.Expr, visible: _Visible) -> Reads:
        if isinstance(item, exp.Table):
            return self._table(item, visible)
        if isinstance(item, (exp.Subquery, exp.Paren, exp.Lateral)):
            inner = item.this
            if isinstance(inner, (exp.Table, exp.Paren)) or (isinstance(inner, exp.Subquery) and inner.alias):
                return self._item(inner, visible)
            if isinstance(inner, exp.Subquery) and isinstance(item, exp.Lateral):
                item, inner = inner, inner.this
            if isinstance(inner, exp.Query):
                if isinstance(item.parent, exp.Lateral) and Reads.ROWS in self._tables_read(inner, visible):
                    return Reads.ROWS
                reads, body = self._named_query(inner, visible)
                item.set("this", body)
                return reads
        return Reads.PUBLIC  # VALUES, functions of FROM, or what the grammar refuses

    def _tables_read(self, query: exp.Query, visible: _Visible) -> set[Reads]:
        """What the tables of a LATERAL subquery are, which is not split. Raises: NotComposed if some are answers."""
        found = {self._table(table, visible) for table in tables_of(query)}
        if Reads.ROWS in found and Reads.ANSWERS in found:
            raise NotComposed
        return found

    def _table(self, table: exp.Table, visible: _Visible) -> Reads:
        if not isinstance(table.this, exp.Identifier):
            return Reads.PUBLIC
        common = visible.get(fold(table.this)) if table.args.get("db") is None else None
        if common is not None:
            return common.reads
        found = find_table(table_reference(table), self._schema, self._policy, self._search_path)
        return Reads.PUBLIC if found is None or self._policy.is_public(found.name) else Reads.ROWS

    def _condition(self, inner: exp.Query, visible: _Visible) -> Reads:
        """Split a subquery of a condition or of the select list, in place. Raises: NotComposed if it lists private
        rows.
        """
        place = inner.parent
        reads, body = self.query(inner, visible)
        if reads is Reads.ROWS:
            raise NotComposed
        if body is not inner:
            assert place is not None, "a subquery stands somewhere"
            _put(place, inner, body)
        return reads

    def _released(self, select: exp.Select, visible: _Visible) -> exp.Query:
        """Replace a SELECT that aggregates private rows by a SELECT over the answer of its part."""

        def body(table: exp.Table) -> exp.Expr | None:
            common = visible.get(fold(table.this)) if table.args.get("db") is None else None
            return None if common is None or common.reads is not Reads.ROWS else common.written.this

        if self._lists:
            self._release_items(select, visible)
        beside = None if self._lists else self._part_from_answers(select, visible)
        adds_up = has_union(select, body) and (beside is not None or self._adds_up(copied(select), visible, body))
        core = released_core(select, lambda name: self._names_column(select, name, visible), adds_up, beside)
        self.groups_more |= core.more_keys
        for inner in subqueries(core.outer):
            self._condition(inner, visible)
        self._release_first(core.question, visible)
        if not adds_up:
            return core.over(exp.Table(this=own_name(self._part(core.question, visible).relation)))
        branches = spread(core.question, body)
        answers = [(one, self._part(one.question, visible).relation) for one in branches]
        columns = [item.alias for item in core.question.expressions]
        return core.over(exp.Subquery(this=union_of_answers(answers, columns)))

    def _adds_up(self, select: exp.Select, visible: _Visible, body: Callable[[exp.Table], exp.Expr | None]) -> bool:
        """Do the answers of a union's SELECTs add up? Otherwise its rows are asked for together."""
        try:
            core = released_core(select, lambda name: self._names_column(select, name, visible), True, None)
            spread(core.question, body)
        except NotComposed:
            return False
        return True

    def _part_from_answers(self, select: exp.Select, visible: _Visible) -> BesideAnswers | None:
        """Take the clauses that read answers out of a SELECT over private rows. Raises: NotComposed if that is
        impossible.
        """
        items = self._beside.get(id(select), [])
        aliases = {_name_of(item) for item in items if item.alias_or_name}
        names = {name for item in items for name in self._shown(item, visible)}

        def of_answers(column: exp.Column) -> bool | None:
            if not isinstance(column.this, exp.Identifier):
                return None
            if column.args.get("db") is not None:
                return False
            if column.args.get("table") is not None:
                return fold(column.args["table"]) in aliases
            name = fold(column.this)
            if name not in names and "*" not in names:
                return False
            return None if self._names_column(select, name, visible, but=aliases) else True

        def asks_answers(inner: exp.Query) -> bool:
            return not self._lists and self._asks(inner, visible) is Reads.ANSWERS

        found = part_from_answers(select, items, of_answers, asks_answers)
        if found is None and items:
            raise NotComposed
        return found

    def _shown(self, item: exp.Expr, visible: _Visible) -> tuple[str, ...]:
        """Return the column names of an item of FROM; a star for unknown ones."""
        _, given = named_as(item)
        if isinstance(item, exp.Table):
            common = visible.get(fold(item.this))
            listed = ("*",) if common is None else common.columns
        else:
            listed = _columns(item.this) if isinstance(item, exp.Subquery) else ("*",)
        return (*given, *listed[len(given) :])

    def _asks(self, inner: exp.Query, visible: _Visible) -> Reads | None:
        """Return what a query reads; None if it cannot be split. A text is tried once, however deep it is nested."""
        text = inner.sql("postgres")
        if text not in self._asked:
            trial = _Decomposition(self._schema, self._policy, self._search_path, lists=self._lists)
            trial._asked = self._asked
            try:
                self._asked[text] = trial._named_query(copied(inner), visible)[0]
            except NotComposed:
                self._asked[text] = None
        return self._asked[text]

    def _release_first(self, select: exp.Select, visible: _Visible, *, per_person: bool = False) -> None:
        """Replace answers in conditions and values of private rows by tables of released values, in place.

        Args:
          per_person: does it group by person? Then a value beside its aggregates is a key, the same in all groups.
        Raises: NotComposed for an answer that is neither one value, nor one per outer key, nor a list of IN.
        """
        joined: set[str] = set()
        for inner in subqueries(select):
            place, body = inner.parent, select_within(inner)
            if isinstance(place, (exp.Any, exp.All)) or body is None:
                continue
            reads = self._asks(body, visible)
            if reads is Reads.ROWS:
                self._named_query(body, visible)
            if reads is not Reads.ANSWERS or isinstance(place, exp.Exists):
                continue
            if isinstance(place, exp.In) and place.args.get("query") is inner:
                table = self._released_query(inner, visible, [VALUE], [VALUE])
                listed = exp.select(bound_column(table.name, VALUE), copy=False)
                listed.set("from_", exp.From(this=_released(table)))
                place.set("query", exp.Subquery(this=listed))
                continue
            grouped = per_person and not _within(inner, select.args.get("where"))
            column = self._value(inner, body, select, visible, joined)
            inner.replace(column)
            if grouped:
                select.args["group"].append("expressions", copied(column))

    def _value(
        self, inner: exp.Query, body: exp.Select, select: exp.Select, visible: _Visible, joined: set[str]
    ) -> exp.Expr:
        """Return the value of a subquery as a column of a table, which joins FROM."""

        def is_outside(column: exp.Column) -> bool:
            if not isinstance(column.this, exp.Identifier) or column.args.get("db") is not None:
                return False
            if column.args.get("table") is not None:
                named = fold(column.args["table"])
                return not any(_name_of(item) == named for item in _items(body) if item.alias_or_name) and any(
                    _name_of(item) == named for item in _items(select) if item.alias_or_name
                )
            name = fold(column.this)
            return not self._names_column(body, name, visible) and self._names_column(select, name, visible)

        ons = [join.args.get("on") for join in _joins(select)]
        place = next((place for place, on in enumerate(ons) if _within(inner, on)), None)
        suffix = "" if place is None else f" before {_joins(select)[place].this.alias_or_name}"
        if any(map(is_outside, own_columns(body))):
            grouped = grouped_by_outside(body, is_outside)
            if grouped is None:
                raise NotComposed
            keys = [key_name(place) for place in range(1, len(grouped.outside) + 1)]
            table = self._released_query(grouped.select, visible, [*keys, VALUE], keys)
            name = f"{table.name} of {', '.join(one.sql('postgres') for one in grouped.outside)}{suffix}"
            if name not in joined:
                pairs = zip(keys, grouped.outside, strict=True)
                met = conjunction(exp.EQ(this=bound_column(name, key), expression=outer) for key, outer in pairs)
                _join(select, exp.Join(this=_released(table, name), side="LEFT", on=met), place)
                joined.add(name)
            found: exp.Expr = bound_column(name, VALUE)
            return exp.Coalesce(this=found, expressions=[exp.Literal.number(0)]) if grouped.empty else found
        table = self._released_query(inner, visible, [VALUE], [])
        name = f"{table.name}{suffix}"
        if name not in joined:
            self._join_row(select, table, name, place)
            joined.add(name)
        return bound_column(name, VALUE)

    def _join_row(self, select: exp.Select, table: ReleasedTable, name: str, place: int | None = None) -> None:
        _join(select, exp.Join(this=_released(table, name), kind="CROSS"), place)
        add_conditions(select, [exp.EQ(this=bound_column(name, ONE), expression=exp.Literal.number(1))])

    def _release_items(self, select: exp.Select, visible: _Visible) -> None:
        """Replace answers in FROM beside private rows by tables of released values, in place.

        A table joins by its key from the left, so that the groups do not depend on which keys it has.
        """
        found = self._part_from_answers(select, visible)
        if found is None:
            return
        conditions, later = list(found.conditions), list(found.items)
        for item in found.items:
            later.remove(item)
            name, columns = _name_of(item), self._shown(item, visible)
            if not isinstance(item, (exp.Table, exp.Subquery)) or "*" in columns or item.args.get("joins"):
                raise NotComposed
            body = item.this
            if isinstance(item, exp.Table):
                body = exp.select("*", copy=False)
                body.set("from_", exp.From(this=exp.Table(this=item.this.copy())))
            table = self._table_of(body, visible, columns, self._keys(item, columns, visible))
            if not table.keys:
                self._join_row(select, table, name)
                continue
            others = {(_name_of(one), column) for one in later for column in self._shown(one, visible)}
            met = [one for one in conditions if _meets_key(one, name, columns, table.keys, others)]
            conditions = [one for one in conditions if not any(one is other for other in met)]
            on = conjunction(met) or exp.true()
            _join(select, exp.Join(this=_released(table, name), side="LEFT", on=on))
            present = exp.Is(this=bound_column(name, table.keys[0]), expression=exp.Null())
            conditions.append(exp.Not(this=present))
        add_conditions(select, conditions)

    def _keys(self, item: exp.Expr, columns: Sequence[str], visible: _Visible) -> tuple[str, ...]:
        """Return the columns of an answer in FROM that identify a row; empty if it has one row."""
        known = visible[fold(item.this)].written.this if isinstance(item, exp.Table) else item.this
        counted, common = self._n_keys, self._meaning(visible)
        if has_one_row(known, counted, common):
            return ()
        keys = unique_columns(known, counted, common)
        written = _columns(known)
        if keys is None or not set(keys) <= set(written):
            raise NotComposed
        return tuple(columns[written.index(key)] for key in keys)

    @property
    def _n_keys(self) -> dict[str, int]:
        return {part.relation: len(_group_of(part.select)) for part in self.parts}

    def _meaning(self, visible: _Visible) -> Callable[[exp.Table], exp.Expr | None]:
        def common(table: exp.Table) -> exp.Expr | None:
            found = visible.get(fold(table.this)) if _is_plain(table) else None
            return None if found is None or found.reads is Reads.ROWS else found.written.this

        return common

    def _released_query(
        self, query: exp.Query, visible: _Visible, columns: Sequence[str], keys: Sequence[str]
    ) -> ReleasedTable:
        """Split a query over private rows, and return the table of its rows, which are one row or one per key.

        Raises: NotComposed unless that follows from its form.
        """
        reads, body = self.query(copied(query.unnest()), visible)
        listed = _columns(body)
        if reads is not Reads.ANSWERS or "*" in listed or len(listed) != len(columns):
            raise NotComposed
        if not keys and not has_one_row(body, self._n_keys, self._meaning(visible)):
            raise NotComposed
        return self._table_of(body, visible, columns, keys)

    def _table_of(
        self, body: exp.Query, visible: _Visible, columns: Sequence[str], keys: Sequence[str]
    ) -> ReleasedTable:
        """Return the table of a query over answers; equal queries have one table."""
        body = self._with_common(copied(body), visible, Reads.ANSWERS)
        text = f"{body.sql('postgres')} by {keys}"
        if text not in self._tables:
            name = released_table_name(len(self._tables) + 1)
            self._tables[text] = ReleasedTable(name, body, tuple(columns), tuple(keys))
        return self._tables[text]

    def _part(self, question: exp.Select, visible: _Visible) -> Part:
        question = with_values(self._with_common(question, visible, Reads.ROWS))
        text = question.sql("postgres")
        if text not in self._by_text:
            self._by_text[text] = Part(relation_name(len(self._by_text) + 1), question)
        return self._by_text[text]

    def _with_common(self, question: _Q, visible: _Visible, reads: Reads) -> _Q:
        """Add to a query the queries in WITH that it reads. Raises: NotComposed if one of them reads something else.

        Args:
          reads: private rows or answers; public rows are beside both.
        """
        needed: dict[str, exp.CTE] = {}
        waiting: list[exp.Expr] = [question]
        while waiting:
            for table in tables_of(waiting.pop()):
                name = fold(table.this) if isinstance(table.this, exp.Identifier) else ""
                if table.args.get("db") is not None or name not in visible or name in needed:
                    continue
                if visible[name].reads not in (reads, Reads.PUBLIC):
                    raise NotComposed
                needed[name] = copied(visible[name].written)
                waiting.append(needed[name].this)
        own = question.args.get("with_")
        listed = [needed[name] for name in visible if name in needed]
        if listed:
            question.set("with_", exp.With(expressions=[*listed, *(own.expressions if own is not None else [])]))
        return question

    def _names_column(self, select: exp.Select, name: str, visible: _Visible, but: Collection[str] = ()) -> bool:
        """May a plain name mean a column of FROM, apart from the items `but`? True if it is not known."""
        waiting = from_items(select)
        while waiting:
            item = waiting.pop()
            waiting += [join.this for join in item.args.get("joins") or []]
            if item.alias_or_name and _name_of(item) in but:
                continue
            if isinstance(item, exp.Table):
                common = visible.get(fold(item.this)) if item.args.get("db") is None else None
                if common is not None:
                    if name in common.columns or "*" in common.columns:
                        return True
                    continue
                table = find_table(table_reference(item), self._schema, self._policy, self._search_path)
                if table is None or table.column(name) is not None:
                    return True
            elif isinstance(item, exp.Subquery) and isinstance(item.this, exp.Query):
                names = _columns(item.this)
                if name in names or "*" in names:
                    return True
            else:
                return True
        return False


def _released(table: ReleasedTable, name: str = "") -> exp.Table:
    return exp.Table(this=own_name(table.name), alias=exp.TableAlias(this=own_name(name or table.name)))


def _join(select: exp.Select, join: exp.Join, place: int | None = None) -> None:
    """Append a join to FROM, in place, or enter it before the join at a place; it may read every item before it.

    Raises: NotComposed if `*` would show its columns, or where items joined by a comma would mean something else.
    """
    commas = [
        one for one in _joins(select) if not (one.kind or one.side or one.method or set(one.args) & {"on", "using"})
    ]
    if commas and any(one.side in ("RIGHT", "FULL") for one in _joins(select)):
        raise NotComposed
    for one in commas:
        one.set("kind", "CROSS")
    items = _items(select)
    if any(isinstance(item, exp.Star) for item in select.expressions):
        if any(one.args.get("using") or one.method or not one.this.alias_or_name for one in _joins(select)):
            raise NotComposed
        stars = [exp.Column(this=exp.Star(), table=own_name(_name_of(item))) for item in items]
        star = next(number for number, item in enumerate(select.expressions) if isinstance(item, exp.Star))
        select.set("expressions", [*select.expressions[:star], *stars, *select.expressions[star + 1 :]])
    joins = _joins(select)
    at = len(joins) if place is None else place
    select.set("joins", [*joins[:at], join, *joins[at:]])


def _meets_key(
    condition: exp.Expr, name: str, columns: Sequence[str], keys: Sequence[str], later: Collection[tuple[str, str]]
) -> bool:
    """Does a condition equal a key of an item to something joined before it? `later`: columns joined after."""

    def of(column: exp.Column, owner: str, names: Collection[str]) -> bool:
        table = column.args.get("table")
        return fold(column.this) in names and (table is None or fold(table) == owner)

    if not isinstance(condition, exp.EQ):
        return False
    for side, other in ((condition.left.unnest(), condition.right), (condition.right.unnest(), condition.left)):
        read = columns_of(other)
        if (
            isinstance(side, exp.Column)
            and of(side, name, keys)
            and not any(
                of(one, name, columns) or any(of(one, *((owner, (column,)))) for owner, column in later)
                for one in read
            )
        ):
            return True
    return False


def _joins(select: exp.Select) -> list[exp.Join]:
    return select.args.get("joins") or []


def _items(select: exp.Select) -> list[exp.Expr]:
    found, waiting = [], from_items(select)[::-1]
    while waiting:
        item = waiting.pop()
        found.append(item)
        waiting += [join.this for join in item.args.get("joins") or []]
        if isinstance(item, exp.Paren) or (isinstance(item, exp.Subquery) and isinstance(item.this, exp.Table)):
            waiting.append(item.this)
    return found


def _within(node: exp.Expr, clause: exp.Expr | None) -> bool:
    above: exp.Expr | None = node
    while above is not None and above is not clause:
        above = above.parent
    return clause is not None and above is clause


def _group_of(select: exp.Select) -> list[exp.Expr]:
    group = select.args.get("group")
    return [] if group is None else group.expressions


def _name_of(item: exp.Expr) -> str:
    return fold(item.args["alias"].this if item.alias else item.this)


def _listed(side: exp.Expr) -> exp.Select | None:
    """Copy a side of a UNION that lists rows without groups or limits; None for any other."""
    while isinstance(side, (exp.Subquery, exp.Paren)) and side.args.get("alias") is None:
        side = side.this
    parts = ("group", "having", "order", "limit", "offset", "fetch")
    return copied(side) if isinstance(side, exp.Select) and not any(map(side.args.get, parts)) else None


def _names(entry: exp.CTE) -> tuple[str, ...]:
    _, written = named_as(entry)
    return (*written, *_columns(entry.this)[len(written) :])


def _columns(query: exp.Expr) -> tuple[str, ...]:
    """Return the column names of a query; a star for unknown ones."""
    while isinstance(query, exp.SetOperation):
        query = query.this
    if not isinstance(query, exp.Select):
        return ("*",)
    return tuple("*" if item.is_star else output_name(item) for item in query.expressions)


def _put(place: exp.Expr, before: exp.Expr, after: exp.Expr) -> None:
    for name, value in place.args.items():
        if value is before:
            place.set(name, after)
            return
        if isinstance(value, list) and any(part is before for part in value):
            place.set(name, [after if part is before else part for part in value])
            return
    raise AssertionError("it stands there")
