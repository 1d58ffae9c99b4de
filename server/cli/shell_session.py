"""The shell's session: settings, statements, and commands that begin with a backslash."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType

from rich.text import Text

from server.cli.answer_view import answer_table, expanded_answer, explanation_view, left
from server.cli.client import answered, ask, fetch, read_body
from server.cli.failure import CommandFailed, ExitCode
from server.cli.terminal import Format, printable, show, show_rows, tell
from server.explain.catalog import Catalog, CatalogTable, JoinPath
from server.http.answer_body import AnswerBody
from server.http.budget_body import RemainingQuestionsBody
from server.pgwire.statements import split_statements
from server.pgwire.statements.split_statements import split
from server.query import SETTINGS, Budget, Explanation


def is_command(text: str) -> bool:
    r"""Is it a shell command, which ends with the line?

    >>> is_command(r" \d orders"), is_command("SELECT 1;")
    (True, False)
    """
    return text.lstrip().startswith("\\")


def is_complete(text: str) -> bool:
    """Whether a text leaves nothing open: no statement without `;`, no quote, no comment.

    >>> is_complete("SELECT 1;"), is_complete("SELECT ';"), is_complete("SELECT 1 /* ; "), is_complete(" ")
    (True, False, False, True)
    """
    return is_command(text) or split_statements.is_complete(text)


def units(lines: Iterable[str]) -> Iterator[str]:
    r"""Split lines into statements and commands; the last statement needs no `;`.

    >>> list(units(["SELECT 1;", r"\timing", "SELECT", "  2; SELECT 3"]))
    ['SELECT 1', '\\timing', 'SELECT\n  2', 'SELECT 3']
    """
    pending = ""
    for line in lines:
        if not pending.strip() and is_command(line):
            yield line.strip()
            continue
        pending += line if line.endswith("\n") else f"{line}\n"
        if is_complete(pending):
            yield from (found.text for found in split(pending))
            pending = ""
    yield from (found.text for found in split(pending))


_EXPLAIN = "EXPLAIN"


@dataclass
class Session:
    r"""The state of the shell between two statements.

    Attributes:
      url, key: of the proxy; no repr shows the key.
      settings: of each question, by the names of `server.query.SETTINGS`.
    """

    url: str
    key: str
    settings: dict[str, float | str | None] = field(default_factory=dict)
    timing: bool = False
    expanded: bool = False
    last: str = ""
    over: bool = False

    def __repr__(self) -> str:
        return f"Session({self.url!r})"

    @cached_property
    def schema(self) -> Catalog:
        """The catalog, fetched once. Raises: CommandFailed."""
        return read_body(Catalog, fetch(self.url, "/v1/schema", self.key), self.url)

    def budget(self) -> RemainingQuestionsBody:
        """The budget. Raises: CommandFailed."""
        return read_body(RemainingQuestionsBody, fetch(self.url, "/v1/budget", self.key), self.url)

    def ask(self, statement: str) -> None:
        """Ask a statement and show its answer; explain it if EXPLAIN stands before it. Raises: CommandFailed."""
        words = statement.split(None, 1)
        if len(words) == 2 and words[0].upper() == _EXPLAIN:
            self.explain(words[1])
            return
        self.last = statement
        text = self._timed(lambda: answered(self.url, self.key, self._question(statement), sql=statement))
        response = read_body(AnswerBody, text, self.url).response()
        show(expanded_answer(response) if self.expanded else answer_table(response))

    def explain(self, statement: str) -> None:
        """Show what a statement would do and cost; free. Raises: CommandFailed."""
        question = self._question(statement)
        text = self._timed(lambda: ask(self.url, "/v1/explain", self.key, question, sql=statement))
        show(explanation_view(read_body(Explanation, text, self.url)))

    def _question(self, statement: str) -> dict[str, object]:
        return {"sql": statement, **self.settings}

    def _timed(self, work: Callable[[], str]) -> str:
        begun = time.monotonic()
        try:
            return work()
        finally:
            if self.timing:
                tell(f"Time: {time.monotonic() - begun:.3f} s")


@dataclass(frozen=True)
class Command:
    """A command: the name of its argument, a short help, and its function."""

    argument: str
    help: str
    run: Callable[[Session, str], None]


def run_command(session: Session, line: str) -> None:
    r"""Run `\name argument`. Raises: CommandFailed for an unknown command, and what the command raises."""
    name, _, argument = line.strip().rstrip(";").partition(" ")
    command = COMMANDS.get(name)
    if command is None:
        raise CommandFailed(
            f"there is no command {printable(name)}", hint=r"\? lists them", exit_code=ExitCode.REFUSED
        )
    command.run(session, argument.strip())


def _refused(message: str, hint: str) -> CommandFailed:
    return CommandFailed(message, hint=hint, exit_code=ExitCode.REFUSED)


def _help(session: Session, argument: str) -> None:
    del session, argument
    written = {f"{name} {command.argument}": command.help for name, command in COMMANDS.items()}
    width = max(map(len, written))
    for name, about in written.items():
        show(Text(f"  {name:<{width}} {about}"))


def _leave(session: Session, argument: str) -> None:
    del argument
    session.over = True


def _describe(session: Session, argument: str) -> None:
    if not argument:
        _tables(session, argument)
        return
    wanted = argument.lower()
    tables = session.schema.tables
    table = next((one for one in tables if wanted in (one.sql.lower(), one.name.lower())), None)
    if table is None:
        raise CommandFailed(f"there is no table {argument}", hint=r"\dt lists them", exit_code=ExitCode.REFUSED)
    rows = [
        (column.name, column.type, "" if column.nullable else "not null", column.note) for column in table.columns
    ]
    show_rows(("column", "type", "", "declared"), rows, Format.TABLE)
    for join in table.joins:
        show(Text(printable(_join(join))))
    show(Text(_kind(table)))


def _tables(session: Session, argument: str) -> None:
    del argument
    rows = [(table.sql, len(table.columns), _kind(table)) for table in session.schema.tables]
    show_rows(("table", "columns", "answers"), rows, Format.TABLE)


def _kind(table: CatalogTable) -> str:
    view = "a view, " if table.kind == "view" else ""
    if table.public:
        return f"{view}public: exact and free"
    whose = "each row is a protected person" if table.privacy_unit else "noisy and charged"
    return f"{view}private: {whose}"


def _join(join: JoinPath) -> str:
    owner = "" if join.owning else " (does not own)"
    return f"({', '.join(join.columns)}) references {join.table} ({', '.join(join.key)}){owner}"


def _budget(session: Session, argument: str) -> None:
    del argument
    found = session.budget()
    show(Text(left(Budget(found.epsilon, found.delta, found.epsilon_left, found.delta_left))))
    show(Text(printable(f"Guarantee: {found.guarantee}.")))
    if found.questions_left is not None:
        like = f"like your last {found.questions_like}" if found.questions_like > 1 else "like your last one"
        show(Text(f"About {found.questions_left:,} more questions {like} fit."))


def _explain(session: Session, argument: str) -> None:
    statement = argument or session.last
    if not statement:
        raise _refused("nothing to explain yet", r"\explain SELECT ...")
    session.explain(statement)


def _setting(name: str, example: str, unset: str, said: str) -> Callable[[Session, str], None]:
    """A command that sets a request setting, and unsets it with `default`.

    Args:
      name: of the setting.
      example: of the command.
      unset, said: the confirmation; `{:g}` stands for the number.
    """

    def run(session: Session, argument: str) -> None:
        if argument in ("default", "off"):
            session.settings.pop(name, None)
        elif argument:
            try:
                session.settings[name] = SETTINGS[name].read(argument)
            except ValueError as error:
                raise _refused(f"{name} is {error}, or default", example) from None
        now = session.settings.get(name)
        tell(unset if now is None else said.format(now))

    return run


def _switch(attribute: str, name: str) -> Callable[[Session, str], None]:
    """A command that turns something on or off."""

    def run(session: Session, argument: str) -> None:
        now = {"on": True, "off": False}.get(argument.lower(), not getattr(session, attribute))
        setattr(session, attribute, now)
        tell(f"{name} is {'on' if now else 'off'}.")

    return run


_EPSILON = _setting(
    "epsilon",
    r"\epsilon 0.5",
    "Each question spends the policy's default.",
    "Each question spends epsilon {:g}.",
)
_ACCURACY = _setting(
    "max_relative_error",
    r"\accuracy 0.05",
    "Each question spends its epsilon; there is no accuracy target.",
    "Each question spends the smallest epsilon for a relative error of at most {:g}.",
)
_NOBODY_ADDS_MORE_THAN = _setting(
    "at_most",
    r"\at_most 30",
    "No bound on what one person adds: intervals cover the clipped value.",
    "Nobody adds more than {:g} to a group, as you declared: intervals cover the true value.",
)

COMMANDS: Mapping[str, Command] = MappingProxyType(
    {
        r"\?": Command("", "these lines", _help),
        r"\d": Command("[TABLE]", "columns, ranges, group keys and joins of a table; all tables", _describe),
        r"\dt": Command("", "all tables", _tables),
        r"\budget": Command("", "what is left of your budget", _budget),
        r"\explain": Command(
            "[SELECT]", "what it would do and cost, free; without a SELECT, the last question", _explain
        ),
        r"\epsilon": Command("[NUMBER]", "the epsilon of each question from now on, or `default`", _EPSILON),
        r"\accuracy": Command(
            "[NUMBER]", "the accuracy target of each question from now on, or `default`", _ACCURACY
        ),
        r"\at_most": Command(
            "[NUMBER]",
            "the most that one person adds to a group, so that intervals cover the true value; or `default`",
            _NOBODY_ADDS_MORE_THAN,
        ),
        r"\timing": Command("[on|off]", "say how long each question took", _switch("timing", "Timing")),
        r"\x": Command("[on|off]", "one line per cell", _switch("expanded", "Expanded display")),
        r"\q": Command("", "leave; so does Ctrl-D", _leave),
    }
)
"""The commands, in the order of the help."""
