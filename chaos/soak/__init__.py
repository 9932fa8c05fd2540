"""Soaks: steady load for hours, a fault now and then, and a watch on what creeps.

A soak is an ordinary run on the drill runner. More is looked at beside it (`probes.py`), and the
reports are written again and again (`checkpoint.py`), so that a stop at any moment leaves a full record.
"""
