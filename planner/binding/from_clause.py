"""Flattens FROM and WHERE of a SELECT, its subqueries and CTEs into one list of tables and one of conditions."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from planner.binding.conditions import is_strict
from planner.binding.derived_columns import (
    SCHEMAS,
    is_star,
    meant_sql,
    named,
    project,
    select_project_join,
    within_view,
)
from planner.binding.flattened import Flattened, Inside, check_connected
from planner.binding.group_keys import GroupKeys
from planner.binding.lateral import counted_from_zero, decorrelated, lateral_select, only_joins
from planner.binding.listed_rows import ListedRows
from planner.binding.outer_joins import OuterJoins, in_parentheses, mirrored, sides_of_full, written_at
from planner.binding.outer_select import groups_itself, inner_answer
from planner.binding.person_rows import enter_joined, enter_rows
from planner.binding.person_tables import (
    OwnRows,
    PersonRows,
    aggregated_select,
    check_person_rows,
    check_rows_of_persons,
    grouped_select,
    may_identify_a_person,
)
from planner.binding.scope import AGAIN, Meaning, Scope, Source, Tables, is_subquery
from planner.binding.semi_joins import is_semi_join, joined_inside, semi_join
from planner.binding.set_operations import check_person_in, sides_of
from planner.binding.subquery_values import SubqueryValues
from planner.binding.windowed_rows import WindowedRows, windowed_select, windows_apart
from planner.errors import InvalidSyntax, PlannerError, UnknownColumn, UnknownTable, UnsupportedSQL
from planner.expressions.bind_scalar import bind_predicate
from planner.expressions.made_dates import DECLARED_FORM
from planner.expressions.predicates import conjuncts, entailed
from planner.parsing.literal_rows import literal_rows
from planner.policy.policy import Policy
from planner.schema import Schema
from planner.sql.trees import (
    aggregates,
    bound_column,
    columns_of,
    conjunction,
    copied,
    fold,
    named_as,
    nodes,
    position_of,
)


@dataclass(frozen=True)
class CommonTable:
    """One entry of WITH: its query, its column aliases, and the entries that its query sees."""

    body: exp.Expr
    columns: tuple[str, ...]
    visible: Mapping[str, CommonTable]


def bind_from(
    select: exp.Select, flat: Flattened, visible: Mapping[str, CommonTable], around: Scope | None = None
) -> Scope:
    """Enter the tables and conditions of FROM, its joins and WHERE.

    Args:
      flat: receives what is found; each reference to a CTE or subquery gets its own copy.
      visible: the CTEs of the statements around this one.
      around: for a subquery in WHERE, the names of the SELECT around it.
    Returns: the names that the rest of the SELECT sees.
    Raises: UnknownTable, UnknownColumn, AmbiguousColumn, UnsupportedSQL, InvalidSyntax, StatementTooComplex.
    """
    clause = select.args.get("from_")
    binder = _FromClause(select, Scope(flat.tables, around), flat, common_tables(select, visible))
    binder.scope.subquery = SubqueryValues(binder).value
    if clause is None and any(map(is_star, select.expressions)):
        raise InvalidSyntax("* needs a FROM", hint="name a table in FROM", at=select)
    if clause is not None:
        binder.items(clause.this, select.args.get("joins") or [])
    where = select.args.get("where")
    if where is not None:
        try:
            binder.conditions(where.this, binder.scope.sources)
        except UnknownColumn as error:
            raise _named_below(select, where, error) from None
    return binder.scope


def bind_rows(
    select: exp.Select, flat: Flattened, visible: Mapping[str, CommonTable], around: Scope | None = None
) -> Scope:
    """As `bind_from`. A SELECT that enters no table has one row, and enters VALUES (1)."""
    before = len(flat.tables.entries)
    scope = bind_from(select, flat, visible, around)
    if len(flat.tables.entries) == before:
        row = exp.Values(expressions=[exp.Tuple(expressions=[exp.Literal.number(1)])])
        _FromClause(select, Scope(flat.tables), flat, {}).items(row, ())
    return scope


def _named_below(select: exp.Select, where: exp.Expr, error: UnknownColumn) -> UnknownColumn:
    """Return the refusal of a name in WHERE that the select list gives to an expression; otherwise the error."""
    names = {fold(item.args["alias"]): item.this for item in select.expressions if isinstance(item, exp.Alias)}
    column = next((one for one in columns_of(where) if position_of(one) == error.position), None)
    meant = None if column is None or column.args.get("table") else names.get(fold(column.this))
    if meant is None:
        return error
    hint = "WHERE cannot use names of the select list: write the expression itself"
    if next(aggregates(meant), None) is not None:
        hint = "write the condition in HAVING, with the aggregate itself: HAVING count(*) > 5"
    return UnknownColumn(error.message, hint=hint, position=error.position)


def common_tables(select: exp.Query, visible: Mapping[str, CommonTable]) -> Mapping[str, CommonTable]:
    """Return the CTEs that a SELECT sees: those around it, and its own, each of which sees the earlier ones."""
    clause = select.args.get("with_")
    known = dict(visible)
    for entry in clause.expressions if clause is not None else []:
        name, columns = named_as(entry)
        assert name is not None, "queries in WITH have names"
        known[name] = CommonTable(entry.this, columns, dict(known))
    return known


class _FromClause:
    def __init__(self, select: exp.Select, scope: Scope, flat: Flattened, visible: Mapping[str, CommonTable]) -> None:
        self.scope = scope
        self._select = select
        self._flat = flat
        self._outer = OuterJoins(scope, flat)
        self._visible = visible

    def items(self, first: exp.Expr, joins: Sequence[exp.Join]) -> None:
        """Enter the items of FROM. Only LATERAL sees across a comma, and not USING, NATURAL and ON."""
        commas = [place for place, join in enumerate(joins) if is_comma(join)]
        starts, ends = [-1, *commas], [*commas, len(joins)]
        for start, end in zip(starts, ends, strict=True):
            self._joined(first if start < 0 else joins[start].this, joins[start + 1 : end])

    def _joined(self, first: exp.Expr, joins: Sequence[exp.Join]) -> list[Source]:
        """Enter joined items. `left RIGHT JOIN x` is `x LEFT JOIN (left)`, and FULL JOIN is one table of rows."""
        joins = [*(first.args.get("joins") or []), *joins]
        turn = next((place for place in reversed(range(len(joins))) if joins[place].side in ("RIGHT", "FULL")), None)
        if turn is None:
            tree, rest = self._first(first), joins
        else:
            left, join, rest = in_parentheses(first, joins[:turn]), joins[turn], joins[turn + 1 :]
            if isinstance(first, exp.Lateral) or isinstance(join.this, exp.Lateral):
                hint = "write the join in a subquery of FROM without LATERAL"
                raise UnsupportedSQL(f"LATERAL in a {join.side} JOIN is not supported", hint=hint, at=join)
            if join.side == "RIGHT":
                return self._joined(join.this, [mirrored(left, join), *rest])
            tree = self._full(left, join)
        for join in rest:
            tree = [*tree, *self._join(join, tree)]
        return tree

    def _first(self, node: exp.Expr) -> list[Source]:
        """Enter an item that no JOIN precedes. LATERAL joins it with all items before its comma."""
        if not isinstance(node, exp.Lateral) or not self.scope.sources:
            return self._item(node)
        cross = exp.Join(this=node, kind="CROSS")
        cross.meta.update(node.meta)
        return self._join(cross, list(self.scope.sources))

    def _full(self, left: exp.Expr, join: exp.Join) -> list[Source]:
        """Enter FULL JOIN: the rows of LEFT JOIN, and those on the right without a partner beside NULLs."""
        names = [fold(name) for name in join.args.get("using") or []]
        first, second = [self._apart(one, self._visible) for one in sides_of_full(left, join, names)]
        beside = len(first.scope.sources) - len(second.scope.sources)
        sources = list(zip(first.scope.sources, [*([None] * beside), *second.scope.sources], strict=True))
        return self._enter_joined([first, second], sources, names, join)

    def _apart(self, select: exp.Select, visible: Mapping[str, CommonTable]) -> Inside:
        """Bind FROM and WHERE of a SELECT over rows of one person each, apart from the tables around it."""
        inside = Flattened(self._flat.tables.apart())
        scope = bind_rows(select, inside, visible)
        check_rows_of_persons(inside.tables.entries, inside.beside_public.values())
        check_connected(inside)
        return Inside(scope, inside)

    def _enter_joined(
        self,
        selects: Sequence[Inside],
        sources: Sequence[tuple[Source | None, ...]],
        merged: Sequence[str],
        join: exp.Join,
    ) -> list[Source]:
        names, position = _names_read(self._select), position_of(join)
        return enter_joined(self.scope, self._flat.tables, selects, sources, merged, names, position)

    def _rows(
        self,
        name: str | None,
        sides: Sequence[exp.Select],
        visible: Mapping[str, CommonTable],
        columns: tuple[str, ...],
        position: int | None,
    ) -> Source:
        """Enter the rows of SELECTs under UNION ALL as one table."""
        sides = [_listing(side, position) for side in sides]
        selects = [self._apart(side, visible) for side in sides]
        listed = [project(side, one.scope) for side, one in zip(sides, selects, strict=True)]
        if len({len(one) for one in listed}) > 1:
            message = "the sides of UNION have different numbers of columns"
            raise InvalidSyntax(message, hint="write as many columns on either side", position=position)
        labels = [label for label, _ in listed[0]]
        meanings = zip(*([meant for _, meant in one] for one in listed), strict=True)
        first = len(self.scope.tables)
        made = enter_rows(self._flat.tables, name, selects, list(zip(labels, meanings, strict=True)), position)
        shown: list[tuple[str, Meaning | None]] = list(zip(labels, made, strict=True))
        return Source(name, (), named(shown, columns, position), first, len(self.scope.tables))

    def conditions(self, node: exp.Expr, among: Sequence[Source]) -> None:
        """Enter the conditions of a conjunction."""
        written = conjuncts(node)
        parts = [*written, *(part for one in written for part in entailed(one))]
        self._flat.predicates.extend(self._bound([part for part in parts if not is_semi_join(part)], among))
        for part in filter(is_semi_join, parts):
            if self._flat.tables.is_aside:  # also inside a subquery of its FROM, a CTE or a view
                self._flat.predicates.extend(joined_inside(part, self.scope, self._flat.tables, self._inner))
                continue
            self._flat.semi_joins.append(semi_join(part, self.scope, self._flat.tables, self._inner))

    def names_of(self, select: exp.Select) -> Scope:
        """See `planner.binding.subquery_values.Beside`, also for `rows`, `groups` and `join`."""
        return bind_from(select, Flattened(self._flat.tables.apart()), self._visible)

    def rows(self, select: exp.Select) -> tuple[Scope, list[exp.Expr]]:
        before, semi_joins = len(self._flat.predicates), len(self._flat.semi_joins)
        inside = bind_from(select, self._flat, self._visible, self.scope)
        return inside, self._taken(before, semi_joins)

    def groups(self, subquery: exp.Subquery) -> tuple[Source, list[exp.Expr]]:
        before, semi_joins = len(self._flat.predicates), len(self._flat.semi_joins)
        (source,) = _FromClause(self._select, Scope(self._flat.tables), self._flat, self._visible)._item(subquery)
        return source, self._taken(before, semi_joins)

    def join(self, source: Source, conditions: list[exp.Expr], node: exp.Expr, label: str, *, needed: bool) -> None:
        if needed and (self._flat.tables.is_aside or self._outer.is_public([source])):
            self._flat.predicates.extend(conditions)
        else:
            self._outer.enter(self.scope.sources, [source], conditions, position_of(node), label)

    def _taken(self, before: int, semi_joins: int) -> list[exp.Expr]:
        """Take the conditions that were entered since out again."""
        for one in self._flat.semi_joins[semi_joins:]:
            hint = "use an inner JOIN inside it"
            raise UnsupportedSQL(f"{one.label} inside a subquery is not supported", hint=hint, position=one.position)
        taken = self._flat.predicates[before:]
        del self._flat.predicates[before:]
        return taken

    def _inner(self, select: exp.Select) -> tuple[Scope, list[exp.Expr]]:
        """Bind the names and conditions of a subquery in WHERE, whose tables are entered apart."""
        inside = Flattened(self._flat.tables)
        scope = bind_rows(select, inside, self._visible, self.scope)
        outer = [*(join.position for join in inside.owner_joins), *inside.beside_public.values()]
        if outer:
            hint, near = "use an inner JOIN inside it", outer[0]
            raise UnsupportedSQL(
                "an outer join inside a subquery of WHERE is not supported", hint=hint, position=near
            )
        return scope, inside.predicates

    def _bound(self, parts: Sequence[exp.Expr], among: Sequence[Source]) -> list[exp.Expr]:
        for part in parts:
            aggregate = next(aggregates(part), None)
            if aggregate is not None:
                message = "an aggregate in a condition over rows is not supported"
                hint = "write it in HAVING, or ask for its value first and write it as a literal"
                raise UnsupportedSQL(message, hint=hint, at=aggregate)
        return [bind_predicate(self.scope.bind(part, among), self.scope) for part in parts]

    def _item(self, node: exp.Expr) -> list[Source]:
        position = position_of(node)
        if isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier):
            return [self.scope.add(self._table(node, position), position)]
        if isinstance(node, exp.Values):
            return [self.scope.add(self._literals(node), position)]
        if isinstance(node, (exp.Subquery, exp.Paren)):
            body = node.this
            if isinstance(body, (exp.Table, exp.Subquery, exp.Paren)) and not node.args.get("alias"):
                return self._joined(body, ())
            return [self.scope.add(self._subquery(node), position)]
        raise UnsupportedSQL("FROM takes tables and subqueries only", hint="name the tables", position=position)

    def _literals(self, node: exp.Values) -> Source:
        """Enter rows of constants as a public table."""
        found, position = literal_rows(node), position_of(node)
        name, _ = named_as(node)
        index = len(self.scope.tables)
        entry = self._flat.tables.add_person(name, position)
        table = found.table(entry.table.name)
        self._flat.tables.complete_literals(entry, table, found.select(table), len(found.rows))
        meant: list[tuple[str, Meaning | None]] = [
            (shown, (entry.alias, column.name)) for shown, column in zip(found.names, table.columns, strict=True)
        ]
        return Source(name, (), named(meant, (), position), index, index + 1)

    def _table(self, node: exp.Table, position: int | None) -> Source:
        alias, columns = named_as(node)
        written = alias or fold(node.this)
        common = self._visible.get(fold(node.this)) if node.args.get("db") is None else None
        sample = node.args.get("sample")
        if common is not None:
            if sample is not None:
                hint = "sample one of the tables inside it"
                raise UnsupportedSQL("TABLESAMPLE on a CTE is not supported", hint=hint, position=position)
            names = (*columns, *common.columns[len(columns) :])
            return self._derived(written, common.body, common.visible, names, position)
        known = node.meta.get(AGAIN)
        if known is None:
            entry = self._flat.tables.add(written, self._flat.tables.lookup(node), position)
        else:
            entry = self._flat.tables.add_again(written, known, position)
        table = entry.table
        index = len(self.scope.tables) - 1
        if sample is not None and not entry.sampled:
            hint = "sample a table that it is joined with"
            raise UnsupportedSQL("TABLESAMPLE on a view is not supported", hint=hint, position=position)
        if sample is not None:
            entry = replace(entry, sample=_sample_rate(sample))
            self._flat.tables.replace(index, entry)
        meant: list[tuple[str, Meaning | None]] = [
            (column.name, self._meaning(entry.alias, column.name, table.name)) for column in table.columns
        ]
        schemas = table.schemas if node.args.get("alias") is None else ()
        return Source(written, schemas, named(meant, columns, position), index, index + 1)

    def _meaning(self, alias: str, name: str, table: str) -> Meaning:
        """A column; one of texts that hold dates means the date of its text."""
        forms = self._flat.tables.text_forms(table, name)
        if not forms:
            return alias, name
        column = bound_column(alias, name)
        column.meta["bound"] = True
        read = exp.StrToDate(this=column, format=exp.Literal.string(forms[0]))
        read.meta[DECLARED_FORM] = forms
        return read

    def _subquery(self, node: exp.Expr) -> Source:
        name, columns = named_as(node)
        with within_view(node):
            source = self._derived(name, node.this, self._visible, columns, position_of(node))
        return replace(source, schemas=node.meta.get(SCHEMAS, ()))

    def _derived(
        self,
        name: str | None,
        body: exp.Expr,
        visible: Mapping[str, CommonTable],
        columns: tuple[str, ...],
        position: int | None,
    ) -> Source:
        body = windows_apart(body)
        grouped = grouped_select(body) or aggregated_select(body)
        if (
            grouped is not None
            and (source := self._own_rows(name, grouped, visible, columns, position, PersonRows)) is not None
        ):
            return source
        windowed = windowed_select(body)
        if windowed is not None:
            source = self._own_rows(name, windowed, visible, columns, position, WindowedRows)
            assert source is not None, "each of its rows may belong to one person"
            return source
        if grouped is not None:
            check_person_in(grouped)
        sides = sides_of(body)
        if len(sides) > 1:
            return self._rows(name, sides, visible, columns, position)
        select = select_project_join(body, position)
        first = len(self.scope.tables)
        inner = bind_from(select, self._flat, visible)
        return Source(name, (), named(project(select, inner), columns, position), first, len(self.scope.tables))

    def _own_rows(
        self,
        name: str | None,
        select: exp.Select,
        visible: Mapping[str, CommonTable],
        columns: tuple[str, ...],
        position: int | None,
        kind: type[OwnRows],
    ) -> Source | None:
        """Enter a SELECT with aggregates or windows as a table of its own: of public rows, or of one person's each.

        Returns: None if a row could depend on several people.
        """
        tables = self._flat.tables
        inside = Flattened(tables.apart())
        scope = bind_rows(select, inside, visible)
        rows = kind(select, scope, inside.tables, inside.predicates)
        read = [*inside.tables.entries, *(entry for one in inside.semi_joins for entry in one.tables)]
        if not all(tables.is_public(entry.table) for entry in read) and not rows.may_identify_a_person():
            return None
        check_person_rows(select)
        check_rows_of_persons(inside.tables.entries, inside.beside_public.values())
        check_connected(inside)
        first = len(tables.entries)
        entry = tables.add_person(name, position)
        rows.proved = tables.proved(entry)
        shown, kept = rows.columns(entry.alias), rows.conditions(entry.alias)
        query = replace(Inside(scope, inside).query, keys=rows.group_keys)
        tables.complete_person(entry, rows.person(query), [inside.tables])
        self._flat.predicates.extend(bind_predicate(part, self.scope) for part in kept)
        return Source(name, (), named(shown, columns, position), first, len(tables.entries))

    def _join(self, join: exp.Join, tree: list[Source]) -> list[Source]:
        before, semi_joins = len(self._flat.predicates), len(self._flat.semi_joins)
        condition = join.args.get("on")
        if isinstance(join.this, exp.Lateral):
            right, beside, one_row = self._lateral(join.this)
        else:
            optional = self._optional_rows(join, tree) if join.side == "LEFT" else None
            right, beside, one_row = optional or self._item(join.this), (), False
        found = [bind_predicate(equal, self.scope) for equal in self.scope.merged(join, tree, right)]
        if condition is None and not found and join.method != "NATURAL" and join.kind in ("", "INNER", "OUTER"):
            raise InvalidSyntax(
                "this JOIN needs ON or USING", hint="write ON with the columns that are equal", at=join
            )
        if condition is not None and join.side != "LEFT":
            self.conditions(condition, [*tree, *right])
        elif condition is not None:
            written = next(filter(is_subquery, nodes(condition)), None)
            if written is not None:  # its tables would stand behind the table that it decides on
                hint = "write it in a CASE of the select list, or use an inner JOIN"
                raise UnsupportedSQL("a subquery in the ON of a LEFT JOIN is not supported", hint=hint, at=written)
            found += self._bound(conjuncts(condition), [*tree, *right])
        found += self._bound(beside, [*tree, *right])
        if one_row:
            if condition is not None and condition != exp.true():
                hint = "write ON true, and the condition in WHERE"
                raise UnsupportedSQL("this ON beside LATERAL is not supported", hint=hint, at=join)
            whole = self._outer.is_public(tree)  # elsewhere an expression over missing aggregates is that of no rows
            self._outer.enter(tree, right if whole else [replace(right[0], columns={})], found, position_of(join))
            person = self.scope.tables[right[0].first].person
            assert person is not None, "it groups by its owner"
            counted = counted_from_zero(right[0], person)
            self.scope.sources[self.scope.sources.index(right[0])] = counted
            return [counted]
        if right[0].first == right[0].last:
            return [self._computed_row(join, right[0], found, before)]
        if join.kind == "CROSS":
            left_alias, right_alias = (self.scope.tables[side[0].first].alias for side in (tree, right))
            self._flat.crossed.append((left_alias, right_alias))
        if join.side == "LEFT" and len(self._flat.semi_joins) > semi_joins:
            hint = "write it in the WHERE of the whole SELECT, or use an inner JOIN"
            label, near = self._flat.semi_joins[-1].label, self._flat.semi_joins[-1].position
            raise UnsupportedSQL(f"{label} on the right of a LEFT JOIN is not supported", hint=hint, position=near)
        if join.side == "LEFT":
            inside = self._flat.predicates[before:]
            del self._flat.predicates[before:]
            self._outer.enter(tree, right, [*inside, *found], written_at(join))
        else:
            self._flat.predicates.extend(found)
        return right

    def _computed_row(self, join: exp.Join, row: Source, found: list[exp.Expr], before: int) -> Source:
        """Join the one row of a SELECT without tables. Where LEFT JOIN does not find it, its columns are NULL."""
        if join.side != "LEFT":
            self._flat.predicates.extend(found)
            return row
        there = conjunction([*self._flat.predicates[before:], *found])
        del self._flat.predicates[before:]
        if there is None or there == exp.true():
            return row

        def optional(meaning: Meaning | None) -> Meaning | None:
            """NULL where the row is not there."""
            value = None if meaning is None else meant_sql(meaning)
            return None if value is None else exp.Case().when(copied(there), copied(value), copy=False)

        made = replace(row, columns={name: optional(meaning) for name, meaning in row.columns.items()})
        self.scope.sources[self.scope.sources.index(row)] = made
        return made

    def _lateral(self, node: exp.Lateral) -> tuple[list[Source], Sequence[exp.Expr], bool]:
        """Enter a LATERAL subquery: its source, the conditions of its join, and whether there is always one row."""
        if isinstance(node.this, exp.Unnest):
            return self._listed(node)
        select, position = lateral_select(node), position_of(node)
        name, columns = named_as(node)
        visible = common_tables(select, self._visible)
        if only_joins(select):
            first = len(self.scope.tables)
            inner = bind_from(select_project_join(select, position), self._flat, visible, self.scope)
            shown = named(project(select, inner), columns, position)
            source = Source(name, (), shown, first, len(self.scope.tables))
            return [self.scope.add(source, position)], (), False
        bare = copied(select)
        bare.set("where", None)
        bare.set("expressions", [exp.Star()])
        own = bind_from(bare, Flattened(self._flat.tables.apart()), visible)

        def is_own(column: exp.Column) -> bool:
            try:
                own.resolve(column)
            except (UnknownColumn, UnknownTable):
                return False
            return True

        apart = decorrelated(select, name, is_own)
        source = self.scope.add(self._derived(name, apart.select, visible, columns, position), position)
        return [source], apart.conditions, apart.one_row

    def _listed(self, node: exp.Lateral) -> tuple[list[Source], Sequence[exp.Expr], bool]:
        """Enter the elements of a list, and join them with the row that holds it."""
        tables, position = self._flat.tables.apart(), position_of(node)
        rows = ListedRows(node, self.scope, tables)
        name, columns = named_as(node)
        first = len(self.scope.tables)
        entry = self._flat.tables.add_person(name, position)
        element = rows.columns(entry.alias)[-1][1]
        query = Inside(Scope(tables), Flattened(tables)).query
        self._flat.tables.complete_person(entry, rows.person(query), [tables])
        shown = named([(columns[0] if columns else name or "unnest", element)], (), position)
        source = Source(name, (), shown, first, len(self.scope.tables))
        return [self.scope.add(source, position)], rows.conditions(entry.alias), False

    def _optional_rows(self, join: exp.Join, tree: list[Source]) -> list[Source] | None:
        """Enter the right side of a LEFT JOIN as one table if it joins, computes or tests private rows; else None."""
        item = join.this
        base = isinstance(item, exp.Table) and not item.args.get("joins")
        if self._outer.is_public(tree) or (base and (item.args.get("db") or fold(item.this) not in self._visible)):
            return None
        rows = exp.Select(expressions=[exp.Star()], from_=exp.From(this=copied(join.this)))
        inside = self._apart(rows, self._visible)
        entries, sources = inside.scope.tables, inside.scope.sources
        computed = [value for source in sources for value in source.columns.values() if isinstance(value, exp.Expr)]
        plain = len(entries) == 1 and entries[0].outer is None and not inside.flat.semi_joins
        public = all(inside.flat.tables.is_public(entry.table) for entry in entries)
        if public or (plain and all(map(is_strict, computed))):
            return None
        return self._enter_joined([inside], [(source,) for source in sources], (), join)


def _listing(side: exp.Select, position: int | None) -> exp.Select:
    """Return a SELECT that lists rows, if need be those of a subquery with groups or windows."""
    if grouped_select(side) is None and windowed_select(windows_apart(side)) is None:
        return select_project_join(side, position)
    return exp.Select(expressions=[exp.Star()], from_=exp.From(this=exp.Subquery(this=copied(side))))


def _names_read(select: exp.Select) -> Collection[str] | None:
    """The names that a SELECT may read, also in subqueries of its WHERE; None for all, as with * and NATURAL."""
    starred = any(isinstance(star.parent, (exp.Select, exp.Column)) for star in select.find_all(exp.Star))
    if starred or any(join.method == "NATURAL" for join in select.find_all(exp.Join)):
        return None
    return {fold(name) for name in select.find_all(exp.Identifier)}


def _sample_rate(node: exp.Expr) -> float:
    percent = node.args.get("percent")
    position = position_of(percent) or position_of(node) if isinstance(percent, exp.Expr) else position_of(node)
    hint = "write TABLESAMPLE BERNOULLI (10)"
    if not isinstance(percent, exp.Literal) or percent.is_string:
        raise UnsupportedSQL("TABLESAMPLE needs a number (the percentage of rows)", hint=hint, position=position)
    try:
        return float(percent.name) / 100
    except ValueError:  # `1e`, which the parser accepts
        raise InvalidSyntax(
            "TABLESAMPLE needs a number (the percentage of rows)", hint=hint, position=position
        ) from None


def is_comma(join: exp.Join) -> bool:
    """Whether an item of FROM follows a comma rather than JOIN."""
    parts = ("on", "using", "kind", "side", "method")
    return not any(join.args.get(part) for part in parts)


def may_be_per_person(
    select: exp.Select, schema: Schema, policy: Policy, search_path: Sequence[str] | None = None
) -> bool:
    """Whether a SELECT with GROUP BY or windows may be a per-person subquery, whose rows belong to one person each.

    This checks whether the keys can identify a person; `planner.planning.person_tables` proves the owner of every
    row.
    """
    apart = windows_apart(select)
    if windowed_select(apart) is not None:
        return True
    grouped = grouped_select(apart)
    if grouped is None:
        inner = inner_answer(select)
        return (
            inner is not None and not groups_itself(select) and may_be_per_person(inner, schema, policy, search_path)
        )
    flat = Flattened(Tables(schema, policy, search_path))
    try:
        scope = bind_from(grouped, flat, {})
        return may_identify_a_person(GroupKeys(grouped, scope, flat.predicates).keys, flat.tables)
    except PlannerError:
        return False
