"""What a question's parameters and columns are, before any value is bound; free, and reads structure only."""

from __future__ import annotations

from planner.explain_prefix import explained_statement
from planner.parse import private_select, read
from planner.placeholders import Description, describe
from planner.policy import Policy
from planner.public.grammar import check_public_grammar
from planner.public.route import names_private_table
from planner.schema import Schema
from planner.syntax.queries import check_syntax
from server.explanation_text import EXPLANATION
from server.query import ResultColumn, StatementShape


def statement_shape(sql: str, schema: Schema, policy: Policy) -> StatementShape:
    """Parameters and columns of a question.

    Raises: PlannerError as `parse` and `bind` do.
    """
    explained = explained_statement(sql)
    found = _described(sql if explained is None else explained, schema, policy)
    if explained is not None:
        return StatementShape(found.parameters, EXPLANATION, (False,))
    columns = tuple(ResultColumn(name, kind) for name, kind in found.columns)
    return StatementShape(found.parameters, columns, found.noisy)


def _described(sql: str, schema: Schema, policy: Policy) -> Description:
    statement = read(sql)
    if names_private_table(statement.tree, policy):
        return describe(private_select(statement), schema, policy)
    check_public_grammar(statement.tree, statement.tokens)
    check_syntax(statement.lexemes)
    return describe(statement.tree, schema, policy)
