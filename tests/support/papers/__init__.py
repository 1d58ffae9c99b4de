"""Mechanisms of papers that no server runs: benchmarks, audits and tests compare the served ones with them."""
