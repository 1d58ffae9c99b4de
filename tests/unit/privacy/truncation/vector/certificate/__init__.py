"""Unit tests of privacy/truncation/vector/certificate/, one file per module or group of modules."""
