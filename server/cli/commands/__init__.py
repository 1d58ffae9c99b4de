"""The commands of `noisegate`. Their docstrings are the help texts."""
