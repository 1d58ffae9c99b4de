"""A real proxy with TLS and the wire protocol, and analysts who connect to it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import trustme

from server.backends.embedded import EmbeddedPostgres
from tests.demo.workplace import Demonstration, add_analyst, free_port, running_proxy


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

    def analyst(self, epsilon: float) -> tuple[str, str]:
        """Name and key of a fresh analyst."""
        name = f"wire-{time.time_ns()}"
        return name, add_analyst(self.demonstration, epsilon, name=name)

    def conninfo(self, name: str, key: str, sslmode: str = "verify-full") -> str:
        """How libpq connects; `localhost` is the name in the certificate."""
        return (
            f"host=localhost hostaddr=127.0.0.1 port={self.port} dbname=demo user={name} password={key} "
            f"sslmode={sslmode} sslrootcert={self.authority} channel_binding=require"
        )


@contextmanager
def wire_proxy(demonstration: Demonstration, server: EmbeddedPostgres) -> Iterator[WireProxy]:
    """Start it; the catalog is a database of the tests' own PostgreSQL."""
    folder = demonstration.folder
    authority = trustme.CA()
    certificate = authority.issue_cert("localhost")
    files = folder / "authority.pem", folder / "certificate.pem", folder / "key.pem"
    authority.cert_pem.write_to_path(files[0])
    certificate.cert_chain_pems[0].write_to_path(files[1])
    certificate.private_key_pem.write_to_path(files[2])
    catalog = folder / "catalog_url"
    catalog.touch(mode=0o600)
    catalog.write_text(server.url())
    port = free_port(0)
    options = (
        *("--wire-port", str(port), "--catalog", f"file:{catalog}"),
        *("--tls-certificate", str(files[1]), "--tls-key", str(files[2])),
    )
    with running_proxy(demonstration, 0, options, authority=files[0]) as (process, address):
        yield WireProxy(demonstration, address, port, files[0], process.pid)
