"""What clients are given of every result type, and what is read of their parameters, byte by byte."""
