"""Opens the app, scrolls, looks who wrote that."""

from dataclasses import dataclass
from typing import Any

from locust import task

from loadtests.users.base import FeedUser


@dataclass(frozen=True)
class Scroll:
    """How far a reader has come."""

    reader: int
    cursor: str
    shown: frozenset[str]


class FeedReader(FeedUser):
    """Its checks: its own feed, newest first, nothing twice on any page, never empty after it had posts."""

    def __init__(self, environment: Any) -> None:
        super().__init__(environment)
        self._scroll: Scroll | None = None
        self._authors: tuple[str, ...] = ()

    @task(14)
    def open_app(self) -> None:
        reader = self.workload.who_opens_the_app()
        self._look(reader, None, frozenset())

    @task(4)
    def next_page(self) -> None:
        scroll, self._scroll = self._scroll, None
        if scroll is None:
            self.open_app()
        else:
            self._look(scroll.reader, scroll.cursor, scroll.shown)

    @task(2)
    def look_who_wrote(self) -> None:
        if self._authors:
            reader = self.population.user_id(self.population.any_reader(self.rng))
            self.api.users(reader, self._authors)
            self._authors = ()
        else:
            self.open_app()

    def _look(self, reader: int, cursor: str | None, shown: frozenset[str]) -> None:
        page = self.api.feed(
            self.population.user_id(reader),
            cursor=cursor,
            shown=shown,
            must_have_posts=cursor is None and self.workload.has_posts(reader),
        )
        if page is None or not page.items:
            return
        self.workload.saw_posts(reader)
        self._authors = tuple({item.authorId for item in page.items})
        if page.nextCursor is not None and len(shown) < 200:
            ids = frozenset(item.id for item in page.items)
            self._scroll = Scroll(reader, page.nextCursor, shown | ids)
