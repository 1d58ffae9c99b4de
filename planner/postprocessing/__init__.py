"""Post-processing: SQL around released answers, which costs no privacy."""
