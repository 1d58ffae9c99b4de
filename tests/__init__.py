"""The tests, the demonstration and the benchmarks: their databases are those of their URLs, as the proxy's are."""

from server.libpq import forget_environment

forget_environment()
