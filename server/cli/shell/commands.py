r"""The shell's own commands, which begin with a backslash."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from rich.text import Text

from server.cli.failure import CommandFailed, ExitCode
from server.cli.output.answer_view import left
from server.cli.output.listing import Format, show_rows
from server.cli.output.terminal import printable, show, tell
from server.cli.shell.session import Session
from server.http.bodies.schema_body import JoinOfTable, TableOfSchema
from server.query import Budget


@dataclass(frozen=True)
class Command:
    """A command: what its argument is called, what it does in a few words, and what does it."""

    argument: str
    help: str
    run: Callable[[Session, str], None]


def run_command(session: Session, line: str) -> None:
    r"""Run `\name argument`. Raises: CommandFailed for one that there is not, and what the command raises."""
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
    show_rows(("column", "type", "", "may be asked"), rows, Format.TABLE)
    for join in table.joins:
        show(Text(printable(_join(join))))
    show(Text(_kind(table)))


def _tables(session: Session, argument: str) -> None:
    del argument
    rows = [(table.sql, len(table.columns), _kind(table)) for table in session.schema.tables]
    show_rows(("table", "columns", "answers"), rows, Format.TABLE)


def _kind(table: TableOfSchema) -> str:
    view = "a view, " if table.kind == "view" else ""
    if table.public:
        return f"{view}public: exact and free"
    whose = "each row is somebody who is protected" if table.privacy_unit else "noisy and charged"
    return f"{view}private: {whose}"


def _join(join: JoinOfTable) -> str:
    owner = "" if join.owning else " (does not own)"
    return f"({', '.join(join.columns)}) references {join.table} ({', '.join(join.key)}){owner}"


def _budget(session: Session, argument: str) -> None:
    del argument
    found = session.budget()
    show(Text(left(Budget(found.epsilon, found.delta, found.epsilon_left, found.delta_left))))
    show(Text(printable(f"Your budget protects at {found.guarantee}.")))
    if found.questions_left is not None:
        like = f"like your last {found.questions_like}" if found.questions_like > 1 else "like your last one"
        show(Text(f"That is {found.questions_left:,} more questions {like}."))


def _explain(session: Session, argument: str) -> None:
    statement = argument or session.last
    if not statement:
        raise _refused("nothing to explain yet", r"\explain SELECT ...")
    session.explain(statement)


def _epsilon(session: Session, argument: str) -> None:
    if argument == "default":
        session.epsilon = None
    elif argument:
        session.epsilon = _positive(argument, _NO_EPSILON)
    spent = "the policy's default" if session.epsilon is None else f"epsilon {session.epsilon:g}"
    tell(f"Each question spends {spent}.")


def _accuracy(session: Session, argument: str) -> None:
    if argument == "default":
        session.accuracy = None
    elif argument:
        session.accuracy = _positive(argument, _NO_ACCURACY)
    if session.accuracy is None:
        tell("Each question spends its epsilon, whatever its accuracy.")
    else:
        tell(
            f"Each question spends the least that is expected to be within {100 * session.accuracy:g}% of its value."
        )


def _nobody_adds_more_than(session: Session, argument: str) -> None:
    if argument in ("off", "default"):
        session.nobody_adds_more_than = None
    elif argument:
        session.nobody_adds_more_than = _positive(argument, _NO_AMOUNT)
    if session.nobody_adds_more_than is None:
        tell("Nothing is said of what one person adds: intervals cover the answer after cutting.")
        return
    said = f"{session.nobody_adds_more_than:g}"
    tell(f"Nobody adds more than {said} to a group, as you say: intervals are for the truth.")


_NO_EPSILON = ("epsilon is a number above 0, or default", r"\epsilon 0.5")
_NO_ACCURACY = ("an accuracy is a number above 0, or default", r"\accuracy 0.05")
_NO_AMOUNT = ("what one person adds is a number above 0, or off", r"\nobody_adds_more_than 30")


def _positive(text: str, otherwise: tuple[str, str]) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value > 0):
        raise _refused(*otherwise)
    return value


def _timing(session: Session, argument: str) -> None:
    session.timing = _switched(argument, session.timing)
    tell(f"Timing is {'on' if session.timing else 'off'}.")


def _expanded(session: Session, argument: str) -> None:
    session.expanded = _switched(argument, session.expanded)
    tell(f"Expanded display is {'on' if session.expanded else 'off'}.")


def _switched(argument: str, now: bool) -> bool:
    return {"on": True, "off": False}.get(argument.lower(), not now)


COMMANDS: Mapping[str, Command] = MappingProxyType(
    {
        r"\?": Command("", "these lines", _help),
        r"\d": Command("[TABLE]", "columns, ranges, group keys and joins of a table; all tables", _describe),
        r"\dt": Command("", "all tables", _tables),
        r"\budget": Command("", "what is left of your budget", _budget),
        r"\explain": Command("[SELECT]", "what it would do and cost, free; the last question without one", _explain),
        r"\epsilon": Command("[NUMBER]", "what each question spends from now on, or `default`", _epsilon),
        r"\accuracy": Command("[NUMBER]", "the relative error of each question from now on, or `default`", _accuracy),
        r"\nobody_adds_more_than": Command(
            "[NUMBER]",
            "what one person adds to a group at most: intervals are for the truth; or `off`",
            _nobody_adds_more_than,
        ),
        r"\timing": Command("[on|off]", "say how long each question took", _timing),
        r"\x": Command("[on|off]", "one line per cell", _expanded),
        r"\q": Command("", "leave; so does Ctrl-D", _leave),
    }
)
"""In the order in which they are listed."""
