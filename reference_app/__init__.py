"""The system under test: a social feed on MongoDB, Redis and Kafka that says how it degrades.

domain/    rules without I/O            stores/    the ports, and what implements them
service/   what the app does with both  web/       HTTP          workers/   what runs behind it
build.py   the only place that opens connections
"""
