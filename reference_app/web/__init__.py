"""HTTP: a typed route table (`table.py`), what runs it (`endpoint.py`), and what is generated from it."""
