"""A real proxy with TLS and the wire protocol, and analysts who connect to it."""

from __future__ import annotations

import os
import signal
import ssl
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import httpx
import trustme

from server.backends.embedded import EmbeddedPostgres
from server.demo.demonstration import client
from server.demo.workplace import Demonstration, add_analyst, free_port, running_proxy
from server.ledger.analyst import Role
from server.policy.accepted_policy import read_policy


@dataclass(frozen=True)
class WireProxy:
    """Where it listens.

    Attributes:
      demonstration: its policy and database.
      http: the address of the HTTP API.
      port: of the wire protocol, on 127.0.0.1.
      authority: the PEM file of who vouches for its certificate.
      process: its number.
    """

    demonstration: Demonstration
    http: str
    port: int
    authority: Path
    process: int

    def kill(self) -> None:
        """As a machine that loses its power does."""
        os.kill(self.process, signal.SIGKILL)

    @cached_property
    def trusted(self) -> ssl.SSLContext:
        """Who vouches for it; read once, as that takes a while."""
        return ssl.create_default_context(cafile=self.authority)

    @cached_property
    def name(self) -> str:
        """Of the data set, which is the database's for clients."""
        return read_policy(self.demonstration.policy).name

    def client(self, epsilon: float, role: Role = "analyst") -> httpx.Client:
        """Speaks HTTP with the key of somebody fresh."""
        key = add_analyst(self.demonstration, epsilon, role)
        return client(self.http, key, self.trusted if self.http.startswith("https") else True)

    def analyst(self, epsilon: float) -> tuple[str, str]:
        """Name and key of a fresh analyst."""
        name = f"wire-{time.time_ns()}"
        return name, add_analyst(self.demonstration, epsilon, name=name)

    def conninfo(self, name: str, key: str, sslmode: str = "verify-full") -> str:
        """How libpq connects; `localhost` is the name in the certificate."""
        return (
            f"host=localhost hostaddr=127.0.0.1 port={self.port} dbname={self.name} user={name} password={key} "
            f"sslmode={sslmode} sslrootcert={self.authority} channel_binding=require"
        )


SMALL = ("env", "NOISEGATE_TEST_WORKERS=2", sys.executable, "-m", "tests.support.small_server")
"""Two workers and one for public tables: each process takes seconds of computation to start."""


@contextmanager
def wire_proxy(
    demonstration: Demonstration, server: EmbeddedPostgres, *, tls: bool = True, files: int | None = None
) -> Iterator[WireProxy]:
    """Start it; the catalog is a database of the tests' own PostgreSQL.

    Args:
      tls: or plain text.
      files: how many descriptors it may have; None: as many as this process.
    """
    folder = demonstration.folder
    authority = trustme.CA()
    certificate = authority.issue_cert("localhost")
    pem = folder / "authority.pem", folder / "certificate.pem", folder / "key.pem"
    authority.cert_pem.write_to_path(pem[0])
    certificate.cert_chain_pems[0].write_to_path(pem[1])
    certificate.private_key_pem.write_to_path(pem[2])
    catalog = folder / "catalog_url"
    catalog.touch(mode=0o600)
    catalog.write_text(server.url())
    port = free_port(0)
    options: tuple[str, ...] = ("--wire-port", str(port), "--catalog", f"file:{catalog}")
    if tls:
        options += ("--tls-certificate", str(pem[1]), "--tls-key", str(pem[2]))
    vouching = pem[0] if tls else None
    with running_proxy(demonstration, 0, options, authority=vouching, files=files, program=SMALL) as (
        process,
        address,
    ):
        yield WireProxy(demonstration, address, port, pem[0], process.pid)
