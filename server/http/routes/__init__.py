"""The routes of the API, by what they are about.

Enters: validated bodies and the authenticated analyst.
Leaves: response bodies. Blocking work runs in the threads of `Services`.
A route never decides about privacy; the pipeline and the ledger do.
"""
