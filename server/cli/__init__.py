"""The `noisegate` command line.

Enters: arguments, options and the environment.
Leaves: data on stdout, messages on stderr, and an exit code.
Commands of analysts ask the HTTP API. Commands of administrators open the policy, its database and its ledger.
"""
