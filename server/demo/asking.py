"""Ask a question through the proxy, and read the true value behind it: for the demonstration only."""

from __future__ import annotations

import ssl
import time
from dataclasses import dataclass
from statistics import median
from typing import Any

import httpx

from server.demo.queries import DemoQuery
from server.libpq import connect


@dataclass(frozen=True)
class Answer:
    """A noisy answer beside the truth.

    Attributes:
      body: the proxy's response.
      seconds: how long it took.
      errors: relative error per group (one without GROUP BY).
      truth: true value per group key (key None without GROUP BY).
    """

    body: dict[str, Any]
    seconds: float
    errors: tuple[float, ...]
    truth: dict[object, float]

    @property
    def error(self) -> float:
        """The relative error; the median over groups."""
        return median(self.errors)


def true_values(owner_url: str, query: DemoQuery) -> dict[object, float]:
    """The exact answer, read as the database's owner: nobody else may see it."""
    with connect(owner_url) as connection:
        rows = connection.execute(query.sql.encode()).fetchall()
    return {row[0] if len(row) == 2 else None: float(row[-1]) for row in rows}


def ask(client: httpx.Client, query: DemoQuery, truth: dict[object, float], epsilon: float = 1.0) -> Answer:
    """Send one question, to be measured whatever was answered before, and compare the answer with the truth.

    Args:
      client: speaks to the proxy with an analyst's key.
      query: the question.
      truth: the exact values by group; by None where there is one.
      epsilon: what it may cost.
    Raises: RuntimeError when the proxy refuses.
    """
    start = time.perf_counter()
    reply = client.post("/v1/query", json={"sql": query.sql, "epsilon": epsilon, "reuse": "never"})
    seconds = time.perf_counter() - start
    if reply.is_error:
        raise RuntimeError(f"{query.name}: {reply.status_code} {reply.text}")
    body = reply.json()
    values = {row[0] if len(row) == 2 else None: float(row[-1]) for row in body["rows"]}
    errors = tuple(abs(values[key] - true) / abs(true) for key, true in truth.items())
    return Answer(body, seconds, errors, truth)


def client(address: str, key: str, verify: ssl.SSLContext | bool = True) -> httpx.Client:
    """An HTTP client that carries an analyst's key."""
    return httpx.Client(base_url=address, headers={"Authorization": f"Bearer {key}"}, timeout=300.0, verify=verify)
