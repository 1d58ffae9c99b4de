"""HTTP: routes, authentication, request and response bodies, and problems.

Enters: requests with a bearer key; pydantic validates them at the edge.
Leaves: JSON, CSV, Arrow or problem bodies.
No value of a request or a row may reach a log, an error or a metric here.
"""
