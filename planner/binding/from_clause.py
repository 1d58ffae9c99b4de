"""Flattens FROM and WHERE of a SELECT, its subqueries and CTEs into one list of tables and one of conditions.

Private tables that no condition connects are refused, since a forgotten condition multiplies every row.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from planner.binding.bound_query import BoundQuery, BoundSemiJoin, BoundTable, OwnerJoin
from planner.binding.conditions import is_strict, normal_form
from planner.binding.derived_columns import NAMESPACE, named, project, select_project_join, within_view
from planner.binding.group_keys import GroupKeys
from planner.binding.lateral import decorrelated, lateral_select, only_joins
from planner.binding.listed_rows import ListedRows
from planner.binding.outer_select import groups_itself, inner_answer
from planner.binding.person_tables import (
    OwnRows,
    PersonRows,
    aggregated_select,
    check_person_rows,
    grouped_select,
    may_identify_a_person,
)
from planner.binding.scope import AGAIN, Meaning, Scope, Source, Tables, is_subquery
from planner.binding.semi_joins import is_semi_join, joined_inside, semi_join
from planner.binding.subquery_values import SubqueryValues
from planner.binding.windowed_rows import WindowedRows, windowed_select, windows_apart
from planner.errors import InvalidSyntax, PlannerError, UnknownColumn, UnknownTable, UnsupportedSQL
from planner.expressions.bind_scalar import bind_predicate
from planner.expressions.predicates import conjuncts, entailed
from planner.policy.policy import Policy
from planner.released_expression import Display
from planner.schema import ForeignKey, Schema, Table
from planner.sql.trees import (
    aggregates,
    bound_column,
    column_ref,
    columns_of,
    copied,
    fold,
    named_as,
    nodes,
    position_of,
    rebuilt,
)

NOT_OWN_ROWS = "LEFT JOIN to a private table is not supported: one person's row would replace another row"
"""Refuses optional rows whose owners are not those of the rows beside them (`planner.sensitivity.own_rows`)."""


BESIDE_PUBLIC = "use an inner JOIN and group by the public table's key: groups without rows appear anyway, near zero"
"""The alternative to public LEFT JOIN private, which is written to see keys without rows."""


@dataclass(frozen=True)
class CommonTable:
    """One entry of WITH: its query, its column aliases, and the entries that its query sees."""

    body: exp.Expr
    columns: tuple[str, ...]
    visible: Mapping[str, CommonTable]


@dataclass(frozen=True)
class Flattened:
    """The base tables and conditions of the whole statement, as they are found.

    Attributes:
      crossed: for each CROSS JOIN, one alias from either side.
      owner_joins: LEFT JOINs to owners of rows that may have no owner.
      beside_public: public LEFT JOIN private, entered as inner joins, by the private alias. `check_beside_public`
        checks the whole SELECT later.
      found_by: maps the alias of an owner that a LEFT JOIN finds to the alias of its rows.
    """

    tables: Tables
    predicates: list[exp.Expr] = field(default_factory=list)
    semi_joins: list[BoundSemiJoin] = field(default_factory=list)
    crossed: list[tuple[str, str]] = field(default_factory=list)
    owner_joins: list[OwnerJoin] = field(default_factory=list)
    beside_public: dict[str, int | None] = field(default_factory=dict)
    found_by: dict[str, str] = field(default_factory=dict)


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
    if clause is None:
        raise UnsupportedSQL("a SELECT without FROM is not supported", at=select)
    binder = _FromClause(Scope(flat.tables, around), flat, common_tables(select, visible))
    binder.scope.subquery = SubqueryValues(binder).value
    binder.items(clause.this, select.args.get("joins") or [])
    where = select.args.get("where")
    if where is not None:
        try:
            binder.conditions(where.this, binder.scope.sources)
        except UnknownColumn as error:
            raise _named_below(select, where, error) from None
    return binder.scope


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
    def __init__(self, scope: Scope, flat: Flattened, visible: Mapping[str, CommonTable]) -> None:
        self.scope = scope
        self._flat = flat
        self._visible = visible

    def items(self, first: exp.Expr, joins: Sequence[exp.Join]) -> None:
        """Enter the items of FROM. USING, NATURAL and ON do not see across a comma."""
        if joins and joins[0].side == "RIGHT":
            mirror = self._mirror(first, joins[0])
            first, joins = joins[0].this, [mirror, *joins[1:]]
        tree = self._item(first)
        for join in joins:
            if is_comma(join) and isinstance(join.this, exp.Lateral):
                cross = exp.Join(this=join.this, kind="CROSS")
                cross.meta.update(join.meta)
                tree = self._join(cross, list(self.scope.sources))
            else:
                tree = self._item(join.this) if is_comma(join) else [*tree, *self._join(join, tree)]

    def _mirror(self, first: exp.Expr, join: exp.Join) -> exp.Join:
        """Write `table RIGHT JOIN other ON ...` as the join of `other LEFT JOIN table ON ...`."""
        if not isinstance(first, exp.Table) or first.args.get("joins") or join.args.get("on") is None:
            hint = "write other LEFT JOIN table ON ..., or use an inner JOIN"
            raise UnsupportedSQL("this RIGHT JOIN is not supported", hint=hint, at=join)
        mirror = exp.Join(this=first, side="LEFT", on=join.args["on"])
        mirror.meta.update(join.meta)
        return mirror

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
        (source,) = _FromClause(Scope(self._flat.tables), self._flat, self._visible)._item(subquery)
        return source, self._taken(before, semi_joins)

    def join(self, source: Source, conditions: list[exp.Expr], node: exp.Expr, label: str, *, needed: bool) -> None:
        if needed and (self._flat.tables.is_aside or self._is_public([source])):
            self._flat.predicates.extend(conditions)
        else:
            self._make_outer(self.scope.sources, [source], conditions, node, label)

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
        scope = bind_from(select, inside, self._visible, self.scope)
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
            entered = [self.scope.add(self._table(node, position), position)]
            return self._joined_inside(node, entered)
        if isinstance(node, (exp.Subquery, exp.Paren)):
            body = node.this
            if isinstance(body, (exp.Table, exp.Subquery, exp.Paren)) and not node.args.get("alias"):
                return self._joined_inside(node, self._item(body))
            entered = [self.scope.add(self._subquery(node), position)]
            return self._joined_inside(node, entered)
        raise UnsupportedSQL("FROM takes tables and subqueries only", hint="name the tables", position=position)

    def _joined_inside(self, node: exp.Expr, tree: list[Source]) -> list[Source]:
        for join in node.args.get("joins") or []:
            tree = [*tree, *self._join(join, tree)]
        return tree

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
        namespace = table.namespace if node.args.get("alias") is None else None
        return Source(written, namespace, named(meant, columns, position), index, index + 1)

    def _meaning(self, alias: str, name: str, table: str) -> Meaning:
        """A column; one of texts that hold dates means the date of its text."""
        form = self._flat.tables.text_form(table, name)
        if form is None:
            return alias, name
        column = bound_column(alias, name)
        column.meta["bound"] = True
        return exp.StrToDate(this=column, format=exp.Literal.string(form))

    def _subquery(self, node: exp.Expr) -> Source:
        name, columns = named_as(node)
        with within_view(node):
            source = self._derived(name, node.this, self._visible, columns, position_of(node))
        return replace(source, namespace=node.meta.get(NAMESPACE))

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
        select = select_project_join(body, position)
        first = len(self.scope.tables)
        inner = bind_from(select, self._flat, visible)
        return Source(name, None, named(project(select, inner), columns, position), first, len(self.scope.tables))

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
        outer, tables = self._flat.tables, self._flat.tables.apart()
        inside = Flattened(tables)
        scope = bind_from(select, inside, visible)
        rows = kind(select, scope, tables, inside.predicates)
        read = [*tables.entries, *(entry for one in inside.semi_joins for entry in one.tables)]
        if not all(tables.is_public(entry.table) for entry in read) and not rows.may_identify_a_person():
            return None
        check_person_rows(select, tables.entries, inside.beside_public.values())
        check_connected(inside)
        made = outer.name_person(name)
        rows.proved = outer.proved(made)
        first = len(self.scope.tables)
        alias = outer.add(name or made, Table(made, "", (), (), ()), position).alias
        shown, kept = rows.columns(alias), rows.conditions(alias)
        query = BoundQuery(
            tables=tuple(scope.tables),
            predicates=normal_form(inside.predicates),
            semi_joins=tuple(inside.semi_joins),
            keys=rows.group_keys,
            aggregates=(),
            display=Display(),
            owner_joins=tuple(inside.owner_joins),
        )
        table, person = rows.table(query, made)
        outer.complete_person(alias, table, person, tables)
        self._flat.predicates.extend(bind_predicate(part, self.scope) for part in kept)
        return Source(name, None, named(shown, columns, position), first, len(self.scope.tables))

    def _join(self, join: exp.Join, tree: list[Source]) -> list[Source]:
        before, semi_joins = len(self._flat.predicates), len(self._flat.semi_joins)
        condition = join.args.get("on")
        if isinstance(join.this, exp.Lateral):
            right, beside, one_row = self._lateral(join.this)
        else:
            right, beside, one_row = self._item(join.this), (), False
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
            self._make_outer(tree, right, found, join)
            return [self._counted_from_zero(right[0])]
        if right[0].first == right[0].last:
            return right
        if join.kind == "CROSS":
            left_alias, right_alias = (self.scope.tables[side[0].first].alias for side in (tree, right))
            self._flat.crossed.append((left_alias, right_alias))
        if join.side == "RIGHT":
            hint = "write other LEFT JOIN table ON ..., or use an inner JOIN"
            raise UnsupportedSQL("a RIGHT JOIN after other joins is not supported", hint=hint, at=join)
        if join.side == "LEFT" and len(self._flat.semi_joins) > semi_joins:
            hint = "write it in the WHERE of the whole SELECT, or use an inner JOIN"
            label, near = self._flat.semi_joins[-1].label, self._flat.semi_joins[-1].position
            raise UnsupportedSQL(f"{label} on the right of a LEFT JOIN is not supported", hint=hint, position=near)
        if join.side == "LEFT":
            inside = self._flat.predicates[before:]
            del self._flat.predicates[before:]
            self._make_outer(tree, right, [*inside, *found], join)
        else:
            self._flat.predicates.extend(found)
        return right

    def _lateral(self, node: exp.Lateral) -> tuple[list[Source], Sequence[exp.Expr], bool]:
        """Enter a LATERAL subquery: its source, the conditions of its join, and whether there is always one row."""
        if isinstance(node.this, exp.Unnest):
            return self._listed(node)
        select, position = lateral_select(node), position_of(node)
        name, columns = named_as(node)
        visible = common_tables(select, self._visible)
        if only_joins(select):
            first = len(self.scope.tables)
            if select.args.get("from_") is None and select.args.get("where") is None:
                inner = Scope(self._flat.tables, self.scope)
            else:
                inner = bind_from(select_project_join(select, position), self._flat, visible, self.scope)
            shown = named(project(select, inner), columns, position)
            source = Source(name, None, shown, first, len(self.scope.tables))
            return [self.scope.add(source, position)], (), False
        bare = copied(select)
        bare.set("where", None)
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
        made = self._flat.tables.name_person(name)
        first = len(self.scope.tables)
        alias = self._flat.tables.add(name or made, Table(made, "", (), (), ()), position).alias
        element = rows.columns(alias)[-1][1]
        query = BoundQuery(tuple(tables.entries), (), (), (), Display())
        self._flat.tables.complete_person(alias, *rows.table(query, made), tables)
        shown = named([(columns[0] if columns else name or "unnest", element)], (), position)
        source = Source(name, None, shown, first, len(self.scope.tables))
        return [self.scope.add(source, position)], rows.conditions(alias), False

    def _counted_from_zero(self, source: Source) -> Source:
        """Let the counts of a per-person subquery that a LEFT JOIN does not find be zero."""
        person = self.scope.tables[source.first].person
        assert person is not None, "it groups by its owner"
        counts = {one.column.name for one in person.columns if isinstance(one.value, exp.Count)}

        def counted(node: exp.Expr) -> exp.Expr:
            if isinstance(node, exp.Column):
                zero = [exp.Literal.number(0)]
                return exp.Coalesce(this=node, expressions=zero) if node.name in counts else node
            return rebuilt(node, counted)

        columns = {
            name: counted(bound_column(*meaning) if isinstance(meaning, tuple) else meaning)
            for name, meaning in source.columns.items()
            if meaning is not None
        }
        made = replace(source, columns=columns)
        self.scope.sources[self.scope.sources.index(source)] = made
        return made

    def _is_public(self, tree: list[Source]) -> bool:
        return all(self._flat.tables.is_public(entry.table) for entry in self.scope.entries(tree))

    def _enter_beside_public(self, right: list[Source], conditions: Sequence[exp.Expr], position: int | None) -> None:
        """Enter public LEFT JOIN private as the inner join: groups without rows appear anyway."""
        entries = self.scope.entries(right)
        computed = [value for source in right for value in source.columns.values() if isinstance(value, exp.Expr)]
        if len(entries) == 1 and entries[0].outer is None and entries[0].sample is None:
            alias = entries[0].alias
            every = all(any(column_ref(column)[0] == alias for column in columns_of(one)) for one in conditions)
            if every and all(map(is_strict, computed)):
                self._flat.predicates.extend(conditions)
                self._flat.beside_public[alias] = position
                return
        raise UnsupportedSQL(NOT_OWN_ROWS, hint=BESIDE_PUBLIC, position=position)

    def _to_the_owner(
        self, tree: list[Source], owner: BoundTable, conditions: Sequence[exp.Expr]
    ) -> tuple[BoundTable, ForeignKey] | None:
        """Find the rows and the foreign key of a LEFT JOIN that leads only to the rows' owner; None for any other.

        Answers leave out rows whose owner is missing (`planner.rewriting.join_tables`), so this is the inner join. It
        is not for rows that are units themselves, nor for owners too many joins away. `planner.sensitivity.own_rows`
        handles NULL keys.
        """
        pairs = {_equal_columns(condition) for condition in conditions}
        for entry in (entry for entry in self.scope.entries(tree) if entry.outer is None):
            for key in self._flat.tables.keys_to_owners(entry.table):
                equal = zip(key.columns, key.key, strict=True)
                along = {frozenset({(entry.alias, a), (owner.alias, b)}) for a, b in equal}
                if key.references == owner.table.name and pairs == along:
                    return entry, key
        return None

    def _make_outer(
        self,
        tree: list[Source],
        right: list[Source],
        conditions: list[exp.Expr],
        join: exp.Expr,
        label: str | None = None,
    ) -> None:
        """Mark the one table on the right as optional, so that every row on the left stays."""
        source, entries = right[0], self.scope.entries(right)
        hint = "LEFT JOIN one table at a time, or use an inner JOIN"
        position = position_of(join)
        private = any(not self._flat.tables.is_public(entry.table) for entry in entries)
        if private:
            found = self._to_the_owner(tree, entries[0], conditions) if len(entries) == 1 else None
            if found is not None:
                child, key = found
                if any(self._flat.tables.nullable(bound_column(child.alias, name)) for name in key.columns):
                    self._flat.owner_joins.append(OwnerJoin(child.alias, key.columns, position))
                self._flat.found_by[entries[0].alias] = child.alias
                self._flat.predicates.extend(conditions)
                return
            if self._is_public(tree):
                self._enter_beside_public(right, conditions, position)
                return
        if len(entries) != 1 or entries[0].outer is not None:
            raise UnsupportedSQL("LEFT JOIN to several tables is not supported", hint=hint, position=position)
        if any(isinstance(value, exp.Expr) and not is_strict(value) for value in source.columns.values()):
            reason = "LEFT JOIN to a subquery with computed columns is not supported"
            raise UnsupportedSQL(reason, hint="compute the column in the select list", position=position)
        if entries[0].sample is not None and private:
            message = "TABLESAMPLE on the right of a LEFT JOIN is not supported"
            raise UnsupportedSQL(message, hint="sample the table on its left", position=entries[0].start or position)
        outer = replace(entries[0], outer=tuple(conditions), optional=private, position=position, label=label)
        self._flat.tables.replace(source.first, outer)


def _equal_columns(condition: exp.Expr) -> frozenset[tuple[str, str]] | None:
    """Return the two columns that a bound condition equates; None for any other condition."""
    if not isinstance(condition, exp.EQ):
        return None
    sides = (condition.this, condition.expression)
    return frozenset(map(column_ref, sides)) if all(isinstance(side, exp.Column) for side in sides) else None


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


def check_beside_public(flat: Flattened, keys: Iterable[exp.Expr], arguments: Iterable[exp.Expr]) -> None:
    """Refuse public LEFT JOIN private unless it equals the inner join.

    A public row without a partner adds nothing to an aggregate whose argument is NULL in it. It belongs to the group
    of its own keys, which are public and appear anyway. So the groups and their contents are those of the inner join.

    Raises: UnsupportedSQL at the LEFT JOIN.
    """
    keys, arguments = list(keys), list(arguments)
    for alias, position in flat.beside_public.items():
        there = {alias}
        for _ in flat.found_by:
            there |= {owner for owner, child in flat.found_by.items() if child in there}
        grouped = any(column_ref(column)[0] in there for key in keys for column in columns_of(key))
        if grouped or not arguments or not all(_is_of(argument, there) for argument in arguments):
            hint = f"count a column of the private table, COUNT(x), instead of COUNT(*); or {BESIDE_PUBLIC}"
            raise UnsupportedSQL(NOT_OWN_ROWS, hint=hint, position=position)


def _is_of(argument: exp.Expr, aliases: Collection[str]) -> bool:
    """Is the argument NULL wherever the columns of one of these tables are NULL?"""
    if isinstance(argument, exp.Distinct):
        return any(_is_of(part, aliases) for part in argument.expressions)
    return any(is_strict(argument, alias) for alias in aliases)


def check_connected(flat: Flattened) -> None:
    """Refuse private tables that no condition connects, unless CROSS JOIN says so. Cost: linear.

    A condition connects all tables that it reads, public ones included.

    Raises: UnsupportedSQL at the second of two such tables.
    """
    tables = flat.tables.entries
    private = [entry for entry in tables if not flat.tables.is_public(entry.table)]
    if len(private) < 2:
        return
    parts = {entry.alias: entry.alias for entry in tables}

    def part(alias: str) -> str:
        while parts[alias] != alias:
            alias = parts[alias]
        return alias

    outer = [(entry.alias, condition) for entry in tables for condition in entry.outer or ()]
    ties = [{column_ref(column)[0] for column in columns_of(condition)} for condition in flat.predicates]
    ties += [{alias, *(column_ref(column)[0] for column in columns_of(condition))} for alias, condition in outer]
    for tied in [*ties, *map(set, flat.crossed)]:
        roots = sorted(part(alias) for alias in tied)
        for root in roots[1:]:
            parts[part(root)] = part(roots[0])
    first = private[0]
    for other in private[1:]:
        if part(other.alias) != part(first.alias):
            names = f"{first.table.name} and {other.table.name}"
            hint = "add the condition that joins them, or write CROSS JOIN for all pairs if the policy allows it"
            raise UnsupportedSQL(
                f"no condition connects {names}", hint=hint, position=flat.tables.positions.get(other.alias)
            )


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
