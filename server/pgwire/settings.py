"""A session's settings: `noisegate.*`, those that drivers set and show, and the `options` of a startup message.

Settings of questions come from `server.query.SETTINGS`, the others from the table here. The search path has
PostgreSQL's syntax.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from planner.errors import InvalidSetting, UnsupportedSQL
from planner.limits import MAX_EPSILON, MIN_EPSILON
from planner.schema import PUBLIC, sql_identifier
from planner.sql.zones import UTC, is_utc, zone_named
from privacy.registry import why_not_served
from server.errors import WireError
from server.query import OLD_NAMES, SETTINGS
from server.results.result_types import truth

SearchPath = tuple[str, ...] | None
"""The schemas in which a session looks for tables; None: the policy's."""

OWN_SCHEMA = "$user"
"""Stands for the schema named like the role; here no role has one."""

_IDENTIFIER = re.compile(r'\s*(?:"(?P<quoted>(?:[^"]|"")*)"|(?P<plain>[^\s",]+))\s*')


def default_path(schemas: Sequence[str]) -> str:
    """The default value of the search path.

    >>> default_path(["public"]), default_path(["clinic", "ref"])
    ('"$user", public', 'clinic, ref')
    """
    return spelled(((OWN_SCHEMA,) if tuple(schemas) == (PUBLIC,) else ()) + tuple(schemas))


def spelled(names: Sequence[str]) -> str:
    """Schema names as a setting's value, quoted where needed.

    >>> spelled(["clinic", "Ref", ""])
    'clinic, "Ref", ""'
    """
    return ", ".join(map(sql_identifier, names))


def read_path(value: str) -> tuple[str, ...]:
    """Parse the schema names of a value, folded like PostgreSQL's identifiers; unknown schemas are kept.

    Raises: InvalidSetting if it is no list of identifiers.

    >>> read_path('"$user", Clinic,"Ref"'), read_path("")
    (('$user', 'clinic', 'Ref'), ())
    """
    names: list[str] = []
    place = 0
    while value.strip():
        found = _IDENTIFIER.match(value, place)
        if found is None:
            break
        quoted = found["quoted"]
        names.append(_folded(found["plain"]) if quoted is None else quoted.replace('""', '"'))
        place = found.end()
        if place == len(value):
            return tuple(names)
        if value[place] != ",":
            break
        place += 1
    if value.strip():
        raise InvalidSetting("search_path must be a list of schemas", hint="SET search_path TO clinic, public")
    return ()


def _folded(name: str) -> str:
    """Convert ASCII letters to lower case, and no others."""
    return "".join(letter.lower() if letter.isascii() else letter for letter in name)


SERVER_VERSION = "14.0"
"""The PostgreSQL version that clients see.

Catalog queries for version 14 run on every later server, but not the reverse: psql 15 asks newer servers for a column
of pg_database that version 17 has renamed.
"""

SERVER_VERSION_NUM = "140000"
"""The same as a number."""

MAX_VALUE_LENGTH = 1_000
"""The most characters of a value; lists of schemas have some hundred."""

_PREFIX = "noisegate."

_EPSILON = "noisegate.epsilon"

_DURATION = re.compile(r"([0-9]{1,9})\s*(ms|s|min|h)?")

_STYLES = ("iso_8601", "postgres", "postgres_verbose", "sql_standard")
"""No answer has intervals, so all styles are accepted."""

_UNITS_MS = {None: 1, "ms": 1, "s": 1_000, "min": 60_000, "h": 3_600_000}


def _flag(name: str, value: str) -> str:
    try:
        return "on" if truth(value) else "off"
    except ValueError:
        raise InvalidSetting(f"{name} must be on or off") from None


def _of_question(name: str, value: str) -> str:
    try:
        read = SETTINGS[name.removeprefix(_PREFIX)].read(value)
    except ValueError as allowed:
        raise InvalidSetting(f"{name} must be {allowed}", hint=why_not_served(value.lower())) from None
    return read if isinstance(read, str) else value


def _utf8(name: str, value: str) -> str:
    letters = "".join(filter(str.isalnum, value.lower()))  # as PostgreSQL: some drivers send quotes
    if letters not in ("utf8", "unicode"):
        raise UnsupportedSQL("client_encoding must be UTF8", hint="SET client_encoding = 'UTF8'")
    return "UTF8"


def _iso(name: str, value: str) -> str:
    return "ISO, DMY" if "dmy" in value.lower() or "european" in value.lower() else "ISO, MDY"


def _duration(name: str, value: str) -> str:
    if _DURATION.fullmatch(value.strip().lower()) is None:
        raise InvalidSetting(f"{name} must be a duration, such as 30s; without a unit it is in milliseconds")
    return value


def _path(name: str, value: str) -> str:
    read_path(value)
    return value


def _never(name: str, value: str) -> str:
    raise InvalidSetting(f"{name} cannot be changed")


def _zone(name: str, value: str) -> str:
    zone = zone_named(value)
    if zone is None:
        hint = "write a name of the time zone database, such as 'Europe/Zurich', or a number of whole hours"
        raise InvalidSetting(f"{name}: unknown time zone {value!r}", hint=hint)
    return zone


def _one_of(*known: str) -> Callable[[str, str], str]:
    def check(name: str, value: str) -> str:
        if value.lower() not in known:
            raise InvalidSetting(f"{name} must be one of {', '.join(known)}")
        return value.lower()

    return check


def _on(name: str, value: str) -> str:
    if value.lower() not in ("on", "true"):
        raise InvalidSetting(f"{name} is always on")
    return "on"


def _stays_on(name: str, value: str) -> str:
    """Drivers set it off before every transaction; what writes is refused anyway, so the value does not change."""
    _flag(name, value)
    return "on"


@dataclass(frozen=True)
class _Setting:
    """A setting: its default, its check, its name as a reported parameter, and its purpose."""

    default: str
    check: Callable[[str, str], str] = lambda _, value: value
    reported: str | None = None
    about: str = "as in PostgreSQL"


_SETTINGS: Mapping[str, _Setting] = MappingProxyType(
    {
        **{
            _PREFIX + name: _Setting(setting.default or "", _of_question, about=setting.about)
            for name, setting in SETTINGS.items()
        },
        "noisegate.intervals": _Setting(
            "off", _flag, about="add columns with intervals, and marks for low precision and clipped rows"
        ),
        "noisegate.dry_run": _Setting("off", _flag, about="explain questions, free, instead of answering them"),
        "noisegate.empty_rows": _Setting(
            "off", _flag, about="return the columns of private rows, without rows, instead of an error"
        ),
        "application_name": _Setting("", reported="application_name"),
        "bytea_output": _Setting("hex"),
        "client_encoding": _Setting("UTF8", _utf8, "client_encoding"),
        "client_min_messages": _Setting("notice"),
        "datestyle": _Setting("ISO, MDY", _iso, "DateStyle"),
        "default_transaction_deferrable": _Setting("off", _flag),
        "default_transaction_isolation": _Setting("repeatable read"),
        "default_transaction_read_only": _Setting("on", _stays_on, "default_transaction_read_only"),
        "extra_float_digits": _Setting("1"),
        "idle_in_transaction_session_timeout": _Setting("0", _duration),
        "in_hot_standby": _Setting("off", _never, "in_hot_standby"),
        "integer_datetimes": _Setting("on", _never, "integer_datetimes"),
        "intervalstyle": _Setting("postgres", _one_of(*_STYLES), "IntervalStyle"),
        "idle_session_timeout": _Setting("0", _duration),
        "is_superuser": _Setting("off", _never, "is_superuser"),
        "lc_collate": _Setting("C", _never),  # newer catalogs have none
        "lc_ctype": _Setting("C", _never),
        "lc_messages": _Setting("C"),
        "lock_timeout": _Setting("0", _duration),
        "max_identifier_length": _Setting("63", _never),
        "role": _Setting("none", _never),
        "row_security": _Setting("on"),
        "scram_iterations": _Setting("4096", _never, "scram_iterations"),
        "search_path": _Setting(
            default_path((PUBLIC,)), _path, "search_path", about="the schemas in which tables are looked up"
        ),
        "server_encoding": _Setting("UTF8", _never, "server_encoding"),
        "server_version": _Setting(SERVER_VERSION, _never, "server_version"),
        "server_version_num": _Setting(SERVER_VERSION_NUM, _never),
        "session_authorization": _Setting("", _never, "session_authorization"),
        "standard_conforming_strings": _Setting("on", _on, "standard_conforming_strings"),
        "statement_timeout": _Setting("0", _duration),
        "timezone": _Setting("UTC", _zone, "TimeZone", about="the time zone of timestamps with time zone"),
        "transaction_deferrable": _Setting("off", _flag),
        "transaction_isolation": _Setting("repeatable read"),
        "transaction_read_only": _Setting("on", _stays_on),
    }
)


def _name(name: str) -> str:
    """A setting's name in lower case; old names become new ones."""
    own = name.lower().removeprefix(_PREFIX)
    return _PREFIX + OLD_NAMES[own] if name.lower().startswith(_PREFIX) and own in OLD_NAMES else name.lower()


def is_known(name: str) -> bool:
    """Whether a session has this setting, or its name begins like ours."""
    return name.lower() in _SETTINGS or name.lower().startswith(_PREFIX)


def shown_name(name: str) -> str:
    """The column name of SHOW, with PostgreSQL's capital letters.

    >>> shown_name("timezone"), shown_name("Search_Path")
    ('TimeZone', 'search_path')
    """
    known = _SETTINGS.get(name.lower())
    return (known.reported if known is not None else None) or name.lower()


MAX_SAVEPOINTS = 100
"""The most savepoints of one transaction; repeating one at once, as JDBC does, adds none."""

MAX_NAME_BYTES = 63
"""The longest name of a savepoint."""


@dataclass(frozen=True)
class _State:
    """The current settings, and those after SET LOCAL has ended."""

    values: Mapping[str, str]
    lasting: Mapping[str, str]


@dataclass
class _Savepoint:
    """A savepoint: its name, the settings then, and how often it was set in a row."""

    name: str
    state: _State
    times: int = 1


class Settings:
    """The settings of one session. A rollback undoes changes; SET LOCAL ends with its transaction.

    Args:
      startup: the startup message's settings and `options`; unknown ones are ignored, except of ours.
      epsilons: the smallest and largest epsilon of one question, by the policy in force.
    Raises: InvalidSetting, UnsupportedSQL, WireError as `set`, and for unreadable options.
    """

    def __init__(
        self,
        user: str,
        startup: Mapping[str, str],
        schemas: Sequence[str] = (PUBLIC,),
        epsilons: Callable[[], tuple[float, float]] = lambda: (MIN_EPSILON, MAX_EPSILON),
    ) -> None:
        self._epsilons = epsilons
        defaults = {name: setting.default for name, setting in _SETTINGS.items()}
        self._default_path = defaults["search_path"] = default_path(schemas)
        self._initial: Mapping[str, str] = {**defaults, "session_authorization": user}
        self._now = _State(self._initial, self._initial)
        self._begun: _State | None = None
        self._savepoints: list[_Savepoint] = []
        for name, value in (*startup.items(), *settings_of(startup.get("options", ""))):
            self.set(name, value)
        self._initial = self._values

    @property
    def _values(self) -> Mapping[str, str]:
        return self._now.values

    def reported(self) -> dict[str, str]:
        """The settings that clients track, under PostgreSQL's names."""
        return {
            setting.reported: self._values[name]
            for name, setting in _SETTINGS.items()
            if setting.reported is not None
        }

    def get(self, name: str) -> str | None:
        """A setting's value; None if it is unknown."""
        return self._values.get(_name(name))

    def all(self) -> tuple[tuple[str, str, str], ...]:
        """Name, value and purpose of each setting, ours first."""
        names = sorted(_SETTINGS, key=lambda name: (not name.startswith(_PREFIX), name))
        return tuple((name, self._values[name], _SETTINGS[name].about) for name in names)

    def set(self, name: str, value: str | None, local: bool = False, *, kept: bool = True) -> bool:
        """Set a value; None resets it, and `all` resets everything. Returns: False for an unknown setting, which is
        ignored.

        Args:
          local: until the end of the transaction.
          kept: False only checks the value.

        Raises: InvalidSetting for an invalid value, and for an unknown setting of ours.
        """
        name = _name(name)
        if name == "all" and value is None:
            self._now = _State(self._initial, self._initial)
            return True
        setting = _SETTINGS.get(name)
        if setting is None:
            if name.startswith(_PREFIX):
                known = ", ".join(known for known in _SETTINGS if known.startswith(_PREFIX))
                raise InvalidSetting(f"there is no setting {name}", hint=f"there are {known}")
            return False
        if value is not None and len(value) > MAX_VALUE_LENGTH:
            raise InvalidSetting(f"{name} must have at most {MAX_VALUE_LENGTH} characters")
        change = {name: self._initial[name] if value is None else setting.check(name, value)}
        if name == _EPSILON and value is not None:
            self._check_epsilon(float(change[name]))
        if not kept:
            return True
        lasting = self._now.lasting if local else {**self._now.lasting, **change}
        self._now = _State({**self._now.values, **change}, lasting)
        return True

    def _check_epsilon(self, epsilon: float) -> None:
        """Refuse an epsilon that every question would be refused for."""
        least, most = self._epsilons()
        if not least <= epsilon <= most:
            hint = "the policy sets these bounds: min_epsilon and max_epsilon"
            raise InvalidSetting(
                f"{_EPSILON} must be at least {least:g} and at most {most:g} for one query", hint=hint
            )

    def begin(self) -> None:
        """Begin a transaction, unless one is open."""
        self._begun = self._begun or self._now

    def end(self, *, committed: bool) -> None:
        """End a transaction and its SET LOCAL; a rollback undoes every SET."""
        if self._begun is not None:
            self._now = _State(self._now.lasting, self._now.lasting) if committed else self._begun
        self._begun = None
        self._savepoints.clear()

    @property
    def n_savepoints(self) -> int:
        """The number of savepoints, repetitions included."""
        return sum(one.times for one in self._savepoints)

    def savepoint(self, name: str) -> None:
        """Set a savepoint. Raises: WireError for too many, and for a name that is too long."""
        if len(name.encode()) > MAX_NAME_BYTES:
            raise WireError(f"the name of a savepoint must have at most {MAX_NAME_BYTES} bytes", "42622")
        last = self._savepoints[-1] if self._savepoints else None
        if last is not None and last.name == name and last.state is self._now:
            last.times += 1
            return
        if len(self._savepoints) >= MAX_SAVEPOINTS:
            raise WireError(f"a transaction has at most {MAX_SAVEPOINTS} savepoints", "53400", hint="RELEASE some")
        self._savepoints.append(_Savepoint(name, self._now))

    def release(self, name: str) -> None:
        """Remove a savepoint and those after it. Raises: WireError if it is missing."""
        place = self._savepoint(name)
        self._savepoints[place].times -= 1
        del self._savepoints[place + (self._savepoints[place].times > 0) :]

    def back_to(self, name: str) -> None:
        """Restore a savepoint's settings, and remove those after it. Raises: WireError if it is missing."""
        place = self._savepoint(name)
        self._now = self._savepoints[place].state
        del self._savepoints[place + 1 :]

    def _savepoint(self, name: str) -> int:
        for place in reversed(range(len(self._savepoints))):
            if self._savepoints[place].name == name:
                return place
        raise WireError(f'there is no savepoint "{name}"', "3B001")

    def of_question(self) -> dict[str, Any]:
        """The settings of questions by their names in `RequestSettings`, without unset ones."""
        said = {name: self._values[_PREFIX + name] for name in SETTINGS}
        return {name: SETTINGS[name].read(value) for name, value in said.items() if value}

    def zone(self) -> str:
        """The time zone; UTC under any of its names."""
        value = self._values["timezone"]
        return UTC if is_utc(value) else value

    def search_path(self) -> tuple[str, ...] | None:
        """The session's search path; None for the default."""
        value = self._values["search_path"]
        if value == self._default_path:
            return None
        return tuple(name for name in read_path(value) if name != OWN_SCHEMA)

    def flag(self, name: str) -> bool:
        """Whether a `noisegate.` flag is on."""
        return self._values[_PREFIX + name] == "on"

    def duration_ms(self, name: str) -> int:
        """A duration in milliseconds; 0: none."""
        found = _DURATION.fullmatch(self._values[name].strip().lower())
        assert found is not None, "checked when it was set"
        return int(found[1]) * _UNITS_MS[found[2]]


_WORD = re.compile(r"(?:\\.|[^\\\s])+", re.DOTALL)

_ESCAPED = re.compile(r"\\(.)", re.DOTALL)

_SETTING = re.compile(r"(?:-c|--)(?P<name>[A-Za-z_][A-Za-z0-9_.\-]*)=(?P<value>.*)", re.DOTALL)


def settings_of(options: str) -> Iterator[tuple[str, str]]:
    r"""Parse the settings in a startup message's options; an ignored one could be a requested epsilon.

    Raises: WireError for anything but settings.

    >>> list(settings_of(r"-c noisegate.epsilon=0.5 --application-name=a\ b -cdatestyle=iso"))
    [('noisegate.epsilon', '0.5'), ('application_name', 'a b'), ('datestyle', 'iso')]
    """
    words = iter([_ESCAPED.sub(r"\1", word) for word in _WORD.findall(options)])
    for word in words:
        written = word + next(words, "") if word == "-c" else word
        found = _SETTING.fullmatch(written)
        if found is None:
            raise WireError("the connection's options must be settings", "42601", hint="write -c name=value")
        yield found["name"].replace("-", "_"), found["value"]
