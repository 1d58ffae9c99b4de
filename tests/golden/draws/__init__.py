"""What every mechanism releases from written-down tuples with written-down noise, to the last bit."""
