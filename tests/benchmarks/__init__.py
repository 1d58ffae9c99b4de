"""Benchmarks of one shape: `make benchmark NAME=x` runs x.py and writes results/x.json."""
