"""What a policy says of a mirror: a copy of its tables in one local file, where questions run quicker."""

from __future__ import annotations

import re
from dataclasses import dataclass

from planner.policy.toml_section import TomlSection

_UNITS = {"m": 60, "h": 3_600, "d": 86_400}
_MOST_MB = 20_000


@dataclass(frozen=True)
class MirrorPolicy:
    """The custodian's `[mirror]`.

    Attributes:
      path: of the file, from the policy's folder on.
      refresh_s: how old a copy may become before the proxy makes another, in seconds; None: on demand only.
      max_mb: the largest that the file may become.
      key: a reference to the secret that the file is encrypted with, `env:NAME` or `file:PATH`; None: it is not.
    """

    path: str
    refresh_s: int | None
    max_mb: int
    key: str | None = None


def read_mirror(section: TomlSection) -> MirrorPolicy | None:
    """The section of a policy; None where there is none.

    Raises: PolicyInvalid.
    """
    if not section.names():
        return None
    path, refresh = section.text("path"), _seconds(section)
    max_mb = section.count("max_mb") or _MOST_MB
    key = section.text("key") if "key" in section.names() else None
    if key is not None and not key.startswith(("env:", "file:")):
        raise section.problem("key", "names a secret: env:NAME or file:PATH")
    section.finish()
    return MirrorPolicy(path, refresh, max_mb, key)


def _seconds(section: TomlSection) -> int | None:
    """How long a copy is good for; None for `manual`."""
    written = section.value("refresh")
    if written is None or written == "manual":
        return None
    found = re.fullmatch(r"([1-9]\d{0,5})([mhd])", written) if isinstance(written, str) else None
    if found is None:
        what = 'must be "manual", or a time with its unit in quotes, like "30m", "24h" or "7d"'
        number = isinstance(written, int | float) and not isinstance(written, bool)
        raise section.problem("refresh", f'{what}; {written} of what? "{written}h" is hours' if number else what)
    return int(found[1]) * _UNITS[found[2]]
