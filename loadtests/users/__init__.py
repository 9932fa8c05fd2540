"""The people of the feed, one class a file. Every task is one op, so that an arrival is an op."""

from loadtests.users.author import Author
from loadtests.users.celebrity_follower import CelebrityFollower
from loadtests.users.feed_reader import FeedReader
from loadtests.users.staleness_probe import StalenessProbe
from loadtests.users.viral_liker import ViralLiker

__all__ = ["Author", "CelebrityFollower", "FeedReader", "StalenessProbe", "ViralLiker"]
