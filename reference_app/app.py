"""The app's services, wired to whatever stores they are given: real ones, or fakes in a test."""

from reference_app.domain.celebrity import Threshold
from reference_app.domain.cursors import Cursors
from reference_app.service.fan_out import FanOut
from reference_app.service.people import People
from reference_app.service.posting import Posting
from reference_app.service.reacting import Commenting, Liking
from reference_app.service.reading import FeedReader
from reference_app.service.relating import Relating
from reference_app.service.uploading import Uploading
from reference_app.settings import Settings
from reference_app.stores.bundle import Stores


class App:
    def __init__(self, stores: Stores, settings: Settings) -> None:
        self.stores, self.settings = stores, settings
        self.cursors = Cursors(settings.cursor_key)
        self.threshold = Threshold.of(settings.celebrity_threshold)
        self.people = People(stores, ttl_s=settings.local_cache_s)
        self.relating = Relating(stores, settings, self.people)
        self.posting = Posting(stores, settings, self.people)
        self.fan_out = FanOut(stores, settings, self.relating)
        self.liking = Liking(stores, settings, self.posting)
        self.commenting = Commenting(stores, self.people, self.posting)
        self.reader = FeedReader(stores, settings)
        self.uploading = Uploading(stores, settings)
