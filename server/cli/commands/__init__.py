"""The commands of `noisegate`, with their help."""
