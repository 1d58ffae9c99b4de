"""The comparison with other libraries: what is counted, chosen and concluded."""
