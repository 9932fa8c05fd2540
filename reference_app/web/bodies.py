"""What clients may send."""

from typing import Annotated

import msgspec
from msgspec import Meta

from reference_app.views import Id

Tag = Annotated[str, Meta(min_length=1, max_length=50)]


class Body(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """The base of all request bodies: what is not known is refused."""


class NewUser(Body, omit_defaults=True):
    name: Annotated[str, Meta(min_length=1, max_length=100)]
    id: Id | msgspec.UnsetType = msgspec.UNSET


class NewPost(Body, omit_defaults=True):
    text: Annotated[str, Meta(min_length=1, max_length=5000)]
    tags: Annotated[list[Tag], Meta(max_length=10)] = []
    media_id: Id | msgspec.UnsetType = msgspec.UNSET


class NewComment(Body):
    text: Annotated[str, Meta(min_length=1, max_length=2000)]


class NewUpload(Body):
    content_type: Annotated[str, Meta(pattern="^(image|video)/[a-z0-9.+-]{1,50}$")]
