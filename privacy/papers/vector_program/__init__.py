"""The vector program of DP-S4S: the least removal of units that bounds every unit's norm, with a certificate."""
