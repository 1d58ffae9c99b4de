"""From a policy file to running services: nothing listens before everything has been checked.

In: a policy file, sockets, limits of the workers. Out: HTTP and PostgreSQL's protocol on one event loop, or a refusal
to start that says what to do.
"""
