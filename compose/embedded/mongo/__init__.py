"""MongoDB for the embedded stack: three replica-set members over one store.

`store.py` runs SecantusDB (WiredTiger behind the MongoDB wire protocol) with the defects in
`repairs` repaired. `member.py` runs one member of the replica set `rs0`: it answers what is
about the topology, refuses what it may not do in its role, and hands everything else to the store.
"""
