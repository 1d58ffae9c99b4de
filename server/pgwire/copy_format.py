"""The formats of COPY (SELECT ...) TO STDOUT: text, CSV and binary."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, replace

from planner.errors import InvalidSyntax
from planner.parsing.lexer import Kind, scan

_READ = frozenset({Kind.STRING, Kind.ESCAPED, Kind.NAME, Kind.WORD, Kind.NUMBER})
_ESCAPES = str.maketrans({"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f", "\v": "\\v"})
_ON = frozenset({"", "ON", "TRUE", "1"})


BINARY_HEADER = b"PGCOPY\n\xff\r\n\0" + struct.pack("!ii", 0, 0)
"""The signature, no flags, no extension."""

BINARY_TRAILER = struct.pack("!h", -1)


@dataclass(frozen=True)
class CopyFormat:
    """How COPY writes rows.

    Attributes:
      csv: as CSV; else in the text format.
      delimiter: between cells.
      null: stands for NULL.
      header: write the column names first.
      quote: around CSV cells that need it; doubled inside.
      binary: in the binary format, without the other options.
    """

    csv: bool = False
    delimiter: str = "\t"
    null: str = "\\N"
    header: bool = False
    quote: str = '"'
    binary: bool = False

    def line(self, cells: Sequence[str | None]) -> bytes:
        """One row with its line feed; None is NULL."""
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
    """Parse the options behind STDOUT: `(FORMAT csv, HEADER)`, or the older `WITH CSV HEADER DELIMITER ';'`.

    Raises: InvalidSyntax for unknown options, and for options that the binary format lacks.
    """
    words = _words(options)
    chosen = CopyFormat()
    given: dict[str, str] = {}
    for name, value in _pairs(words):
        if name == "FORMAT":
            name, value = value.upper(), ""
        if name == "BINARY":
            chosen = replace(chosen, binary=True)
        elif name == "CSV":
            chosen = replace(chosen, csv=True, delimiter=",", null="")
        elif name in ("DELIMITER", "NULL", "QUOTE", "HEADER"):
            given[name.lower()] = value
        elif name not in ("TEXT", "ENCODING", "ESCAPE", "FORCE_QUOTE"):
            raise InvalidSyntax(f"COPY has no option {name}", hint="use FORMAT, HEADER, DELIMITER, NULL or QUOTE")
    if chosen.binary and (given or chosen.csv):
        raise InvalidSyntax("COPY in the binary format has no other options", hint="write (FORMAT binary)")
    chosen = replace(
        chosen,
        delimiter=given.get("delimiter", chosen.delimiter),
        null=given.get("null", chosen.null),
        quote=given.get("quote", chosen.quote),
        header=given.get("header", "off").upper() in _ON,
    )
    forbidden = "\r\n\\." + (chosen.quote if chosen.csv else "")
    if len(chosen.delimiter) != 1 or len(chosen.quote) != 1 or chosen.delimiter in forbidden:
        raise InvalidSyntax("COPY's DELIMITER and QUOTE must be one character each, and must differ")
    return chosen


def _words(options: str) -> list[str]:
    words = []
    for kind, start, stop in scan(options):
        if kind not in _READ and options[start:stop] not in "(),=;":
            raise InvalidSyntax("the options of this COPY are not understood")
        word = options[start:stop]
        words.append(word[1:-1] if kind is Kind.NAME else word)  # DuckDB sends FORMAT "binary"
    return words


def _pairs(words: list[str]) -> list[tuple[str, str]]:
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
        raise InvalidSyntax(f"COPY has no option {value}", hint="use FORMAT, HEADER, DELIMITER, NULL or QUOTE")
    pairs[-1] = (pairs[-1][0], value)
