"""`ports.py` says what the app asks of its stores; each folder here is one way to provide it."""
