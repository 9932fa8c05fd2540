"""A TCP proxy whose links can be made to misbehave, spoken to as to Toxiproxy (version 2 of its HTTP API).

A `Proxy` listens and connects on. Each of its connections has two `Flow`s, one a direction; each toxic
puts a `Stage` into the flows that it applies to. Without toxics, bytes go from socket to socket.
"""
