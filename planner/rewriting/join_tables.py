"""FROM and WHERE of a question: inner joins, semi-joins, and the parent tables that determine a row's owner.

Each condition stands as early as it can be tested. Rows whose parent is missing are dropped. A semi-join is a
condition over its own rows, which multiplies no tuples.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from planner.binding.bound_query import BoundSemiJoin, BoundTable
from planner.sensitivity.provenance import Completion
from planner.sql.trees import (
    DECLARED,
    ROWS,
    add_conditions,
    aliases_of,
    bound_column,
    cast_sql,
    conjunction,
    copied,
    named_sql,
    own_name,
    table_sql,
)


def join_tables(tables: Sequence[BoundTable], predicates: Sequence[exp.Expr]) -> exp.Select:
    """FROM and WHERE of a join, without a select list.

    Conditions over several tables become ON of the last of them. PostgreSQL keeps the written order of many explicit
    joins, so an early cross product would be ruinous.

    >>> from sqlglot import parse_one
    >>> from planner.schema import Table
    >>> a, b = (BoundTable(name, name, Table(name, "public", (), (), ())) for name in "ab")
    >>> on, where = parse_one("a.x = b.y"), parse_one("a.z = 1")
    >>> join_tables([a, b], [on, where]).sql("postgres")
    'SELECT FROM "public"."a" AS "a" INNER JOIN "public"."b" AS "b" ON a.x = b.y WHERE a.z = 1'
    """
    return joined([(entry_sql(entry), entry.outer) for entry in tables], predicates)


def joined(
    entries: Sequence[tuple[exp.Expr, Sequence[exp.Expr] | None]], conditions: Sequence[exp.Expr]
) -> exp.Select:
    """As `join_tables`, of entries of FROM; one with conditions of its own is a LEFT JOIN."""
    (first, _), *others = entries
    select = exp.Select(from_=exp.From(this=first))
    used = [(aliases_of(condition), condition) for condition in conditions]
    seen, waiting = {first.alias}, [pair for pair in used if len(pair[0]) > 1]
    for entry, outer in others:
        seen.add(entry.alias)
        if outer is not None:  # WHERE tests its columns after all joins
            matches = conjunction(outer) or exp.true()
            select.append("joins", exp.Join(this=entry, side="LEFT", on=matches))
            continue
        ready = [condition for aliases, condition in waiting if aliases <= seen]
        waiting = [(aliases, condition) for aliases, condition in waiting if not aliases <= seen]
        kind = "INNER" if ready else "CROSS"
        select.append("joins", exp.Join(this=entry, kind=kind, on=conjunction(ready)))
    late = [condition for _, condition in waiting]
    add_conditions(select, late + [condition for aliases, condition in used if len(aliases) < 2])
    return select


def entry_sql(entry: BoundTable) -> exp.Table | exp.Subquery:
    """A base table, the rows of a subquery with aggregates, or those of constants."""
    if entry.rows is None:
        return table_sql(entry.table, entry.alias)
    subquery = exp.Subquery(this=copied(entry.rows), alias=exp.TableAlias(this=own_name(entry.alias)))
    subquery.meta[ROWS if entry.constants is None else DECLARED] = entry.table
    return subquery


def complete_provenance(
    select: exp.Select, completions: Sequence[Completion], ends: Sequence[Sequence[tuple[str, str]]] = ()
) -> exp.Select:
    """Append one LEFT JOIN per completion, with its filter (docs/mathematics.md, section 1.4).

    A row stays if its foreign key is NULL or the parent exists. Without the filter, a removed parent would leave its
    children without an owner, and one person's removal could add rows.
    Args:
      ends: foreign keys, as (alias, column) pairs, beyond which ownership is not followed; one part must be NULL.

    >>> from sqlglot import parse_one
    >>> from planner.schema import Column, ForeignKey, Table
    >>> orders = Table("orders", "s", (Column("o_orderkey", "bigint", False),), (("o_orderkey",),), ())
    >>> found = Completion("p", orders, "l", ForeignKey(("l_key",), "orders", ("o_orderkey",)), ("l_key",))
    >>> complete_provenance(parse_one("SELECT FROM lineitem AS l"), [found]).sql("postgres")
    'SELECT FROM lineitem AS l LEFT JOIN "s"."orders" AS "p" ON "l"."l_key" = "p"."o_orderkey" \
WHERE ("l"."l_key" IS NULL OR "p"."o_orderkey" IS NOT NULL)'
    """
    if not completions and not ends:
        return select  # nothing to add, so nothing to copy
    completed = copied(select)
    for completion in completions:
        parent = table_sql(completion.table, completion.alias)
        completed.append("joins", exp.Join(this=parent, side="LEFT", on=conjunction(completion.conditions)))
    last = [exp.or_(*(_is_null(*column) for column in columns)) for columns in ends]
    add_conditions(completed, [*(_filter(completion) for completion in completions), *last])
    return completed


def _filter(completion: Completion) -> exp.Expr:
    """A key with a NULL references nothing; otherwise the parent's own key shows that the parent exists."""
    exists = _is_null(completion.alias, completion.key.key[0], negate=True)
    absent = [_is_null(completion.child, name) for name in completion.nullable]
    return exp.or_(*absent, exists) if absent else exists


def _is_null(alias: str, name: str, *, negate: bool = False) -> exp.Is:
    return exp.Is(this=bound_column(alias, name), expression=exp.Null(), negate=negate)


def select_part(source: exp.Select, columns: Sequence[exp.Expr]) -> exp.Select:
    """One row per row of a part of a join, with columns c0... Nothing is merged.

    Without columns, only the number of rows matters.

    >>> from sqlglot import parse_one
    >>> select_part(parse_one("SELECT FROM link WHERE day = 1"), [parse_one("a"), parse_one("b")]).sql("postgres")
    'SELECT a AS "c0", b AS "c1" FROM link WHERE day = 1'
    """
    read = columns or [cast_sql(exp.Literal.number(0), "BIGINT")]
    return exp.Select(**{**source.args, "expressions": [named_sql(one, f"c{i}") for i, one in enumerate(read)]})


def filter_semi_joins(select: exp.Select, semi_joins: Sequence[BoundSemiJoin]) -> exp.Select:
    """Append each semi-join as EXISTS or NOT EXISTS, in place.

    Optimisers turn these into hashed semi- and anti-joins. NOT IN is not written; its NULLs are among the conditions
    (`planner.binding.semi_joins`).

    >>> from sqlglot import parse_one
    >>> from planner.schema import Table
    >>> inner = BoundTable("b", "b", Table("b", "public", (), (), ()))
    >>> absent = BoundSemiJoin((inner,), (parse_one("b.x = a.x"),), True, "NOT EXISTS", None)
    >>> filter_semi_joins(parse_one("SELECT FROM a WHERE a.y = 1"), [absent]).sql("postgres")
    'SELECT FROM a WHERE a.y = 1 AND NOT EXISTS(SELECT 1 FROM "public"."b" AS "b" WHERE b.x = a.x)'
    """
    add_conditions(select, [semi_join_condition(one) for one in semi_joins])
    return select


def semi_join_condition(semi_join: BoundSemiJoin) -> exp.Expr:
    """The EXISTS or NOT EXISTS of a semi-join."""
    rows = join_tables(semi_join.tables, semi_join.predicates)
    rows.set("expressions", [exp.Literal.number(1)])
    exists = exp.Exists(this=rows)
    return exp.Not(this=exists) if semi_join.negated else exists
