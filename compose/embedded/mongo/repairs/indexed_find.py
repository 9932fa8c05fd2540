"""Answering a page - equality, perhaps a range or one `$in`, a sort, a limit - by walking along an index.

Used by `finding.pages_stop_at_their_limit`. An index entry is the encoded values of the index's
fields, joined by a separator, in byte order. A query turns into spans of such bytes that hold every
match (they may hold more: the filter is applied to each document), in the order of the sort. Where that
cannot be had for certain, there is no page, and the caller does it the slow way.
"""

import heapq
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import bson
from secantus import storage as store
from secantus.ordering import sort_docs
from secantus.query import matches
from secantus.sortkey import COMPOUND_SEP, encode_value_directed

# Entries of an index: the bytes behind a span's prefix, and the record id.
Entries = Generator[tuple[bytes, int], None, None]

LONGEST_PAGE = 5_000  # documents; the store's lock is held while one is read
MOST_CHOICES = 1_000  # values of an $in
ID_INDEX = "_id_"
SYSTEM_DATABASES = frozenset({"local", "admin", "config"})

_SCALAR = (str, int, float, bool, bytes, datetime, bson.ObjectId)
_RANGE = frozenset({"$gt", "$gte", "$lt", "$lte"})
_BEHIND = b"\xff" * 12  # sorts behind whatever may follow: separator, type rank, record id
_VARIABLE_LENGTH = (str, bytes, Mapping, list)


@dataclass(frozen=True)
class Query:
    database: str
    collection: str
    filter: Mapping[str, Any]
    sort: Mapping[str, Any]
    skip: int
    limit: int
    let: Any = None

    @property
    def wanted(self) -> int:
        return self.skip + self.limit


@dataclass(frozen=True)
class Conditions:
    """What of a filter an index can serve, by field. The rest of it is left to the filter itself."""

    equal: dict[str, Any] = field(default_factory=dict)
    choices: dict[str, list[Any]] = field(default_factory=dict)
    ranges: dict[str, dict[str, Any]] = field(default_factory=dict)

    @classmethod
    def of(cls, filter_: Mapping[str, Any]) -> "Conditions":
        found = cls()
        for name, condition in filter_.items():
            if name.startswith("$"):
                continue
            if isinstance(condition, _SCALAR):
                found.equal[name] = condition
            elif isinstance(condition, Mapping):
                found._add_operators(name, condition)
        return found

    def _add_operators(self, name: str, operators: Mapping[str, Any]) -> None:
        bounds = {op: bound for op, bound in operators.items() if op in _RANGE}
        if len(operators) == 1 and isinstance(operators.get("$eq"), _SCALAR):
            self.equal[name] = operators["$eq"]
        elif len(operators) == 1 and "$in" in operators:
            choices = operators["$in"]
            if 0 < len(choices) <= MOST_CHOICES and all(isinstance(c, _SCALAR) for c in choices):
                self.choices[name] = list(choices)
        elif bounds and all(isinstance(bound, _SCALAR) for bound in bounds.values()):
            self.ranges[name] = bounds


@dataclass(frozen=True)
class Route:
    """An index that serves a query: its first `pinned` fields have known values, the next may have a range.

    `choice` is the pinned field that an `$in` gives several values, `ordered` the fields behind the pinned
    ones that the sort relies on.
    """

    index: str
    fields: Mapping[str, int]
    pinned: int
    choice: str | None
    ranged: str | None
    ordered: tuple[str, ...]
    backwards: bool

    @property
    def merit(self) -> tuple[int, bool, int]:
        return self.pinned, self.ranged is not None, -len(self.fields)


@dataclass(frozen=True)
class Span:
    """Index bytes from `low` to `high`, both included. The first `prefix` bytes are the same throughout."""

    prefix: int
    low: bytes
    high: bytes


def first_page(storage: Any, query: Query) -> list[Any] | None:
    """The documents of the page in order, without a projection; None where no index gives them for sure."""
    if not query.limit > 0 or query.wanted > LONGEST_PAGE or query.database in SYSTEM_DATABASES:
        return None
    if list(query.filter) == ["_id"] and not isinstance(query.filter["_id"], Mapping):
        return None  # one document by its id: the store is quick at that
    storage._refresh_read_snapshot()
    with storage._lock:
        storage._session()
        if storage._is_timeseries(query.database, query.collection):
            return None
        conditions = Conditions.of(query.filter)
        route = best_route(storage, query, conditions)
        if route is None:
            return None
        found = _documents(storage, query, route, spans(route, conditions))
    if found is None or (query.sort and sort_docs(list(found), query.sort) != found):
        return None
    return found[query.skip :]


def best_route(storage: Any, query: Query, conditions: Conditions) -> Route | None:
    """The index that pins the most fields, of those whose order is the one asked for."""
    if any(name.startswith("$") or direction not in (1, -1) for name, direction in query.sort.items()):
        return None
    indexes = [(ID_INDEX, {"_id": 1}, {}), *storage._iter_indexes(query.database, query.collection)]
    routes = [
        route
        for name, fields, options in indexes
        if _is_plain(fields, options)
        and (route := _route(name, {f: int(d) for f, d in fields.items()}, query.sort, conditions))
    ]
    return max(routes, key=lambda route: route.merit, default=None)


def _is_plain(fields: Mapping[str, Any], options: Mapping[str, Any]) -> bool:
    """Whether each document has exactly one entry in the index, and in the order of its values."""
    special = ("sparse", "multikey", "partialFilterExpression", "collation")
    return not any(map(options.get, special)) and all(
        not isinstance(direction, str) and direction in (1, -1) for direction in fields.values()
    )


def _route(
    index: str, fields: Mapping[str, int], sort: Mapping[str, Any], conditions: Conditions
) -> Route | None:
    names, pinned, choice = list(fields), 0, None
    for name in names:
        if name in conditions.choices and choice is None:
            choice = name
        elif name not in conditions.equal:
            break
        pinned += 1
    # What is pinned to one value needs no sorting; a sort by the $in's own field does.
    rest = [(name, int(way)) for name, way in sort.items() if name not in names[:pinned] or name == choice]
    ranged = names[pinned] if pinned < len(names) and names[pinned] in conditions.ranges else None
    if ranged and fields[ranged] == -1 and _has_variable_length(conditions.ranges[ranged].values()):
        ranged = None  # upside down, what begins with a bound lies on the wrong side of it
    behind = [(name, fields[name]) for name in names[pinned : pinned + len(rest)]]
    opposite = [(name, -way) for name, way in behind]
    if rest not in (behind, opposite) or (not pinned and ranged is None and not rest):
        return None
    ordered = tuple(name for name, _ in rest)
    return Route(index, fields, pinned, choice, ranged, ordered, bool(rest) and rest == opposite)


def spans(route: Route, conditions: Conditions) -> list[Span]:
    """One span, or one for each value of the `$in`."""
    choices = conditions.choices[route.choice] if route.choice else [None]
    values = {name: conditions.equal.get(name) for name in list(route.fields)[: route.pinned]}
    made = []
    for choice in choices:
        if route.choice:
            values[route.choice] = choice
        made.append(_span(route, values, conditions.ranges.get(route.ranged or "", {})))
    return made


def _span(route: Route, values: Mapping[str, Any], bounds: Mapping[str, Any]) -> Span:
    is_secondary = route.index != ID_INDEX
    escaped = store._escape_kb if is_secondary else bytes  # the _id index holds its keys as they are
    encoded = [encode_value_directed(value, route.fields[name]) for name, value in values.items()]
    if route.pinned == len(route.fields):
        whole = escaped(COMPOUND_SEP.join(encoded))
        if not is_secondary:
            return Span(len(whole), whole, whole)
        whole += store._ENTRY_SEP
        return Span(len(whole), whole, whole + _BEHIND)
    start = b"".join(part + COMPOUND_SEP for part in encoded)
    low = escaped(start)
    prefix, high = len(low), low + _BEHIND
    if route.ranged:
        direction = route.fields[route.ranged]
        is_last = route.pinned == len(route.fields) - 1
        ending = store._ENTRY_SEP if is_last else escaped(COMPOUND_SEP)
        for operator, value in bounds.items():
            bound = escaped(start + encode_value_directed(value, direction))
            if operator.startswith("$g") == (direction == 1):
                low = max(low, bound)
            else:
                high = min(high, bound + ending + _BEHIND if is_secondary else bound)
    return Span(prefix, low, high)


def _documents(storage: Any, query: Query, route: Route, ranges: Sequence[Span]) -> list[Any] | None:
    """The first `query.wanted` documents that match; None if the index does not order them for sure."""
    documents = storage._cursor_optional(store._doc_table_for(query.database, query.collection))
    if documents is None:
        return []
    # Bytes turned upside down do not order values of which one begins with another.
    unsure = [name for name in route.ordered if route.fields[name] == -1]
    found: list[Any] = []
    seen: set[int] = set()
    walks = [_walk(storage, query, route, span) for span in ranges]
    with closing(_merged(walks, backwards=route.backwards)) as entries:
        for _, record in entries:
            store._deadline.check()
            documents.set_key(query.database, query.collection, record)
            if record in seen or documents.search() != 0:
                continue
            seen.add(record)
            document = bson.decode(store._unframe_doc_value(bytes(documents.get_value()))[1])
            if not matches(document, query.filter, vars=query.let):
                continue
            if _has_variable_length(map(document.get, unsure)):
                return None
            found.append(document)
            if len(found) == query.wanted:
                break
    return found


def _has_variable_length(values: Iterable[Any]) -> bool:
    return any(isinstance(value, _VARIABLE_LENGTH) for value in values)


def _merged(walks: list[Entries], *, backwards: bool) -> Entries:
    """The entries of all walks in one order, by what follows each span's prefix. Closes the walks."""
    try:
        yield from walks[0] if len(walks) == 1 else heapq.merge(*walks, reverse=backwards)
    finally:
        for walk in walks:
            walk.close()


def _walk(storage: Any, query: Query, route: Route, span: Span) -> Entries:
    """(entry behind the prefix, record id) of a span, one at a time, in the route's direction."""
    is_secondary = route.index != ID_INDEX
    table = store._IDX_ENTRIES_TABLE if is_secondary else store._NAT_SEQ_TABLE
    head = (query.database, query.collection, *((route.index,) if is_secondary else ()))
    cursor = storage._tls.session.open_cursor(table, None, None)
    step = cursor.prev if route.backwards else cursor.next
    try:
        cursor.set_key(*head, span.high if route.backwards else span.low)
        where = cursor.search_near()
        if where == store.wt.WT_NOTFOUND:
            return
        is_outside = where > 0 if route.backwards else where < 0
        if is_outside and step() != 0:
            return
        while True:
            *owner, entry = cursor.get_key()
            entry = bytes(entry)
            is_past = entry < span.low if route.backwards else entry > span.high
            if tuple(owner) != head or is_past:
                return
            record = store._unpack_entry(entry)[1] if is_secondary else int(cursor.get_value())
            if record is not None:
                yield entry[span.prefix :], record
            if step() != 0:
                return
    finally:
        cursor.close()
