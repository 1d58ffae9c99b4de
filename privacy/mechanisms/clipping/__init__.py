"""Each unit's vector over all groups, clipped as a whole, and noise for one of them."""
