"""Rewrite alternative spellings: arrays, row comparisons, to_date, TABLE.

Each function changes a tree in place, in linear time unless stated otherwise. It leaves unknown forms to the grammar,
which refuses them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from datetime import datetime, timedelta
from decimal import Decimal

from sqlglot import exp
from sqlglot.dialects.postgres import Postgres
from sqlglot.time import format_time

from planner.errors import InvalidSyntax, StatementTooComplex
from planner.limits import MAX_WORDS
from planner.parsing.lexer import Lexeme
from planner.sql.constant_intervals import written_interval
from planner.sql.datetimes import date_form, moment_text, read_date
from planner.sql.literals import BOUND_ARRAY, array_elements, constant
from planner.sql.sql_types import sql_type
from planner.sql.trees import cast_sql, copied, nodes, select_within


def memberships(tree: exp.Query) -> None:
    """Rewrite `= ANY` and `<> ALL` of arrays to IN and NOT IN, in place.

    An array is `ARRAY[...]`, a text `'{...}'`, or a placeholder, with or without a cast to an array type. With an
    empty array, `= ANY` is false and `<> ALL` true for every row; with NULL as the array, both are NULL.

    >>> from sqlglot import parse_one
    >>> tree = parse_one("SELECT 1 FROM t WHERE a = ANY(ARRAY[1, 2]) AND b <> ALL('{x,y}')", dialect="postgres")
    >>> memberships(tree)
    >>> tree.sql("postgres")
    "SELECT 1 FROM t WHERE a IN (1, 2) AND NOT (b IN ('x', 'y'))"
    """
    for node in nodes(tree):
        if isinstance(node, (exp.EQ, exp.NEQ)):
            array = compared_array(node)
            if array is None:
                continue
            if isinstance(array, exp.Query):
                inside = exp.In(this=node.this, query=exp.Subquery(this=array))
                node.replace(exp.Not(this=inside) if isinstance(node, exp.NEQ) else inside)
                continue
            if isinstance(constant(array), exp.Null):
                node.replace(type(node)(this=node.this, expression=exp.Null()))
                continue
            elements = _elements(array, None)
            if elements is not None:
                node.replace(among(node.this, elements, denied=isinstance(node, exp.NEQ)))


def among(value: exp.Expr, elements: Sequence[exp.Expr], *, denied: bool = False) -> exp.Expr:
    """Write `value IN (elements)`, or NOT IN; a constant if there are no elements."""
    if not elements:
        return exp.Boolean(this=denied)
    inside = exp.In(this=value, expressions=list(elements))
    return exp.Not(this=exp.Paren(this=inside)) if denied else inside


def compared_array(node: exp.EQ | exp.NEQ) -> exp.Expr | None:
    """The array that a value is compared with; None for anything else."""
    right, denied = node.expression, isinstance(node, exp.NEQ)
    array: exp.Expr | None = right.this if isinstance(right, exp.All if denied else exp.Any) else None
    if isinstance(right, exp.Anonymous) and right.name.upper() == ("ALL" if denied else "SOME"):
        array = right.expressions[0] if len(right.expressions) == 1 else None
    return None if array is None else array.unnest()


def _elements(array: exp.Expr, kind: exp.DataType | None) -> list[exp.Expr] | None:
    """The elements of an array, with the element type of its cast."""
    if isinstance(array, exp.Cast) and array.to.this == exp.DataType.Type.ARRAY and kind is None:
        inner = array.to.expressions
        return _elements(array.this.unnest(), inner[0]) if len(inner) == 1 else None
    if isinstance(array, exp.Array):
        return [_typed(element, kind) for element in array.expressions]
    if isinstance(array, exp.Literal) and array.is_string:
        most = 2 * MAX_WORDS  # as in an IN list, where a literal counts half
        texts = array_elements(array.name, most)
        if texts is not None and len(texts) > most:
            message = f"the array has more than {most:,} elements"
            raise StatementTooComplex(message, hint="ask several shorter questions", at=array)
        return None if texts is None else [_typed(_element(text, array), kind) for text in texts]
    if isinstance(array, exp.Parameter):
        array.meta[BOUND_ARRAY] = True
        return [_typed(array, kind)]
    return None


def _element(text: str | None, array: exp.Expr) -> exp.Expr:
    literal: exp.Expr = exp.Null() if text is None else exp.Literal.string(text)
    literal.meta.update(array.meta)
    return literal


def _typed(element: exp.Expr, kind: exp.DataType | None) -> exp.Expr:
    """An element with the type of its array: a text literal, a number, or a cast."""
    if kind is None or isinstance(element, exp.Null):
        return element
    meant = sql_type(kind.sql("postgres").lower())
    literal = isinstance(element, exp.Literal)
    if meant.is_string and literal:
        text = exp.Literal.string(element.name)
        text.meta.update(element.meta)
        return text
    if literal and meant.is_number:
        return element  # a quoted one is read as a number later
    cast = exp.Cast(this=element, to=copied(kind))
    cast.meta.update(element.meta)
    return cast


_FORMATS: dict[str, tuple[str, re.Pattern[str]]] = {
    "%Y-%m-%d": ("YYYY-MM-DD", re.compile(r"\d{4}-\d\d-\d\d")),
    "%Y-%m-%d %H:%M:%S": ("YYYY-MM-DD HH24:MI:SS", re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d")),
    "%Y-%m-%d %H:%M:%S.%f": ("YYYY-MM-DD HH24:MI:SS.US", re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6}")),
}
"""By the parser library's spelling of a format: PostgreSQL's spelling, and the texts that fill it digit by digit."""

_SECONDS = re.compile(r"[0-9]{1,12}(\.[0-9]{1,6})?")


def written_moments(tree: exp.Query, texts: Collection[str]) -> None:
    """Rewrite to_date and to_timestamp of literals to casts, in place.

    PostgreSQL accepts almost any text (`to_date('31', 'YYYY')`). Here a text must fill its format digit by digit. A
    timestamp is at UTC.
    Args:
      texts: the statement's quoted texts, because the tree drops the spelling of a format.

    >>> from sqlglot import parse_one
    >>> sql = "SELECT to_date('1994-01-31', 'YYYY-MM-DD'), to_date('31', 'DD')"
    >>> tree = parse_one(sql, dialect="postgres")
    >>> written_moments(tree, ["1994-01-31", "YYYY-MM-DD", "31", "DD"])
    >>> tree.sql("postgres")
    "SELECT CAST('1994-01-31' AS DATE), TO_DATE('31', 'DD')"
    """
    for node in nodes(tree):
        written = _written_format(node, texts) if isinstance(node, exp.StrToDate) else None
        if written is not None:
            text = _text(node.this)
            day = None if text is None else read_date(text, written)
            if text is not None and date_form(written) is not None:
                literal = node.this if day is None else exp.Literal.string(day.isoformat())
                node.replace(cast_sql(literal, "DATE"))  # a text that is no date is refused where it is bound
            else:
                node.set("format", exp.Literal.string(written))
        elif isinstance(node, (exp.StrToDate, exp.StrToTime)) and _fills_its_format(node, texts):
            node.replace(cast_sql(node.this, "DATE" if isinstance(node, exp.StrToDate) else "TIMESTAMP"))
        elif isinstance(node, exp.UnixToTime):
            moment = _epoch(node)
            if moment is not None:
                node.replace(moment)


def written_intervals(tree: exp.Query) -> None:
    """Rewrite `'7 days'::interval` and `7 * INTERVAL '1 day'` to an INTERVAL of one unit, in place.

    It also runs after the values of placeholders are bound.

    >>> from sqlglot import parse_one
    >>> tree = parse_one("SELECT 1 WHERE now() - '2 hours'::interval < x + 3 * INTERVAL '1' DAY", dialect="postgres")
    >>> written_intervals(tree)
    >>> tree.sql("postgres")
    "SELECT 1 WHERE CURRENT_TIMESTAMP - INTERVAL '7200 SECOND' < x + INTERVAL '3 DAY'"
    """
    for node in reversed(nodes(tree)):  # inner nodes first: an interval may be cast to interval
        written = written_interval(node)
        if written is not None:
            written.meta.update(node.meta)
            node.replace(written)


def _epoch(node: exp.UnixToTime) -> exp.Expr | None:
    """Write to_timestamp(seconds) as a timestamp at UTC; None unless the seconds are a literal."""
    seconds = node.this.unnest()
    sign = -1 if isinstance(seconds, exp.Neg) else 1
    written = seconds.this.unnest() if isinstance(seconds, exp.Neg) else seconds
    whole = isinstance(written, exp.Literal) and not written.is_string and _SECONDS.fullmatch(written.name)
    if not whole or len([part for part in node.args.values() if part is not None]) > 1:
        return None
    try:
        moment = datetime(1970, 1, 1) + timedelta(microseconds=sign * int(Decimal(written.name) * 1_000_000))
    except OverflowError:
        return None
    literal = exp.Literal.string(f"{moment_text(moment)}+00")
    literal.meta.update(written.meta)
    return cast_sql(literal, "TIMESTAMPTZ")


def formatted_keys(tree: exp.Query) -> None:
    """Add `to_char` of a group key to the keys, in place: in all rows of a group it is the same text.

    So `SELECT to_char(d, 'YYYY') FROM t GROUP BY d` groups by d and to_char(d, 'YYYY').
    """
    # Not in subqueries: of their keys the possible values would be asked.
    group = tree.args.get("group") if isinstance(tree, exp.Select) else None
    if group is None or any(value for part, value in group.args.items() if part != "expressions"):
        return
    items = {str(place): item.unalias() for place, item in enumerate(tree.expressions, 1)}
    items |= {item.alias: item.unalias() for item in tree.expressions if isinstance(item, exp.Alias)}
    named = [key.name if isinstance(key, (exp.Literal, exp.Column)) else "" for key in group.expressions]
    keys = [key.unnest() for key in group.expressions]
    keys += [items[name].unnest() for name in named if name in items]
    for node in nodes(tree):
        own = isinstance(node, exp.ToChar) and node.find_ancestor(exp.Select, exp.AggFunc) is tree
        if own and node.this.unnest() in keys and node not in keys:
            group.append("expressions", copied(node))
            keys.append(node)


def _fills_its_format(node: exp.Expr, texts: Collection[str]) -> bool:
    text, format_ = _text(node.this), _text(node.args.get("format"))
    if text is None or format_ not in _FORMATS:
        return False
    spelling, pattern = _FORMATS[format_]
    return spelling in texts and pattern.fullmatch(text) is not None


def _written_format(node: exp.Expr, texts: Collection[str]) -> str | None:
    """The format of to_date as the analyst wrote it, rather one of which the planner reads dates."""
    drawn = _text(node.args.get("format"))
    mapping, trie = Postgres.TIME_MAPPING, Postgres.TIME_TRIE
    spelled = [one for one in sorted(texts) if format_time(one, mapping, trie) == drawn]
    return next((one for one in spelled if date_form(one) is not None), next(iter(spelled), None))


def _text(node: exp.Expr | None) -> str | None:
    return node.name if isinstance(node, exp.Literal) and node.is_string else None


_ORDERED: dict[type[exp.Expr], type[exp.Expr]] = {exp.LT: exp.LT, exp.LTE: exp.LT, exp.GT: exp.GT, exp.GTE: exp.GT}
"""By comparison of rows: the comparison of the first part that decides alone."""

_MOST_NODES = 1 << 15
"""The most nodes that copies of the left side of IN may have."""

_MOST_REPEATED = 16
"""The most nodes of an expression that is repeated for each side of a UNION."""

_AFTER_A_ROW = re.compile(r"\)\s*(?:[<>=!]|(?:NOT\s+)?IN\b)", re.IGNORECASE)


def may_compare_rows(sql: str) -> bool:
    """Does a comparison follow a parenthesis? Otherwise no walk through the tree is needed."""
    return _AFTER_A_ROW.search(sql) is not None


def row_comparisons(tree: exp.Query) -> None:
    """Rewrite comparisons of rows as PostgreSQL defines them, in place.

    Rows are equal if all parts are. A row is less if its first part is less, or if that is equal and the rest is
    less. A NULL makes the comparison unknown unless an earlier part decides. Rows inside rows, and long lists beside
    large expressions, stay as they are. Cost: for IN, the number of rows times the size of the left side.

    >>> from sqlglot import parse_one
    >>> tree = parse_one("SELECT 1 FROM t WHERE (a, b) IN ((1, 2), (3, 4)) AND (a, b) <= (5, 6)", dialect="postgres")
    >>> row_comparisons(tree)
    >>> tree.sql("postgres")
    'SELECT 1 FROM t WHERE ((a = 1 AND b = 2) OR (a = 3 AND b = 4)) AND (a < 5 OR (a = 5 AND b <= 6))'
    """
    for node in nodes(tree):
        written: exp.Expr | None = None
        if isinstance(node, exp.In) and node.args.get("query") is None:
            rows = [_parts(row) for row in node.expressions]
            left = _parts(node.this)
            same = bool(left and rows) and all(row is not None and len(row) == len(left or ()) for row in rows)
            if left and same and len(rows) * len(nodes(node.this)) <= _MOST_NODES:
                written = _any([_equal(node, left, row) for row in rows if row is not None])
        elif isinstance(node, (exp.EQ, exp.NEQ, *_ORDERED)):
            left, right = _parts(node.this), _parts(node.expression)
            if left and right and len(left) == len(right):
                written = _compared(node, left, right)
        if written is not None:
            node.replace(exp.Paren(this=written.unnest()))


def _parts(node: exp.Expr) -> list[exp.Expr] | None:
    """The parts of a row with several parts; None for anything else."""
    row = node.unnest()
    return list(row.expressions) if isinstance(row, exp.Tuple) and len(row.expressions) > 1 else None


def _compared(node: exp.Expr, left: Sequence[exp.Expr], right: Sequence[exp.Expr]) -> exp.Expr:
    if isinstance(node, exp.EQ):
        return _equal(node, left, right)
    if isinstance(node, exp.NEQ):
        return _any([_pair(node, exp.NEQ, a, b) for a, b in zip(left, right, strict=True)])
    last = len(left) == 1
    first = _pair(node, type(node) if last else _ORDERED[type(node)], left[0], right[0])
    if last:
        return first
    rest = exp.And(this=_pair(node, exp.EQ, left[0], right[0]), expression=_compared(node, left[1:], right[1:]))
    return exp.Paren(this=exp.Or(this=first, expression=exp.Paren(this=rest)))


def _equal(node: exp.Expr, left: Sequence[exp.Expr], right: Sequence[exp.Expr]) -> exp.Expr:
    return exp.Paren(this=_halved([_pair(node, exp.EQ, a, b) for a, b in zip(left, right, strict=True)], exp.And))


def _any(conditions: list[exp.Expr]) -> exp.Expr:
    return exp.Paren(this=_halved(conditions, exp.Or))


def _halved(conditions: list[exp.Expr], joined: Callable[..., exp.Expr]) -> exp.Expr:
    """Join conditions pairwise, so that a long list makes no deep tree."""
    if len(conditions) == 1:
        return conditions[0]
    middle = len(conditions) // 2
    return joined(this=_halved(conditions[:middle], joined), expression=_halved(conditions[middle:], joined))


def _pair(node: exp.Expr, kind: type[exp.Expr], left: exp.Expr, right: exp.Expr) -> exp.Expr:
    pair = kind(this=copied(left), expression=copied(right))
    pair.meta.update(node.meta)
    return pair


_PIECE = re.compile(
    r"\\(?P<escaped>[^a-zA-Z0-9])|(?P<any>\.\*)|(?P<some>\.\+)|(?P<one>\.)|(?P<end>[\^$])|(?P<open>\((?:\?:)?)"
    r"|(?P<close>\))|(?P<bar>\|)|\[(?P<set>[a-zA-Z0-9]{1,8})\]|(?P<text>[^\\.^$*+?()\[\]{}|]+)"
)
_PIECE_OF_SIMILAR = re.compile(
    r"\\(?P<escaped>[^a-zA-Z0-9])|(?P<any>%)|(?P<one>_)|(?P<open>\()|(?P<close>\))|(?P<bar>\|)"
    r"|(?P<text>[^\\%_*+?()\[\]{}|]+)"
)
_WILD = {"any": "%", "some": "_%", "one": "_"}
_MOST_PATTERNS = 64


def regular_expressions(tree: exp.Query) -> None:
    """Rewrite `~`, `~*` and SIMILAR TO as LIKE and ILIKE, in place, where LIKE can say the same.

    That is so for words, `.`, `.*`, alternatives, ends, and sets of a few letters.

    >>> from sqlglot import parse_one
    >>> tree = parse_one("SELECT x ~ '^(a|b_)', x ~* 'c.*d$', x SIMILAR TO 'e%|f', x ~ 'g+'", dialect="postgres")
    >>> regular_expressions(tree)
    >>> print(tree.sql("postgres"))
    SELECT (x LIKE 'a%' OR x LIKE 'b\\_%'), (x ILIKE '%c%d'), (x LIKE 'e%' OR x LIKE 'f'), x ~ 'g+'
    """
    for node in nodes(tree):
        if not isinstance(node, (exp.RegexpLike, exp.RegexpILike, exp.SimilarTo)) or isinstance(
            node.parent, exp.Escape
        ):
            continue
        text, flag = _text(node.expression), node.args.get("flag")
        similar = isinstance(node, exp.SimilarTo)
        found = (
            None if text is None else _like_patterns(text, _PIECE_OF_SIMILAR if similar else _PIECE, whole=similar)
        )
        if not found or (flag is not None and _text(flag) != "i") or len(found) * len(nodes(node.this)) > _MOST_NODES:
            continue
        kind = exp.Like if flag is None and not isinstance(node, exp.RegexpILike) else exp.ILike
        node.replace(_any([_pair(node, kind, node.this, exp.Literal.string(one)) for one in found]))


def _like_patterns(text: str, piece: re.Pattern[str], *, whole: bool) -> list[str] | None:
    """The patterns of LIKE of which a text matches one exactly if it matches the expression; None if there are none.

    Args:
      whole: must the expression match from the first to the last character?
    """
    levels: list[tuple[list[str], list[str]]] = [([], [""])]  # of each open group: what is said before | and since
    place = 0
    if _START in text or _END in text:
        return None
    while place < len(text):
        found = piece.match(text, place)
        done, begun = levels.pop()
        if found is None or len(done) + len(begun) > _MOST_PATTERNS:
            return None
        kind, place = str(found.lastgroup), found.end()
        if kind == "open":
            levels += [(done, begun), ([], [""])]
        elif kind == "bar":
            levels.append(([*done, *begun], [""]))
        else:
            said = [*done, *begun] if kind == "close" else _said(kind, found[kind])
            if kind == "close" and not levels:
                return None
            done, begun = levels.pop() if kind == "close" else (done, begun)
            levels.append((done, [one + other for one in begun for other in said]))
    done, begun = levels.pop()
    return None if levels else _anchored([*done, *begun], whole=whole)


def _said(kind: str, written: str) -> list[str]:
    """What a piece says in a pattern; a set says one of several things."""
    if kind == "set":
        return list(written)
    ends = {"^": _START, "$": _END}
    return [ends[written] if kind == "end" else _WILD.get(kind) or re.sub(r"([\\%_])", r"\\\1", written)]


_START, _END = "\x02", "\x03"


def _anchored(alternatives: list[str], *, whole: bool) -> list[str] | None:
    found = []
    for one in alternatives:
        start, end = one.startswith(_START), one.endswith(_END)
        body = one[start : len(one) - end]
        if _START in body or _END in body:
            return None
        found.append(f"{'' if start or whole else '%'}{body}{'' if end or whole else '%'}")
    return found if len(found) <= _MOST_PATTERNS else None


def unions_in_conditions(tree: exp.Expr) -> None:
    """Rewrite IN and EXISTS of a UNION as one test for each side, joined by OR, in place.

    >>> from sqlglot import parse_one
    >>> tree = parse_one("SELECT 1 FROM t WHERE x NOT IN (SELECT a FROM r UNION SELECT b FROM s)", dialect="postgres")
    >>> unions_in_conditions(tree)
    >>> tree.sql("postgres")
    'SELECT 1 FROM t WHERE NOT (x IN (SELECT a FROM r) OR x IN (SELECT b FROM s))'
    """
    for node in nodes(tree):
        part = "query" if isinstance(node, exp.In) else "this"
        union = node.args[part].unnest() if isinstance(node, exp.Exists) or node.args.get("query") else None
        plain = isinstance(union, exp.Union) and not any(map(union.args.get, ("with_", "order", "limit", "offset")))
        if union is None or not plain or (part == "query" and len(nodes(node.this)) > _MOST_REPEATED):
            continue
        sides = [side.unnest() for side in (union.this, union.expression)]
        tests = [copied(node) for _ in sides]
        for test, side in zip(tests, sides, strict=True):
            test.set(part, exp.Subquery(this=copied(side)) if part == "query" else copied(side))
        made = exp.Paren(this=exp.Or(this=tests[0], expression=tests[1]))
        node.replace(made)
        unions_in_conditions(made)


_BEFORE_A_QUERY = frozenset({"(", "UNION", "INTERSECT", "EXCEPT"})
_OF_SETS = frozenset({"ALL", "DISTINCT"})
_OF_ROWS = (exp.AggFunc, exp.Column, exp.Query, exp.Star, exp.Window)
_VALUES = (exp.Between, exp.Binary, exp.Case, exp.Cast, exp.Func, exp.If, exp.Neg, exp.Not, exp.Paren)


def written_tables(lexemes: Sequence[Lexeme]) -> list[Lexeme]:
    """Rewrite TABLE at the start of a query to SELECT * FROM.

    >>> [lexeme.text for lexeme in written_tables([Lexeme("TABLE", "TABLE", 0), Lexeme("#name", "t", 6)])]
    ['SELECT', '*', 'FROM', 't']
    """
    written: list[Lexeme] = []
    before = ["(", "("]
    for lexeme in lexemes:
        begins = before[-1] in _BEFORE_A_QUERY or (before[-1] in _OF_SETS and before[-2] in _BEFORE_A_QUERY)
        if lexeme.symbol == "TABLE" and begins:
            written += [Lexeme(text, text, lexeme.start) for text in ("SELECT", "*", "FROM")]
        else:
            written.append(lexeme)
        before.append(lexeme.symbol)
    return written


def constant_subqueries(tree: exp.Query) -> None:
    """Rewrite `(SELECT DATE '2024-01-01')` to its constant, and EXISTS of such a query to true.

    EXISTS (SELECT FROM t) gets a column.
    """
    for node in nodes(tree):
        if isinstance(node, exp.Exists) and isinstance(node.this, exp.Select) and not node.this.expressions:
            node.this.set("expressions", [exp.Literal.number(1)])
        if isinstance(node, exp.Exists) and _constant(node.this) is not None:
            node.replace(exp.Boolean(this=True))
        elif isinstance(node, exp.Subquery) and isinstance(node.parent, _VALUES) and node.arg_key != "query":
            constant = _constant(select_within(node.this, named=False) or node.this) if node.is_wrapper else None
            if constant is not None:
                node.replace(exp.Paren(this=constant))


def in_lower_case(tree: exp.Query, names: Collection[str]) -> exp.Query:
    """Write quoted names of tables and columns in lower case, for a database that ignores the case of names.

    The columns of the answer keep their names, and are sorted by them.

    >>> from sqlglot import parse_one
    >>> tree = parse_one('SELECT sum(v."Cost") AS "Cost" FROM "Visit" v ORDER BY "Cost"', dialect="postgres")
    >>> in_lower_case(tree, {"cost", "visit"}).sql("postgres")
    'SELECT SUM(v."cost") AS "Cost" FROM "visit" AS v ORDER BY "Cost"'
    """
    written = [node for node in nodes(tree) if isinstance(node, exp.Identifier) and node.args.get("quoted")]
    found = {node.name for node in written if node.name != node.name.lower() and node.name.lower() in names}
    if not found:
        return tree
    tree = tree.copy()
    sides: list[exp.Expr] = [tree]
    shown: set[str] = set()
    for side in sides:
        sides += [side.this, side.expression] if isinstance(side, exp.SetOperation) else []
        shown |= {item.alias for item in side.expressions if isinstance(item, exp.Alias)}
    for node in nodes(tree):
        if not isinstance(node, exp.Identifier) or node.name not in found:
            continue
        around = node.parent
        is_shown = isinstance(around, exp.Alias) and around.parent in sides
        if not is_shown and not (node.name in shown and isinstance(around, exp.Column) and _is_order(around, sides)):
            node.set("this", node.name.lower())
    return tree


def _is_order(column: exp.Column, sides: Sequence[exp.Expr]) -> bool:
    """Is it all that the answer is sorted by at its place?"""
    order = column.parent.parent if isinstance(column.parent, exp.Ordered) else None
    return order is not None and not column.table and order.parent in sides


def _constant(select: exp.Expr) -> exp.Expr | None:
    """The one value of a SELECT that reads no rows; None for any other."""
    parts = [part for part, value in select.args.items() if value] if isinstance(select, exp.Select) else []
    if parts != ["expressions"] or len(select.expressions) != 1:
        return None
    value: exp.Expr = select.expressions[0].unalias()
    return None if any(isinstance(node, _OF_ROWS) for node in nodes(value)) else value


def check_row_counts(tree: exp.Expr) -> None:
    """Refuse an invalid LIMIT, OFFSET or FETCH. Raises: InvalidSyntax."""
    for node in nodes(tree):
        if not isinstance(node, (exp.Limit, exp.Offset, exp.Fetch)):
            continue
        name = type(node).__name__.upper()
        count = node.args.get("count") if isinstance(node, exp.Fetch) else node.expression
        while isinstance(count, (exp.Paren, exp.Cast)):
            count = count.this
        if isinstance(count, exp.Neg) and isinstance(count.this, exp.Literal):
            raise InvalidSyntax(f"{name} must not be negative", hint="write 0 or more", at=node)
        if isinstance(count, exp.Literal) and count.is_string and not count.name.strip().isdecimal():
            raise InvalidSyntax(f"{name} takes a whole number", hint="write the number of rows", at=node)
