-- Questions put otherwise, so that they are answered: what an analyst writes instead, and what differs.

