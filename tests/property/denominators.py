"""Numbers inside one another, three deep and more, where a proof decides: denominators, roots, logarithms, powers."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

COLUMNS = ("i", "j", "n", "m", "f", "r", "k", "w", "q")
LITERALS = (
    "0", "1", "2", "3", "7", "-1", "-3", "10", "50", "100", "0.5", "0.1", "0.3", "0.01", "1.5", "-0.25", "1000000",
    "0.00000000001", "0.999999999999", "0.30000000000000004", "2147483647", "9007199254740993", "1e-18", "1e-60",
    "1e-90", "1e-100", "1e18", "1e50", "1e60", "1e100", "-1e100", "4503599627370497.5", "1e0", "-2147483648",
    "-9223372036854775808", "1000000000000000000000000000000",
)  # fmt: skip
_MODULI = ("1", "2", "3", "7", "-3", "10", "0.5", "0.25", "0.1", "1e-20", "1e50", "100")
_DIVISORS = ("2", "3", "7", "-4", "0.1", "1e50", "1e-50", "1e100", "1e-100", "7.25", "3::numeric(5, 2)")
_PLACES = ("-12", "-3", "-1", "0", "1", "2", "11", "12")
_POWERS = ("0", "1", "2", "3", "7", "14", "16")
_CASTS = ("int", "bigint", "smallint", "numeric", "float8", "numeric(16, 1)", "numeric(38, 12)", "numeric(20, 0)")
_COMPARISONS = (">", ">=", "<", "<=", "=", "<>")
_CONDITIONS = ("t LIKE 'a%'", "b", "d > DATE '2020-01-01'", "t IS NULL", "s < TIMESTAMP '2000-01-01'", "v ILIKE '%a'")


OF_ONE = ("abs({})", "sign({})", "floor({})", "ceil({})", "round({})", "trunc({})", "-({})", "round({}, 0)",
           "trunc({}, 1)", "round({}, -1)", "mod({}, 7)", "mod({}, -3)", "({}) / 7", "({})::int", "({})::bigint",
           "({})::numeric", "({})::numeric(38, 12)", "sqrt({})", "power({}, 2)", "nullif({}, 7)")  # fmt: skip
_OF_TWO = ("coalesce({}, {})", "greatest({}, {})", "least({}, {})", "nullif({}, {})", "({}) + ({})", "({}) * ({})",
           "CASE WHEN b THEN {} ELSE {} END")  # fmt: skip


@st.composite
def constant(draw: st.DrawFn, depth: int = 2) -> str:
    """Functions of literals, which the database may take for machine integers, numerics or doubles."""
    if depth <= 0 or draw(st.integers(0, 3)) == 0:
        written: str = draw(st.sampled_from(LITERALS))
        return written
    if draw(st.booleans()):
        return draw(st.sampled_from(OF_ONE)).format(draw(constant(depth - 1)))
    return draw(st.sampled_from(_OF_TWO)).format(draw(constant(depth - 1)), draw(constant(depth - 1)))


@st.composite
def _condition(draw: st.DrawFn, depth: int) -> str:
    if draw(st.booleans()):
        return draw(st.sampled_from(_CONDITIONS))
    left = draw(st.sampled_from(COLUMNS)) if draw(st.booleans()) else draw(number(depth - 1))
    return f"({left}) {draw(st.sampled_from(_COMPARISONS))} {draw(st.sampled_from(LITERALS))}"


@st.composite
def denominator(draw: st.DrawFn, depth: int) -> str:
    """A number that is often proved not to be zero, or to be positive."""
    inner = draw(number(depth - 1))
    small = draw(st.sampled_from(LITERALS))
    return draw(
        st.sampled_from(
            [
                f"NULLIF({inner}, 0)",
                f"greatest({inner}, {small})",
                f"least({inner}, {small})",
                f"(abs({inner}) + {small})",
                f"(({inner}) * ({inner}) + 1)",
                f"abs(NULLIF({inner}, 0))",
                f"least(greatest({inner}, {small}), {draw(st.sampled_from(LITERALS))})",
                f"exp(least({inner}, 5))",
                f"({inner})",
            ]
        )
    )


@st.composite
def number(draw: st.DrawFn, depth: int) -> str:
    """An expression of at most `depth` levels; many are refused, none may fail or leave its bounds."""
    if depth <= 0:
        if draw(st.integers(0, 3)) == 0:
            return draw(constant())
        leaf: str = draw(st.sampled_from(COLUMNS + LITERALS if draw(st.booleans()) else COLUMNS))
        return leaf
    one, pick = draw(number(depth - 1)), draw(st.integers(0, 19))

    def of(choices: Sequence[str]) -> str:
        chosen: str = draw(st.sampled_from(choices))
        return chosen

    if pick < 3:
        return f"({one}) / {draw(denominator(depth))}"
    if pick < 5:
        return f"mod({draw(denominator(depth)) if pick == 3 else one}, {of(_MODULI)})"
    if pick < 7:
        return f"{of(('trunc', 'round'))}({draw(denominator(depth)) if pick == 5 else one}, {of(_PLACES)})"
    if pick == 7:
        return f"power({one}, {of(_POWERS)})"
    if pick == 8:
        return f"{of(('sqrt', 'ln', 'log'))}({draw(denominator(depth))})"
    if pick == 9:
        return f"exp({of(('-', ''))}{draw(denominator(depth))})"
    if pick < 12:
        return f"({one}) {of('+-*')} ({draw(number(depth - 1))})"
    if pick == 12:
        return f"({one}) / {of(_DIVISORS)}"
    if pick == 13:
        return f"({one})::{of(_CASTS)}"
    if pick == 14:
        return f"{of(('abs', 'sign', 'floor', 'ceil', 'round', 'trunc', '-'))}({one})"
    if pick < 17:
        return f"CASE WHEN {draw(_condition(depth))} THEN {one} ELSE {draw(number(depth - 1))} END"
    if pick == 17:
        return f"coalesce({one}, {draw(number(depth - 1))})"
    if pick == 18:
        return f"NULLIF({one}, {of(('0', draw(number(0))))})"
    return f"{of(('least', 'greatest'))}({one}, {of((draw(number(depth - 1)), *LITERALS))})"
