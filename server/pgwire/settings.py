"""A session's settings: ours (`noisegate.*`) and those that drivers set and show."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import get_args

from planner.errors import InvalidSetting, UnsupportedSQL
from planner.plan import MechanismName
from server.pgwire.startup_options import settings_of

SERVER_VERSION = "14.0"
"""Which PostgreSQL clients take us for.

What clients ask the catalogs of a 14 runs on every later one. The other way round it does not: the psql of a 15 asks
any newer server for a column of pg_database that 17 has renamed.
"""

MAX_VALUE_LENGTH = 1_000
"""Characters of a value; lists of schemas have some hundred."""

_PREFIX = "noisegate."
_ON, _OFF = frozenset({"on", "true", "yes", "1"}), frozenset({"off", "false", "no", "0"})
_DURATION = re.compile(r"([0-9]{1,9})\s*(ms|s|min|h)?")
_UNITS_MS = {None: 1, "ms": 1, "s": 1_000, "min": 60_000, "h": 3_600_000}


def _flag(name: str, value: str) -> str:
    if value.lower() in _ON:
        return "on"
    if value.lower() in _OFF:
        return "off"
    raise InvalidSetting(f"{name} is on or off")


def _fraction(name: str, value: str) -> str:
    if not 0 < _number(name, value) <= 1:
        raise InvalidSetting(f"{name} is above 0 and at most 1")
    return value


def _epsilon(name: str, value: str) -> str:
    if not _number(name, value) > 0:
        raise InvalidSetting(f"{name} is above 0")
    return value


def _delta(name: str, value: str) -> str:
    if not 0 <= _number(name, value) < 1:
        raise InvalidSetting(f"{name} is at least 0 and below 1")
    return value


def _number(name: str, value: str) -> float:
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise InvalidSetting(f"{name} is a number")
    return number


def _mechanism(name: str, value: str) -> str:
    known = get_args(MechanismName)
    if value.lower() not in known:
        raise InvalidSetting(f"{name} is one of {', '.join(known)}")
    return value.lower()


def _utf8(name: str, value: str) -> str:
    letters = "".join(filter(str.isalnum, value.lower()))  # as PostgreSQL: some drivers send quotes along
    if letters not in ("utf8", "unicode"):
        raise UnsupportedSQL("only UTF8 is spoken", hint="SET client_encoding = 'UTF8'")
    return "UTF8"


def _iso(name: str, value: str) -> str:
    return "ISO, DMY" if "dmy" in value.lower() or "european" in value.lower() else "ISO, MDY"


def _duration(name: str, value: str) -> str:
    if _DURATION.fullmatch(value.strip().lower()) is None:
        raise InvalidSetting(f"{name} is a time, for example 30s; without a unit it is in milliseconds")
    return value


def _any(name: str, value: str) -> str:
    return value


def _never(name: str, value: str) -> str:
    raise InvalidSetting(f"{name} cannot be changed")


def _only(wanted: str) -> Callable[[str, str], str]:
    def check(name: str, value: str) -> str:
        if value.lower() not in (wanted, "true" if wanted == "on" else wanted):
            raise InvalidSetting(f"{name} is {wanted} here")
        return wanted

    return check


@dataclass(frozen=True)
class _Setting:
    """One setting: its default, what it may be, what clients are told of when it changes, and what it is for."""

    default: str
    check: Callable[[str, str], str] = _any
    reported: str | None = None
    about: str = "as in PostgreSQL, as far as clients need it"


_SETTINGS: Mapping[str, _Setting] = MappingProxyType(
    {
        "noisegate.epsilon": _Setting("", _epsilon, about="what a question may spend; empty: the policy's default"),
        "noisegate.delta": _Setting("", _delta, about="the most delta of a question; empty: the policy's default"),
        "noisegate.sampling_rate": _Setting("", _fraction, about="answer from this share of the rows; empty: of all"),
        "noisegate.mechanism": _Setting(
            "", _mechanism, about="which mechanism releases; empty: the planner's choice"
        ),
        "noisegate.intervals": _Setting("off", _flag, about="add columns: intervals, and which rows are weak"),
        "noisegate.dry_run": _Setting("off", _flag, about="explain questions, free, instead of asking them"),
        "noisegate.empty_rows": _Setting(
            "off", _flag, about="give the columns of private rows that are asked for, and no row, instead of refusing"
        ),
        "application_name": _Setting("", reported="application_name"),
        "bytea_output": _Setting("hex"),
        "client_encoding": _Setting("UTF8", _utf8, "client_encoding"),
        "client_min_messages": _Setting("notice"),
        "datestyle": _Setting("ISO, MDY", _iso, "DateStyle"),
        "default_transaction_isolation": _Setting("repeatable read"),
        "default_transaction_read_only": _Setting("on", _only("on"), "default_transaction_read_only"),
        "extra_float_digits": _Setting("1"),
        "idle_in_transaction_session_timeout": _Setting("0", _duration),
        "in_hot_standby": _Setting("off", _never, "in_hot_standby"),
        "integer_datetimes": _Setting("on", _never, "integer_datetimes"),
        "intervalstyle": _Setting("postgres", _only("postgres"), "IntervalStyle"),
        "is_superuser": _Setting("off", _never, "is_superuser"),
        "lock_timeout": _Setting("0", _duration),
        "max_identifier_length": _Setting("63", _never),
        "scram_iterations": _Setting("4096", _never, "scram_iterations"),
        "search_path": _Setting('"$user", public', reported="search_path"),
        "server_encoding": _Setting("UTF8", _never, "server_encoding"),
        "server_version": _Setting(SERVER_VERSION, _never, "server_version"),
        "server_version_num": _Setting("140000", _never),
        "session_authorization": _Setting("", _never, "session_authorization"),
        "standard_conforming_strings": _Setting("on", _only("on"), "standard_conforming_strings"),
        "statement_timeout": _Setting("0", _duration),
        "timezone": _Setting("UTC", reported="TimeZone"),
        "transaction_isolation": _Setting("repeatable read"),
        "transaction_read_only": _Setting("on", _only("on")),
    }
)


class Settings:
    """The settings of one session; a transaction that rolls back takes its changes with it.

    Args:
      user: whose session.
      startup: settings of the startup message, and its `options`; unknown ones are ignored, except of ours.
    Raises: InvalidSetting, UnsupportedSQL, WireError as `set`, and for options that are not read.
    """

    def __init__(self, user: str, startup: Mapping[str, str]) -> None:
        self._values = {name: setting.default for name, setting in _SETTINGS.items()}
        self._values["session_authorization"] = user
        self._initial = dict(self._values)
        self._saved: dict[str, str] | None = None
        self._local: dict[str, str] = {}
        for name, value in (*startup.items(), *settings_of(startup.get("options", ""))):
            self.set(name, value)
        self._initial = dict(self._values)

    def reported(self) -> dict[str, str]:
        """What every client is told at the start, under the names that PostgreSQL gives them."""
        return {
            setting.reported: self._values[name]
            for name, setting in _SETTINGS.items()
            if setting.reported is not None
        }

    def get(self, name: str) -> str | None:
        """The value, in text; None for a setting that is not known."""
        return self._values.get(name.lower())

    def all(self) -> tuple[tuple[str, str, str], ...]:
        """Name, value and purpose of each setting, ours first."""
        names = sorted(_SETTINGS, key=lambda name: (not name.startswith(_PREFIX), name))
        return tuple((name, self._values[name], _SETTINGS[name].about) for name in names)

    def set(self, name: str, value: str | None, local: bool = False) -> bool:
        """Set, or with None set what it was at the start; `all` resets everything. False: not known, ignored.

        Raises: InvalidSetting for a value it cannot have, and for an unknown setting of ours.
        """
        name = name.lower()
        if name == "all" and value is None:
            self._values = dict(self._initial)
            return True
        setting = _SETTINGS.get(name)
        if setting is None:
            if name.startswith(_PREFIX):
                known = ", ".join(known for known in _SETTINGS if known.startswith(_PREFIX))
                raise InvalidSetting(f"there is no setting {name}", hint=f"there are {known}")
            return False
        if local:
            self._local.setdefault(name, self._values[name])
        self._values[name] = self._initial[name] if value is None else _checked(name, value)
        return True

    def begin(self) -> None:
        """A transaction begins."""
        self._saved = dict(self._values)
        self._local = {}

    def end(self, *, committed: bool) -> None:
        """A transaction ends; SET LOCAL ends with it, and so does every SET if it is rolled back."""
        if not committed and self._saved is not None:
            self._values = self._saved
        self._values.update(self._local)
        self._saved, self._local = None, {}

    def number(self, name: str) -> float | None:
        """A number of ours, or None where the policy's default holds."""
        value = self._values[_PREFIX + name]
        return float(value) if value else None

    def mechanism(self) -> MechanismName | None:
        """The mechanism asked for, or None."""
        return self._values["noisegate.mechanism"] or None  # type: ignore[return-value]  # checked when it was set

    def flag(self, name: str) -> bool:
        """Is a flag of ours on?"""
        return self._values[_PREFIX + name] == "on"

    def duration_ms(self, name: str) -> int:
        """A time of ours or PostgreSQL's in milliseconds; 0: none."""
        found = _DURATION.fullmatch(self._values[name].strip().lower())
        assert found is not None, "checked when it was set"
        return int(found[1]) * _UNITS_MS[found[2]]


def _checked(name: str, value: str) -> str:
    """The value as it is kept. Raises: InvalidSetting, UnsupportedSQL."""
    if len(value) > MAX_VALUE_LENGTH:
        raise InvalidSetting(f"{name} has at most {MAX_VALUE_LENGTH} characters")
    return _SETTINGS[name.lower()].check(name, value)
