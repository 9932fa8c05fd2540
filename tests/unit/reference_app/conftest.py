"""How Hypothesis goes about it here: a busy machine is no failure."""

from hypothesis import HealthCheck, settings

settings.register_profile("feedstorm", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("feedstorm")
