"""The demonstration: TPC-H and a social graph in an embedded PostgreSQL, asked through a real proxy.

Enters: a folder for its files; the extra `noisegate[embedded]` with PostgreSQL and TPC-H's generator.
Leaves: the output of `noisegate demo`. Tests and benchmarks start their proxies with the same parts.
It shows true values beside the answers. It reads them beside the proxy, and only of data that it generated.
"""
