"""`make readme`: the tables of docs/sql.md, from the tables that the planner decides by.

`tests/unit/test_docs.py` fails where the page says anything else.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from sqlglot import exp

from planner.expressions import functions
from planner.parsing import grammar
from tests.release.readme import replaced
from tests.support.function_examples import EXAMPLES_OF

PAGE = Path(__file__).parents[2] / "docs" / "sql.md"
AGGREGATES = ("<!-- aggregates: written by `make readme` -->", "<!-- end of aggregates -->")
FUNCTIONS = ("<!-- functions: written by `make readme` -->", "<!-- end of functions -->")
REFUSALS = ("<!-- refusals: written by `make readme` -->", "<!-- end of refusals -->")

_EXAMPLES = 3
_PAIRS = "over pairs (x, y) without a NULL"

ABOUT: dict[type[exp.Expr], tuple[str, str]] = {
    exp.Count: ("count(*), count(x), count(DISTINCT x)", "the number of rows, values, or distinct values"),
    exp.Sum: (
        "sum(x), sum(DISTINCT x)",
        "an expression whose columns have declared ranges, or ranges from conditions: `x BETWEEN 0 AND 9`",
    ),
    exp.Avg: ("avg(x), avg(DISTINCT x)", "sum and count, measured together"),
    exp.Min: ("min(x), min(x, k)", "a value of the declared range, drawn so that about k people lie beyond it"),
    exp.Max: ("max(x), max(x, k)", "like min"),
    exp.LogicalOr: ("bool_or(c)", "is it 95% sure that some row meets c? Per person it is exact"),
    exp.LogicalAnd: ("bool_and(c), every(c)", "is it not 95% sure that some row fails c? Per person it is exact"),
    exp.Median: ("median(x)", "the 0.5 quantile"),
    exp.PercentileCont: (
        "percentile_cont(q) WITHIN GROUP (ORDER BY x)",
        "a step of the declared range; where only the type bounds x, a value up to 0.05% away",
    ),
    exp.PercentileDisc: ("percentile_disc(q) WITHIN GROUP (ORDER BY x)", "like percentile_cont"),
    exp.Variance: ("variance(x), var_samp(x)", "around the mean that the same question releases"),
    exp.VariancePop: ("var_pop(x)", "like variance"),
    exp.Stddev: ("stddev(x)", "the square root of variance"),
    exp.StddevSamp: ("stddev_samp(x)", "the square root of variance"),
    exp.StddevPop: ("stddev_pop(x)", "the square root of var_pop"),
    exp.CovarPop: ("covar_pop(y, x)", _PAIRS),
    exp.CovarSamp: ("covar_samp(y, x)", _PAIRS),
    exp.Corr: ("corr(y, x)", _PAIRS),
    exp.RegrSlope: ("regr_slope(y, x)", "least squares"),
    exp.RegrIntercept: ("regr_intercept(y, x)", "least squares"),
    exp.RegrR2: ("regr_r2(y, x)", "least squares"),
    exp.RegrCount: ("regr_count(y, x)", _PAIRS),
    exp.RegrAvgx: ("regr_avgx(y, x)", _PAIRS),
    exp.RegrAvgy: ("regr_avgy(y, x)", _PAIRS),
}
"""How each aggregate is written, and what it is made of."""


def main() -> int:
    """Rewrite the tables; returns the exit code."""
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    return 0


def written(text: str) -> str:
    """The page with its tables as they are now."""
    for markers, rows in ((AGGREGATES, _aggregates()), (FUNCTIONS, _functions()), (REFUSALS, _refusals())):
        text = replaced(text, markers, "\n".join(rows))
    return text


def allowed_aggregates() -> list[type[exp.Expr]]:
    """The aggregates that the grammar lets through, in its order."""
    return [node for node in grammar.ALLOWED if issubclass(node, exp.AggFunc)]


def _aggregates() -> Iterator[str]:
    yield "| aggregate | meaning |"
    yield "| --- | --- |"
    for node in sorted(allowed_aggregates(), key=list(ABOUT).index):
        name, about = ABOUT[node]
        yield f"| `{name}` | {about} |"


def _functions() -> Iterator[str]:
    yield "| written | takes -> gives | why it cannot fail for a row |"
    yield "| --- | --- | --- |"
    for node, row in functions.TABLE.items():
        examples = ", ".join(_code(example) for example in EXAMPLES_OF.get(node, ())[:_EXAMPLES]) or _code(
            _spelling(node)
        )
        yield f"| {examples} | {_cell(row.takes)} | {_cell(row.total)} |"


def _refusals() -> Iterator[str]:
    yield "| refused | instead |"
    yield "| --- | --- |"
    known = {**dict(grammar._NAMES.values()), **dict(grammar._PARTS.values())}
    for name, hint in sorted(known.items(), key=lambda entry: entry[0].removeprefix("a ").lower()):
        yield f"| {_cell(name)} | {_cell(hint or '')} |"


def _spelling(node: type[exp.Expr]) -> str:
    names: dict[type[exp.Expr], str] = {
        exp.CurrentTimestamp: "now()",
        exp.Localtimestamp: "localtimestamp",
        exp.CurrentDate: "current_date",
    }
    return names.get(node, node.__name__.lower() + "(...)")


def _code(text: str) -> str:
    return f"`{_cell(text)}`"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    sys.exit(main())
