import pytest

from loadtests import checks
from loadtests.checks import Edge, EdgePage, FeedPage, Item, Page


def item(post: str, second: int = 0) -> Item:
    return Item(post, f"2026-01-01T00:00:{second:02}.000Z", "author", "post")


def page(*items: Item, user: str = "me") -> FeedPage:
    return FeedPage(user, list(items))


def test_a_good_feed_has_nothing_wrong() -> None:
    assert checks.feed(page(item("b", 2), item("a", 1), item("c", 1)), "me") == ""


@pytest.mark.parametrize(
    ("answer", "what"),
    [
        (page(user="you"), "another user's feed"),
        (page(item("a"), item("a")), "an item twice"),
        (page(item("a", 1), item("b", 2)), "wrong order"),
        (page(item("old")), "an item of an earlier page again"),
    ],
)
def test_a_reader_notices_what_is_wrong(answer: FeedPage, what: str) -> None:
    assert checks.feed(answer, "me", {"old"}) == what


def test_an_empty_feed_is_wrong_only_for_someone_who_had_posts() -> None:
    assert checks.feed(page(), "me") == ""
    assert checks.feed(page(), "me", must_have_posts=True) == "an empty feed for someone with posts"


def test_times_of_different_forms_are_not_compared() -> None:
    mixed = FeedPage("me", [Item("a", "2026-01-01T00:00:00Z"), Item("b", "2026-01-01T00:00:00.5Z")])
    assert checks.feed(mixed, "me") == ""


def test_comments_are_those_of_the_post_each_once() -> None:
    assert checks.comments(Page([item("a", 1), item("b", 0)]), "post") == ""
    assert checks.comments(Page([item("a"), item("a")]), "post") == "a comment twice"
    assert checks.comments(Page([item("a")]), "other") == "a comment of another post"


def test_counts_are_never_negative() -> None:
    assert checks.count(checks.Count(-1)) == "a negative count"
    assert checks.user(checks.User("u", 3, -1), "u") == "a negative count"


def test_users_are_those_that_were_asked_for() -> None:
    users = checks.Users([checks.User("a", 0, 0)])
    assert checks.users(users, ["a", "b"]) == ""
    assert checks.users(users, ["b"]) == "a user that was not asked for"
    assert checks.user(checks.User("a", 0, 0), "b") == "another user"


def test_a_post_is_the_one_that_was_asked_for_and_shows_its_likes() -> None:
    post = checks.Post("p", "a", 0)
    assert checks.post(post, "p", "a") == ""
    assert checks.post(post, "q") == "another post"
    assert checks.post(post, "p", "b") == "a post of another author"
    assert checks.post(post, "p", "a", must_be_liked=True) == "a like that never showed"


def test_a_page_of_followers_names_nobody_twice() -> None:
    edges = EdgePage([Edge("a", "2026-01-02"), Edge("a", "2026-01-01")])
    assert checks.edges(edges) == "a user twice"


def test_a_relationship_does_not_contradict_itself() -> None:
    assert checks.relationship(checks.Relationship(True, True, True)) == ""
    assert checks.relationship(checks.Relationship(True, False, True)) != ""
