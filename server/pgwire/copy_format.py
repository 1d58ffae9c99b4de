"""COPY (SELECT ...) TO STDOUT: rows as lines, in PostgreSQL's text form or as CSV."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from planner.errors import InvalidSyntax, UnsupportedSQL

_TOKEN = re.compile(r"\s*(?:(?P<string>[eE]?'(?:[^']|'')*')|(?P<word>\w+)|(?P<sign>[(),=;]))")
_ESCAPES = str.maketrans({"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f", "\v": "\\v"})
_ON = frozenset({"", "ON", "TRUE", "1"})


@dataclass(frozen=True)
class CopyFormat:
    """How rows are written.

    Attributes:
      csv: as CSV; else in the text form, with backslashes.
      delimiter: between cells.
      null: what stands for NULL.
      header: the names first?
      quote: around cells of CSV that need it; doubled inside.
    """

    csv: bool = False
    delimiter: str = "\t"
    null: str = "\\N"
    header: bool = False
    quote: str = '"'

    def line(self, cells: Sequence[str | None]) -> bytes:
        """One row."""
        write = self._csv_cell if self.csv else self._text_cell
        return (self.delimiter.join(write(cell) for cell in cells) + "\n").encode()

    def _text_cell(self, cell: str | None) -> str:
        if cell is None:
            return self.null
        return cell.translate(_ESCAPES).replace(self.delimiter, "\\" + self.delimiter)

    def _csv_cell(self, cell: str | None) -> str:
        if cell is None:
            return self.null
        special = (self.delimiter, self.quote, "\n", "\r")
        if cell == self.null or cell == "\\." or any(sign in cell for sign in special):
            return self.quote + cell.replace(self.quote, self.quote * 2) + self.quote
        return cell


def copy_format(options: str) -> CopyFormat:
    """Read what follows STDOUT: `(FORMAT csv, HEADER)`, or the older `WITH CSV HEADER DELIMITER ';'`.

    Raises: InvalidSyntax for what is not understood, UnsupportedSQL for the binary format.
    """
    words = _words(options)
    chosen = CopyFormat()
    given: dict[str, str] = {}
    for name, value in _pairs(words):
        if name == "FORMAT":
            name, value = value.upper(), ""
        if name == "BINARY":
            raise UnsupportedSQL("COPY in the binary format is not supported", hint="write (FORMAT csv)")
        if name == "CSV":
            chosen = replace(chosen, csv=True, delimiter=",", null="")
        elif name in ("DELIMITER", "NULL", "QUOTE", "HEADER"):
            given[name.lower()] = value
        elif name not in ("TEXT", "ENCODING", "ESCAPE", "FORCE_QUOTE"):
            raise InvalidSyntax(f"COPY has no option {name}", hint="there are FORMAT, HEADER, DELIMITER, NULL, QUOTE")
    header = given.pop("header", None)
    chosen = replace(
        chosen,
        delimiter=given.get("delimiter", chosen.delimiter),
        null=given.get("null", chosen.null),
        quote=given.get("quote", chosen.quote),
        header=header is not None and header.upper() in _ON,
    )
    _check(chosen)
    return chosen


def _check(chosen: CopyFormat) -> None:
    forbidden = "\r\n\\." + (chosen.quote if chosen.csv else "")
    if len(chosen.delimiter) != 1 or len(chosen.quote) != 1 or chosen.delimiter in forbidden:
        raise InvalidSyntax("COPY's DELIMITER and QUOTE are one character each, and not the same")


def _words(options: str) -> list[str]:
    words, place = [], 0
    options = options.strip()
    while place < len(options):
        found = _TOKEN.match(options, place)
        if found is None:
            raise InvalidSyntax("the options of this COPY are not understood")
        words.append(found.group().strip())
        place = found.end()
    return words


def _pairs(words: list[str]) -> list[tuple[str, str]]:
    """Each option with its value; the empty text where it has none."""
    names = {"FORMAT", "DELIMITER", "NULL", "QUOTE", "ENCODING", "ESCAPE", "HEADER", "CSV", "TEXT", "BINARY"}
    pairs: list[tuple[str, str]] = []
    for word in words:
        if word in "(),=;" or word.upper() in ("WITH", "AS"):
            continue
        if word.startswith(("'", "e'", "E'")):
            value = word[word.index("'") + 1 : -1].replace("''", "'")
            value = value.replace("\\t", "\t") if word[0] in "eE" else value
            _complete(pairs, value)
        elif word.upper() in names and not (pairs and pairs[-1] == ("FORMAT", "")):
            pairs.append((word.upper(), ""))
        else:
            _complete(pairs, word)
    return pairs


def _complete(pairs: list[tuple[str, str]], value: str) -> None:
    if not pairs or pairs[-1][1]:
        raise InvalidSyntax(f"COPY has no option {value}", hint="there are FORMAT, HEADER, DELIMITER, NULL, QUOTE")
    pairs[-1] = (pairs[-1][0], value)
