"""The demonstration: TPC-H and a social graph in an embedded PostgreSQL, asked through a real proxy, with the true
values beside the answers.

In: a folder to keep everything in; the extra `noisegate[embedded]`, which has PostgreSQL and TPC-H's generator.
Out: what `noisegate demo` prints. Tests and benchmarks start their proxies by the same parts.

The truth is read here, beside the proxy and never through it, and only of data that was generated here.
"""
