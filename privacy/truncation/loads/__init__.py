"""Sums by what each unit has of them."""
