"""Any text at all: the planner answers with a plan or with its own error, never with anything else."""

from __future__ import annotations

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from planner.errors import PlannerError
from tests.support.planning import rewritten

_TEXT = r"""
select from where group by having order limit offset join left right full outer inner cross natural on using
count sum avg min distinct case when then else end and or not in is null like between exists any all true false
interval date timestamp with as union lateral for update cast orders o lineitem l customer knows nation
c_custkey o_orderkey l_orderkey l_quantity l_tax src dst n_name ( ) ( ) , . * + - / % = <> < > :: || [ ] ; 1 0
2.5 1e400 'a' '1994-01-01' 'year' "x" $1 @ ? : -- /* */ ~ E'a' now() random() pg_sleep(1) \ é 💥
"""
_WORDS = [*_TEXT.split(), "\0", "\ud800"]

_words = st.lists(st.sampled_from(_WORDS), max_size=40).map(" ".join)
_tail = st.lists(st.sampled_from(_WORDS), max_size=12).map(
    lambda words: "select count(*) from orders " + " ".join(words)
)
_sum = st.lists(st.sampled_from(_WORDS), max_size=8).map(
    lambda words: f"select sum({' '.join(words)}) from lineitem l"
)
_condition = st.lists(st.sampled_from(_WORDS), max_size=8).map(
    lambda words: f"select count(*) from lineitem l, orders o where {' '.join(words)}"
)


def _deep(piece: str, times: int, core: str = "1") -> str:
    return f"select count(*) from orders where {piece * times}{core}"


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.one_of(st.text(max_size=200), _words, _tail, _sum, _condition))
@example(_deep("(", 10_000))
@example(_deep("not ", 10_000))
@example(_deep("- ", 10_000))
@example(_deep("case when ", 5_000))
@example(_deep("1 + ", 10_000))
@example(_deep("o_orderkey = 1 and ", 3_000, "o_orderkey = 2"))
@example(_deep("o_orderkey = 1 or ", 3_000, "o_orderkey = 2"))
@example(_deep("o_orderkey = 1 and (o_orderkey = 2 or ", 24))
@example(_deep("a.", 10_000))
@example(_deep("1::int", 1) + "::int" * 8_000)
@example("select count(*) from orders" + ", orders" * 5_000)
@example("select count(*) from orders" + " union select 1" * 3_000)
@example("select count(*) from orders where o_orderkey in (" + "1, " * 20_000 + "1)")
@example("select count(*) from orders o where o" + "[1]" * 10_000)
@example("select " + "count(*), " * 6_000 + "count(*) from orders")
@example("/*" * 20_000)
@example("select 1 " * 50_000)
def test_text_gives_a_plan_or_a_planner_error(text: str) -> None:
    try:
        query = rewritten(text)
    except PlannerError as error:
        assert error.message
        assert error.position is None or 1 <= error.position <= len(text) + 1
    else:
        assert query.join is not None and query.join.startswith("SELECT CAST(")
