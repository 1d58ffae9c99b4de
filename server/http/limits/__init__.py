"""How much, how often and how long a connection, a request and a key may ask."""
