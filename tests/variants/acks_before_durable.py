"""Says 202 to a like and forgets every fifth pair of user and post: acknowledged, and never there."""

import sys
import zlib

from reference_app.build import Build
from reference_app.cli import main
from reference_app.domain.likes import LikeEvent
from reference_app.settings import Settings
from reference_app.stores.kafka.sink import KafkaSink

BREAKS = "no_acknowledged_write_lost"


class ForgetfulSink(KafkaSink):
    async def send_like(self, event: LikeEvent) -> None:
        if zlib.crc32(f"{event.post_id}{event.user_id}".encode()) % 5:
            await super().send_like(event)


class Broken(Build):
    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self.kafka = ForgetfulSink(settings)


if __name__ == "__main__":
    sys.exit(main(build=Broken))
