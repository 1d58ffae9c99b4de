"""HTTP: routes, authentication, problems. Pydantic at the edge, our frozen types inside."""
