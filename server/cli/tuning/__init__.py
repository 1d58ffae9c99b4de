"""`noisegate tune`: how much people have, shown, and written into the policy with a yes."""
