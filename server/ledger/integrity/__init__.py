"""Everything worked out anew from the entries and compared; the high-water mark beside the policy."""
