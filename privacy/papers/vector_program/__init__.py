"""The vector program of DP-S4S: the largest kept vector whose length per unit is bounded, with a certificate."""
