"""The game of every attack: an adversary at a desk, before one of two databases or before a door that should be shut.

A *distinguisher* says whether one person is in the database; asked of both neighbours, it has learned something
where it says yes of the one and no of the other. Where it only looks at what is no release (codes, texts, columns,
how many rows), what it was sent must be the same to the letter, whatever it made of it. Where it looks at noisy
numbers, it plays many rounds, each with a fresh account and a budget: who is epsilon-DP is told right at most (1 +
tanh(epsilon / 2)) / 2 of the time, and that it was told right more often must not be beyond chance. A *break-in*
says whether it got what nobody may have.
"""

from __future__ import annotations

import itertools
import math
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import psycopg
from scipy.stats import binom

TARGET = 77
"""The key of the person whom the second database lacks."""

MARKER = "Zoe Zimmermann"
"""That person's name, which stands nowhere else."""

_numbers = itertools.count(1)


def nonce() -> int:
    """A number that no question has had: a condition that is true of every row, and has not been asked before."""
    return 10_000_000 + next(_numbers)


@dataclass(frozen=True)
class Reply:
    """What came back.

    Attributes:
      status: of HTTP; 0 where the connection broke.
      text: the whole body.
      body: of JSON, else empty.
      seconds: until the last byte.
    """

    status: int
    text: str
    body: dict[str, Any]
    headers: httpx.Headers
    seconds: float

    @property
    def number(self) -> float:
        """The first cell of the last column; NaN without an answer or of NULL."""
        rows = self.body.get("rows") or [[None]]
        cell = rows[0][-1] if rows[0] else None
        return float(cell) if isinstance(cell, int | float) else math.nan

    @property
    def cells(self) -> list[object]:
        """All of them, row by row."""
        return [cell for row in self.body.get("rows", []) for cell in row]

    @property
    def seen(self) -> tuple[object, ...]:
        """What does not come from a release: equal for both neighbours, or something has leaked.

        Of a problem every word; of an answer its columns, how many rows it has, which cells are empty and which are
        no numbers, and what it cost.
        """
        if "rows" not in self.body:
            told = {name: self.body.get(name) for name in ("code", "message", "detail", "hint", "position", "title")}
            return self.status, tuple(told.values()) if any(told.values()) else _without_ids(self.text)
        rows = tuple(
            tuple(cell if not isinstance(cell, int | float) else "a number" for cell in row)
            for row in self.body["rows"]
        )
        columns = tuple(column.get("name") for column in self.body["columns"])
        return self.status, columns, rows, str(self.body.get("charge")), str(self.body.get("covers"))


def _without_ids(text: str) -> str:
    return text.partition('"request_id"')[0]


def _client() -> httpx.Client:
    """As many connections as the naive proxy serves at once."""
    return httpx.Client(timeout=120.0, verify=False, limits=httpx.Limits(max_connections=4))


@dataclass
class Desk:
    """Where an attacker sits: an account of its own before one proxy.

    Attributes:
      address: of the proxy, over HTTP.
      key: the attacker's; `name` is whose it is.
      account: opens another account with so much epsilon, as a custodian would for anybody; name and key.
      log_file: what the proxy writes, for those who get hold of it.
      wire: the port of the other protocol; None where it speaks HTTP alone.
      secret: the key of an auditor, for those who get hold of one; None where anybody may look.
      replies: everything that was sent, in order.
    """

    address: str
    name: str
    key: str
    account: Callable[[float], tuple[str, str]]
    log_file: Path
    wire: int | None = None
    secret: str | None = None
    replies: list[Reply] = field(default_factory=list)
    client: httpx.Client = field(default_factory=_client)

    def another(self, epsilon: float = 10.0) -> Desk:
        """The same door, from somebody else's account."""
        name, key = self.account(epsilon)
        return Desk(
            self.address, name, key, self.account, self.log_file, self.wire, self.secret, self.replies, self.client
        )

    def ask(self, sql: str, epsilon: float = 1.0, parameters: Sequence[object] = (), **more: object) -> Reply:
        """A question."""
        return self.post("/v1/query", {"sql": sql, "epsilon": epsilon, "parameters": list(parameters), **more})

    def explain(self, sql: str) -> Reply:
        """What a question would do."""
        return self.post("/v1/explain", {"sql": sql})

    def post(self, path: str, body: object, **headers: str) -> Reply:
        """JSON, with the key."""
        return self.send("POST", path, json=body, headers={"Authorization": f"Bearer {self.key}", **headers})

    def get(self, path: str, **headers: str) -> Reply:
        """With the key."""
        return self.send("GET", path, headers={"Authorization": f"Bearer {self.key}", **headers})

    def send(self, method: str, path: str, **request: Any) -> Reply:
        """Anything, without a key unless it is given."""
        begun = time.perf_counter()
        try:
            response = self.client.request(method, f"{self.address}{path}", **request)
        except (httpx.TransportError, httpx.InvalidURL) as error:
            reply = Reply(0, type(error).__name__, {}, httpx.Headers(), time.perf_counter() - begun)
        else:
            reply = Reply(
                response.status_code,
                response.text,
                _json_of(response),
                response.headers,
                time.perf_counter() - begun,
            )
        self.replies.append(reply)
        return reply

    def by_wire(self, sql: str, parameters: Sequence[object] = ()) -> Reply:
        """A statement over PostgreSQL's protocol, and every field of what it says; over HTTP where there is none.

        Its text has all cells: of catalogs, in which there is no noise.
        """
        if self.wire is None:
            return self.ask(sql, 1.0, parameters)
        begun, status = time.perf_counter(), 200
        where = f"host=127.0.0.1 port={self.wire} dbname=clinic user={self.name} password={self.key} sslmode=disable"
        try:
            with psycopg.connect(where, autocommit=True, cursor_factory=psycopg.RawCursor) as session:
                text = str(session.execute(sql.encode(), list(parameters) or None).fetchall())
        except psycopg.Error as error:
            told = error.diag
            fields = told.sqlstate, told.message_primary, told.message_detail, told.message_hint
            status, text = 400, str((*fields, told.statement_position, told.context))
        text = re.sub(r"Request id: \w+", "", text)
        reply = Reply(status, text, {}, httpx.Headers(), time.perf_counter() - begun)
        self.replies.append(reply)
        return reply

    @property
    def left(self) -> float:
        """What the account may still spend."""
        return float(self.get("/v1/budget").body.get("epsilon_left", math.nan))

    @property
    def port(self) -> int:
        """Of HTTP, on this machine."""
        return int(self.address.rpartition(":")[2])


def _json_of(response: httpx.Response) -> dict[str, Any]:
    if "json" not in response.headers.get("content-type", ""):
        return {}
    try:
        body = response.json()
    except ValueError:
        return {}
    return body if isinstance(body, dict) else {}


@dataclass(frozen=True)
class Distinguisher:
    """Says whether the person is there; None where it has no idea.

    Attributes:
      says: of the database behind a desk.
      releases: does it look at noisy numbers? Then it plays rounds, each with `epsilon` to spend.
    """

    name: str
    says: Callable[[Desk], bool | None]
    releases: bool = False
    epsilon: float = 10.0


@dataclass(frozen=True)
class BreakIn:
    """Says whether it got in.

    Attributes:
      tries: at a desk; True if it has what it came for.
      epsilon: of the account that it has.
    """

    name: str
    tries: Callable[[Desk], bool]
    epsilon: float = 10.0


Attack = Distinguisher | BreakIn


@dataclass(frozen=True)
class AttackClass:
    """Attacks of one kind, and who has described it."""

    name: str
    reference: str
    attacks: tuple[Attack, ...]


@dataclass(frozen=True)
class Outcome:
    """What came of an attack.

    Attributes:
      succeeded: did it learn, or get, what it came for, every time?
      held: did it fail, as far as it is claimed?
      told: in words, what it found.
    """

    succeeded: bool
    held: bool
    told: str


Opens = Callable[[float], Desk]
"""A desk with a fresh account of so much epsilon."""

_BY_CHANCE = 1e-5
"""How often an attack that is no better than its budget allows is taken for a success."""


def play(
    attack: Attack,
    present: Opens,
    absent: Opens,
    rounds: int,
    anew: Callable[[], None] = lambda: None,
    unlikely: float = _BY_CHANCE,
) -> Outcome:
    """Attack the database with the person and the one without.

    Args:
      rounds: of an attack on noisy numbers, with each of the two.
      anew: called before each round: what was answered in one is not given again in another, which would make one
        draw of noise of all of them.
      unlikely: how often an attack that is no better than its budget allows is taken for a success.
    """
    if isinstance(attack, BreakIn):
        with _at(present, attack.epsilon) as desk:
            got = attack.tries(desk)
        return Outcome(got, not got, f"got in: {got}")
    if not attack.releases:
        with _at(present, attack.epsilon) as first, _at(absent, attack.epsilon) as second:
            told = attack.says(first), attack.says(second)
            seen = [[reply.seen for reply in desk.replies] for desk in (first, second)]
        differing = [pair for pair in zip(*seen, strict=False) if pair[0] != pair[1]]
        held = told[0] == told[1] and not differing and len(seen[0]) == len(seen[1])
        return Outcome(told == (True, False), held, f"says {told}; {len(differing)} replies differ: {differing[:1]}")
    right = 0
    for number in range(rounds):
        anew()
        with _at(present, attack.epsilon) as first, _at(absent, attack.epsilon) as second:
            told = attack.says(first), attack.says(second)
            right += (told[0] is True) + (told[1] is not True)
            seen = [[reply.seen for reply in desk.replies] for desk in (first, second)]
        answered = any("rows" in reply.body for reply in first.replies)
        if not number and first.replies and seen[0] == seen[1] and not answered:
            return Outcome(False, held=True, told="is refused, in the same words")
    allowed = (1 + math.tanh(attack.epsilon / 2)) / 2
    by_chance = float(binom.sf(right - 1, 2 * rounds, allowed))
    told_of = f"right {right} times of {2 * rounds}; as often by chance at its budget: {by_chance:.2g}"
    return Outcome(right > 1.9 * rounds, by_chance >= unlikely, told_of)


@contextmanager
def _at(opens: Opens, epsilon: float) -> Iterator[Desk]:
    desk = opens(epsilon)
    with desk.client:
        yield desk
