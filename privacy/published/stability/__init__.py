"""Stability of sampling and partitioning as published: what an epsilon costs behind them, per record."""
