"""Finding out how much people have, at a price that everybody's guarantee states: `noisegate tune`."""
