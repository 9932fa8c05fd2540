"""The swarm on a social feed, for `locust -f loadtests/locustfile.py`.

locust -f loadtests/locustfile.py --host http://127.0.0.1:8000                      web page, closed loop
locust ... --headless --arrivals 200 --shape spike:at=20,for=10,times=5 -t 60       open arrivals
locust ... --arrivals 2000 --processes 4                                            on four cores
locust ... --master --expect-workers 2      and      locust ... --worker --master-host HOST
"""

from loadtests import swarm
from loadtests.users import Author, CelebrityFollower, FeedReader, StalenessProbe, ViralLiker

swarm.attach()

__all__ = ["Author", "CelebrityFollower", "FeedReader", "StalenessProbe", "ViralLiker"]
