"""The choice of a threshold."""
