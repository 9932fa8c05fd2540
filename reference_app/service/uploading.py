"""Media: the client and the object store deal with the bytes, we only sign."""

from datetime import timedelta
from typing import NamedTuple

from reference_app.clock import now_ms, utc
from reference_app.domain.ids import id_for
from reference_app.domain.media import IMMUTABLE, Bucket, presigned
from reference_app.domain.model import Media
from reference_app.settings import Settings
from reference_app.stores.bundle import Stores


class SignedUpload(NamedTuple):
    media: Media
    upload_url: str
    thumbnail_url: str
    expires_ms: int


class Uploading:
    def __init__(self, stores: Stores, settings: Settings) -> None:
        self._stores, self._expires_s = stores, settings.media_expires_s
        self._bucket = Bucket(
            settings.media_endpoint,
            settings.media_region,
            settings.media_access_key,
            settings.media_secret_key,
        )

    async def begin(self, owner: str, content_type: str, *, key: str | None) -> SignedUpload:
        """An upload, `pending` until its thumbnail is there. The URLs are signed anew on every request."""
        wanted = Media(id_for("media", owner, key), owner, content_type, now_ms())
        media = await self._stores.media.add(wanted)
        now = utc(now_ms())
        upload = presigned(
            self._bucket,
            "PUT",
            f"uploads/{media.id}",
            now=now,
            expires_s=self._expires_s,
            headers={"content-type": media.content_type},
        )
        thumbnail = presigned(
            self._bucket,
            "GET",
            f"thumbnails/{media.id}",
            now=now,
            expires_s=self._expires_s,
            query={"response-cache-control": IMMUTABLE},
        )
        ends = now + timedelta(seconds=self._expires_s)
        return SignedUpload(media, upload, thumbnail, int(ends.timestamp() * 1000))

    async def make_thumbnails(self, *, limit: int) -> int:
        """Mark pending uploads as ready. Drawing thumbnails is the object store's affair here."""
        pending = await self._stores.media.pending(limit=limit)
        if pending:
            await self._stores.media.set_ready(pending)
        return len(pending)
