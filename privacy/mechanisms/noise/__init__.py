"""Noise on a public grid."""
