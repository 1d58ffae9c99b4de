"""How a policy names tables and schemas, by the schema and a dot, or without where its first schema is meant; and the
files that a table is made of."""

from __future__ import annotations

import json
from collections.abc import Sequence

from planner.policy.toml_section import TomlSection
from planner.schema import PUBLIC, name_parts, table_name

UNQUOTED = "a table of a schema is named in quotes"
"""What is wrong with a key of two parts, which TOML takes for a table in a table."""

_SYSTEM = ("pg_", "information_schema")
_FILES = ".parquet"


def read_schemas(document: TomlSection) -> tuple[str, ...]:
    """The search path of a policy; `public` alone where it has none.

    Raises: PolicyInvalid for what is no list of different schemas, and for PostgreSQL's own.
    """
    if "schemas" not in document.names():
        return (PUBLIC,)
    found = document.texts("schemas")
    if "" in found or len(set(found)) < len(found):
        raise document.problem("schemas", "names a schema twice, or one without a name")
    for schema in found:
        _check(schema, document, "schemas")
    return found


class TableNames:
    """Reads the tables of a policy under their canonical names.

    What a name without a schema means is settled here, by the file alone: were it looked for along the search path, a
    new table of that name in an earlier schema would take over what is declared of the old one.

    Args:
      schema: what a name without one belongs to: the first of the search path.
    """

    def __init__(self, schema: str) -> None:
        self._schema = schema

    def read(self, section: TomlSection, written: str) -> str:
        """The canonical name of a setting that is called after a table.

        Raises: PolicyInvalid for what is no name, and where another setting is called after the same table.
        """
        name = self.canonical(written, section, written)
        if any(other != written and self._means(other, name) for other in section.names()):
            raise section.problem(written, "is the same table as another setting here: name it once")
        return name

    def value(self, section: TomlSection, written: str) -> str:
        """As `read`, where the setting holds a value. Raises: PolicyInvalid, also for a name without its quotes."""
        if written in section.nested():
            raise section.problem(written, f"{UNQUOTED}, as in {toml_key(f'{written}.patient')} = ...")
        return self.read(section, written)

    def canonical(self, written: str, section: TomlSection, key: str) -> str:
        """The canonical name of the table that a policy calls `written`. Raises: PolicyInvalid."""
        try:
            namespace, relation = name_parts(written, self._schema)
        except ValueError:
            what = """names no table: write "schema.table"; a part with a dot in it takes quotes: '"a.b"'"""
            raise section.problem(key, what) from None
        _check(namespace, section, key)
        return table_name(namespace, relation)

    def _means(self, other: str, name: str) -> bool:
        try:
            return table_name(*name_parts(other, self._schema)) == name
        except ValueError:
            return False


def read_pattern(section: TomlSection) -> str | None:
    """The glob of the Parquet files that a table is made of, relative to the folder of the database's URL.

    `*` and `?` stand for letters of one name, `**` for any number of folders; a folder `year=*` is a column year.
    None: the table's name says which files.
    Raises: PolicyInvalid for what could leave the folder, or is no pattern.
    """
    if "parquet" not in section.names():
        return None
    pattern = section.text("parquet")
    parts = pattern.split("/")
    if pattern.startswith("/") or ".." in parts:
        raise section.problem("parquet", "names files inside the folder of database.url: no / before it, and no ..")
    if "" in parts or "." in parts or not pattern.endswith(_FILES):
        raise section.problem("parquet", 'is a pattern of files, as in "visits/*.parquet"')
    if any(letter in "[]{}\\\0" for letter in pattern) or any("**" in part and part != "**" for part in parts):
        raise section.problem("parquet", "is made of names, *, ?, and ** for any folders between two /")
    keys = [part.partition("=")[0].lower() for part in parts[:-1] if "=" in part]
    if len(set(keys)) < len(keys) or not all(key and not set("*?") & set(key) for key in keys):
        raise section.problem("parquet", "names the column of each folder NAME=* once, without * or ?")
    return pattern


def toml_key(name: str) -> str:
    """A name as a key of TOML, or part of one: bare where it may be.

    >>> toml_key("visit"), toml_key("clinic.visit")
    ('visit', '"clinic.visit"')
    """
    if name and all(letter.isascii() and (letter.isalnum() or letter in "_-") for letter in name):
        return name
    return json.dumps(name, ensure_ascii=False)


def section_of(name: str, schemas: Sequence[str]) -> str:
    """The header of a table's section, as it can be pasted into a policy.

    Args:
      name: canonical.
      schemas: the policy's search path: of a name without a schema its first is meant.

    >>> section_of("visit", ("public",)), section_of("clinic.visit", ("clinic",)), section_of("visit", ("clinic",))
    ('[tables.visit]', '[tables."clinic.visit"]', '[tables."public.visit"]')
    """
    away = name_parts(name)[0] == PUBLIC and PUBLIC not in schemas[:1]
    return f"[tables.{toml_key(f'{PUBLIC}.{name}' if away else name)}]"


def _check(schema: str, section: TomlSection, key: str) -> None:
    if schema.startswith(_SYSTEM):
        raise section.problem(key, f"schema {schema} is PostgreSQL's own: its tables hold what everybody does")
