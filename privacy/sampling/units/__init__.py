"""Samples of privacy units instead of join tuples: what they amplify, and the tuples that stay."""
