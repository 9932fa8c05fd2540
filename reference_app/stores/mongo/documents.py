"""BSON documents to the domain's types and back."""

from datetime import datetime

from reference_app.clock import utc
from reference_app.domain.ids import pair_id
from reference_app.domain.likes import Liker, LikeRow, LikeShard
from reference_app.domain.model import Comment, Media, MediaStatus, Post, Relation, User
from reference_app.stores.mongo.schema import Document

ACTIVE, REMOVED, PENDING = "active", "removed", "pending"


def ms_of(time: datetime) -> int:
    """Milliseconds since 1970, exactly: BSON dates hold no more."""
    return round(time.timestamp() * 1000)


def status(active: bool) -> str:
    return ACTIVE if active else REMOVED


def user_of(document: Document) -> User:
    return User(
        id=document["_id"],
        name=document["name"],
        created_ms=ms_of(document["createdAt"]),
        follower_count=document.get("followerCount", 0),
        following_count=document.get("followingCount", 0),
        is_celebrity=document.get("isCelebrity", False),
        pulled=document.get("pulled", False),
    )


def user_document(user: User) -> Document:
    document: Document = {
        "_id": user.id,
        "name": user.name,
        "followerCount": user.follower_count,
        "followingCount": user.following_count,
        "isCelebrity": user.is_celebrity,
        "createdAt": utc(user.created_ms),
    }
    if user.pulled:
        document["pulled"] = True
    return document


def relation_of(document: Document) -> Relation:
    return Relation(
        follower_id=document["followerId"],
        followee_id=document["followeeId"],
        active=document["status"] == ACTIVE,
        rev=document.get("rev", 0),
    )


def post_of(document: Document) -> Post:
    return Post(
        id=document["_id"],
        author_id=document["authorId"],
        text=document["text"],
        created_ms=ms_of(document["createdAt"]),
        tags=tuple(document.get("tags", ())),
        celebrity=document.get("celebrity", False),
        media_id=document.get("mediaId"),
        like_count=document.get("likeCount", 0),
        comment_count=document.get("commentCount", 0),
        recent_likers=tuple(document.get("recentLikers", ())),
        rev=document.get("rev", 0),
    )


def post_document(post: Post) -> Document:
    document: Document = {
        "_id": post.id,
        "authorId": post.author_id,
        "text": post.text,
        "tags": list(post.tags),
        "createdAt": utc(post.created_ms),
        "celebrity": post.celebrity,
        "likeCount": post.like_count,
        "commentCount": post.comment_count,
        "recentLikers": list(post.recent_likers),
        "rev": post.rev,
        "outbox": PENDING,
    }
    if post.media_id is not None:
        document["mediaId"] = post.media_id
    return document


def like_row_of(document: Document) -> LikeRow:
    return LikeRow(document["postId"], document["userId"], document["status"] == ACTIVE, int(document["at"]))


def like_row_id(row: LikeRow) -> str:
    return pair_id(row.post_id, row.user_id)


def shard_of_document(document: Document) -> LikeShard:
    return LikeShard(
        post_id=document["postId"],
        shard=document["shard"],
        count=document["count"],
        version=document["version"],
        recent=tuple(Liker(liker["userId"], int(liker["at"])) for liker in document.get("recent", ())),
    )


def shard_id(post_id: str, shard: int) -> str:
    return f"{post_id}:{shard}"


def comment_of(document: Document) -> Comment:
    return Comment(
        id=document["_id"],
        post_id=document["postId"],
        author_id=document["authorId"],
        text=document["text"],
        created_ms=ms_of(document["createdAt"]),
    )


def comment_document(comment: Comment) -> Document:
    return {
        "_id": comment.id,
        "postId": comment.post_id,
        "authorId": comment.author_id,
        "text": comment.text,
        "createdAt": utc(comment.created_ms),
        "countOwed": True,
    }


def media_of(document: Document) -> Media:
    return Media(
        id=document["_id"],
        owner_id=document["ownerId"],
        content_type=document["contentType"],
        created_ms=ms_of(document["createdAt"]),
        status=MediaStatus(document["status"]),
    )


def media_document(media: Media) -> Document:
    return {
        "_id": media.id,
        "ownerId": media.owner_id,
        "status": media.status.value,
        "contentType": media.content_type,
        "createdAt": utc(media.created_ms),
    }
