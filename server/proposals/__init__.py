"""Asking for an accuracy instead of an epsilon: from public quantities and released answers, never from a row."""
