"""One drill several times side by side: on each feed strategy, or again and again with the same seed.

costs.py     store operations for a post and for a read, counted at the stores
row.py       what one run came to, and the table of them
session.py   runs them in turn and leaves `lineup.json` and `report.md`
"""
