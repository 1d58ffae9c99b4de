"""The statement around answers, read once more as the database will read it: the second wall before private rows.

What is checked before is a tree, and what the database gets is a text. Were a word of the analyst's to stand in that
text without its quotes, it would be SQL that nobody has checked. So the text itself is read: every table, construct
and function of it must be one that the tree could have.
"""

from __future__ import annotations

from collections.abc import Collection

from sqlglot import exp, parse
from sqlglot.errors import SqlglotError

from planner.dialect import Dialect
from planner.errors import PlannerError, UnsupportedSQL
from planner.parsing.postgres_parser import postgres_parser
from planner.parsing.syntax.lexer import lex
from planner.parsing.syntax.tokens import tokens_of
from planner.postprocessing.allowed_sql import is_allowed
from planner.postprocessing.composed import is_relation
from planner.public.route import means_cte
from planner.sql.trees import nodes, tables_of

Place = tuple[str, str]
"""A schema and the name of a table in it."""


def check_written(sql: str, public: Collection[Place], dialect: Dialect) -> None:
    """Refuse a text that holds anything but computations over answers and public tables.

    Args:
      sql: of the statement, as it was written.
      public: the public tables that were looked up for it.
      dialect: of the database.
    Raises: UnsupportedSQL.
    Cost: as reading a statement of this length.
    """
    tree = _read(sql, dialect)
    if tree is None or not all(is_allowed(node, dialect) for node in nodes(tree)):
        raise _rereading_refusal()
    if not all(_stands_alone(function) for function in functions_of_from(tree)):
        raise _rereading_refusal()
    for table in tables_of(tree):
        schema = table.args.get("db")
        if schema is not None:
            known = table.args.get("catalog") is None and (schema.name, table.name) in public
        else:
            known = is_relation(table) or means_cte(table) or not isinstance(table.this, exp.Identifier)
        if not known:
            raise _rereading_refusal()


def functions_of_from(tree: exp.Expr) -> list[exp.Table | exp.Lateral]:
    """The functions that stand in FROM as a table does."""
    functions: list[exp.Table | exp.Lateral] = [
        table for table in tables_of(tree) if not isinstance(table.this, exp.Identifier)
    ]
    return functions + [
        node for node in nodes(tree) if isinstance(node, exp.Lateral) and not isinstance(node.this, exp.Subquery)
    ]


def _stands_alone(function: exp.Expr) -> bool:
    """Is it the FROM of a `SELECT *` with nothing else in it, where no `g.f` can mean f(g)?"""
    select = function.parent.parent if isinstance(function.parent, exp.From) else None
    if not isinstance(select, exp.Select) or function.args.get("joins"):
        return False
    listed = select.expressions
    others = [part for part, value in select.args.items() if value and part not in ("expressions", "from_")]
    return not others and len(listed) == 1 and type(listed[0]) is exp.Star and not listed[0].args.get("except_")


def _read(sql: str, dialect: Dialect) -> exp.Expr | None:
    """The statement, by the scanner that analysts' statements are read with; None for what is no statement of one."""
    try:
        (tree,) = (
            postgres_parser().parse(tokens_of(lex(sql)), sql) if dialect == "postgres" else parse(sql, read=dialect)
        )
    except (SqlglotError, PlannerError, ValueError, RecursionError):
        return None
    return tree if isinstance(tree, exp.Query) else None


def _rereading_refusal() -> UnsupportedSQL:
    hint = "write it with fewer functions: plain names, numbers and texts"
    return UnsupportedSQL("what surrounds the answers cannot be written as SQL for the database", hint=hint)
