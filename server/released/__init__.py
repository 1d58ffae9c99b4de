"""Arithmetic over released values, with intervals: post-processing only, so nothing here can cost privacy."""
