"""The operations: what each asks of the services, and what it answers."""

from typing import Final

from reference_app.app import App
from reference_app.clock import utc
from reference_app.domain.cursors import CursorError, Position
from reference_app.domain.feed import Entry
from reference_app.domain.model import Comment
from reference_app.errors import ForbiddenError, NotFoundError, RequestError
from reference_app.stores.ports import Order, Side
from reference_app.views import (
    Accepted,
    Comments,
    CommentView,
    CountView,
    Edges,
    Following,
    Relationship,
    Upload,
    Users,
    UserView,
    comment_view,
    edge_view,
    feed_body,
    post_body,
    user_view,
)
from reference_app.web.bodies import NewComment, NewPost, NewUpload, NewUser
from reference_app.web.params import LIMIT
from reference_app.web.table import Call, Raw

_FIRST_PAGE: Final[int] = LIMIT.default


# -- users and relationships ---------------------------------------------------------------


async def add_user(app: App, call: Call) -> UserView:
    body: NewUser = call.body
    user_id = body.id if isinstance(body.id, str) else None
    return user_view(await app.people.add(body.name, user_id=user_id, caller=call.caller, key=call.key))


async def get_user(app: App, call: Call) -> UserView:
    found = await app.stores.graph.users([call.values["id"]])
    if not found:
        raise NotFoundError(f"There is no user {call.values['id']}.", field="id")
    return user_view(found[0])


async def get_users(app: App, call: Call) -> Users:
    return Users([user_view(user) for user in await app.stores.graph.users(call.values["ids"])])


async def follow(app: App, call: Call) -> Following:
    return await _set_following(app, call, active=True)


async def unfollow(app: App, call: Call) -> Following:
    return await _set_following(app, call, active=False)


async def _set_following(app: App, call: Call, *, active: bool) -> Following:
    follower, followee = call.values["id"], call.values["other"]
    if call.caller != follower:
        raise ForbiddenError("Only the follower can change this.", field="X-User-Id")
    changed = await app.relating.set_following(follower, followee, active=active)
    return Following(following=active, changed=changed)


async def followers(app: App, call: Call) -> Edges:
    return await _edges(app, call, Side.FOLLOWERS)


async def following(app: App, call: Call) -> Edges:
    return await _edges(app, call, Side.FOLLOWING)


async def _edges(app: App, call: Call, side: Side) -> Edges:
    user, limit, order = call.values["id"], call.values["limit"], Order(call.values["order"])
    of = f"{side}:{order}:{user}"
    after = _position(app, call, of)
    depth = after.depth if after else 0
    room = min(limit, app.settings.follower_depth - depth)
    await app.people.must_exist([("id", user)])
    found = await app.stores.graph.edges(user, side, after=after, order=order, limit=room + 1)
    shown = found[:room]
    more = len(found) > room and depth + room < app.settings.follower_depth
    cursor = (
        app.cursors.write(of, Position(shown[-1].since_ms, shown[-1].user_id, depth + room)) if more else None
    )
    return Edges([edge_view(edge) for edge in shown], cursor)


async def follower_count(app: App, call: Call) -> CountView:
    return CountView((await get_user(app, call)).follower_count)


async def following_count(app: App, call: Call) -> CountView:
    return CountView((await get_user(app, call)).following_count)


async def relationship(app: App, call: Call) -> Relationship:
    one, other = call.values["id"], call.values["other"]
    await app.people.must_exist([("id", one), ("other", other)])
    relations = await app.stores.graph.relations([(one, other), (other, one)])
    active = {relation.follower_id for relation in relations if relation.active}
    return Relationship(one in active, other in active, one in active and other in active)


# -- posts, likes, comments ----------------------------------------------------------------


async def add_post(app: App, call: Call) -> Raw:
    body: NewPost = call.body
    media_id = body.media_id if isinstance(body.media_id, str) else None
    post = await app.posting.publish(call.caller, body.text, tags=body.tags, media_id=media_id, key=call.key)
    return Raw(post_body(post))


async def get_post(app: App, call: Call) -> Raw:
    return Raw(await app.posting.body(call.values["id"]))


async def like(app: App, call: Call) -> Accepted:
    await app.liking.wish(call.values["id"], call.caller, liked=True)
    return Accepted()


async def unlike(app: App, call: Call) -> Accepted:
    await app.liking.wish(call.values["id"], call.caller, liked=False)
    return Accepted()


async def like_count(app: App, call: Call) -> CountView:
    return CountView(await app.liking.count(call.values["id"]))


async def add_comment(app: App, call: Call) -> CommentView:
    body: NewComment = call.body
    return comment_view(await app.commenting.add(call.values["id"], call.caller, body.text, key=call.key))


async def comments(app: App, call: Call) -> Comments:
    post_id, limit = call.values["id"], call.values["limit"]
    of = f"comments:{post_id}"
    after = _position(app, call, of)
    if after is None and limit == _FIRST_PAGE:
        found = await app.commenting.first_page(post_id, limit=limit + 1)
    else:
        found = await app.commenting.page(post_id, after=after, limit=limit + 1)
    shown = found[:limit]
    return Comments(
        [comment_view(comment) for comment in shown],
        app.cursors.write(of, _comment_position(shown[-1])) if len(found) > limit else None,
    )


def _comment_position(comment: Comment) -> Position:
    return Position(comment.created_ms, comment.id)


# -- media and feed ------------------------------------------------------------------------


async def begin_upload(app: App, call: Call) -> Upload:
    body: NewUpload = call.body
    await app.people.caller(call.caller)
    signed = await app.uploading.begin(call.caller, body.content_type, key=call.key)
    return Upload(
        signed.media.id,
        signed.media.status.value,
        signed.upload_url,
        signed.thumbnail_url,
        utc(signed.expires_ms),
    )


async def feed(app: App, call: Call) -> Raw:
    user = call.caller
    of = f"feed:{user}"
    after = _position(app, call, of)
    page = await app.reader.page(
        user, after=Entry(after.ms, after.id) if after else None, limit=call.values["limit"]
    )
    cursor = app.cursors.write(of, Position(page.last.ms, page.last.id)) if page.last else None
    return Raw(feed_body(user, page.posts, cursor, stale=page.stale))


def _position(app: App, call: Call, of: str) -> Position | None:
    cursor = call.values["cursor"]
    if cursor is None:
        return None
    try:
        return app.cursors.read(of, cursor)
    except CursorError as error:
        raise RequestError(f"cursor {error}.", field="cursor") from error
