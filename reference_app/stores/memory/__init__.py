"""All ports in memory, for tests: plain dictionaries, under the same contract tests as the real stores.

No method waits between reading and writing, so each is one step, as a transaction is.
"""
