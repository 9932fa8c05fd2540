"""Queries find what they should, in the order that was asked for, without reading everything."""

from collections.abc import Mapping
from typing import Any

from secantus import sortkey
from secantus.ordering import sort_docs
from secantus.projection import apply_projection_batch
from secantus.sortkey import COMPOUND_SEP
from secantus.storage import Storage

from compose.embedded.mongo.repairs import indexed_find

# Follows every encoded value of an index entry: type ranks stay far below it.
BEHIND_EVERY_VALUE = b"\xff" * 4

# How values of variable length begin in a descending field: the ranks of strings, documents, arrays,
# binary data and code, with every bit turned over.
TURNED_OVER = frozenset(
    bytes([0xFF - rank])
    for rank in (
        sortkey.RANK_STRING,
        sortkey.RANK_DOCUMENT,
        sortkey.RANK_ARRAY,
        sortkey.RANK_BINDATA,
        sortkey.RANK_JAVASCRIPT,
    )
)

Json = Mapping[str, Any]  # filters, sorts and projections, as SecantusDB's own code has them


def inclusive_bounds_keep_their_documents() -> None:
    """Stock: equality and an inclusive bound on a compound index with more fields lose the documents that
    lie on the bound (`$lte` on an ascending field, `$gte` on a descending one).

    Index entries that equal the bound go on with a separator and the further fields, so they sort behind
    the bound as it stands. Repaired: the scan goes on to just behind them; the filter, which is applied
    to every candidate anyway, draws the exact line.
    """
    scan = Storage._range_scan_index

    def scan_past_the_bound(
        storage: Any,
        database: str,
        collection: str,
        index: str,
        lower: bytes | None,
        lower_inclusive: bool,
        upper: bytes | None,
        upper_inclusive: bool,
        *,
        prefix: bytes | None = None,
    ) -> Any:
        if upper is not None and upper_inclusive and prefix is not None:
            upper = upper + COMPOUND_SEP + BEHIND_EVERY_VALUE
        bounds = (lower, lower_inclusive, upper, upper_inclusive)
        return scan(storage, database, collection, index, *bounds, prefix=prefix)

    Storage._range_scan_index = scan_past_the_bound


def ranges_over_descending_strings_keep_their_documents() -> None:
    """Stock: a range over a descending field loses strings that begin with the bound, or that it begins with.

    The index holds descending values with every bit turned over, which reverses the order of any two
    values but those. Shows as `{name: {$gt: ""}}` finding nothing. Repaired: such a range is not drawn in
    the index; the filter does it.
    """
    scan, scan_leading = Storage._range_scan_index, Storage._range_scan_index_leading

    def without_sharp_bounds(
        storage: Any, database: str, collection: str, index: str,
        lower: bytes | None, lower_inclusive: bool, upper: bytes | None, upper_inclusive: bool,
        *, prefix: bytes | None = None,
    ) -> Any:  # fmt: skip
        start = len(prefix or b"")
        if any(bound is not None and bound[start : start + 1] in TURNED_OVER for bound in (lower, upper)):
            lower = upper = None
        bounds = (lower, lower_inclusive, upper, upper_inclusive)
        return scan(storage, database, collection, index, *bounds, prefix=prefix)

    def leading_without_sharp_bounds(
        storage: Any, database: str, collection: str, index: str,
        lower: bytes | None, lower_inclusive: bool, upper: bytes | None, upper_inclusive: bool,
    ) -> Any:  # fmt: skip
        if any(bound is not None and bound[:1] in TURNED_OVER for bound in (lower, upper)):
            lower = upper = None
        bounds = (lower, lower_inclusive, upper, upper_inclusive)
        return scan_leading(storage, database, collection, index, *bounds)

    Storage._range_scan_index = without_sharp_bounds
    Storage._range_scan_index_leading = leading_without_sharp_bounds


def choices_come_in_the_order_asked_for() -> None:
    """Stock: `find({f: {$in: [...]}}).sort({f: 1})` on an indexed field answers in the order of the list.

    Repaired: such a result is fetched without a sort and sorted afterwards.
    """
    find = Storage.find_matching

    def find_then_sort(
        storage: Any,
        database: str,
        collection: str,
        filter: Json | None = None,
        *,
        skip: int = 0,
        limit: int = 0,
        sort: Json | None = None,
        projection: Json | None = None,
        hint: Any = None,
        let: Any = None,
        **more: Any,
    ) -> Any:
        if not _is_choice_sorted_by_itself(filter, sort) or any(v is not None for v in more.values()):
            return find(
                storage, database, collection, filter,
                skip=skip, limit=limit, sort=sort, projection=projection, hint=hint, let=let, **more,
            )  # fmt: skip
        found = sort_docs(find(storage, database, collection, filter, hint=hint, let=let), sort)
        found = found[skip : skip + limit] if limit > 0 else found[skip:]
        if not projection:
            return found
        metas = storage._projection_metas(database, collection, found, projection, filter, sort, hint, None)
        return apply_projection_batch(found, projection, filter, metas=metas, has_sort=True)

    Storage.find_matching = find_then_sort


def _is_choice_sorted_by_itself(filter_: Json | None, sort: Json | None) -> bool:
    if not filter_ or not sort or len(filter_) != 1 or list(filter_) != list(sort):
        return False
    (condition,) = filter_.values()
    return isinstance(condition, Mapping) and "$in" in condition


def pages_stop_at_their_limit() -> None:
    """Stock: equality + sort + limit reads and sorts every document with that equality.

    Shows as 0.4 pages/s where 100,000 documents share the first field. Repaired: where an index has the
    order that is asked for, it is walked along and left at the limit; see `indexed_find.py`.
    """
    find = Storage.find_matching

    def find_along_an_index(
        storage: Any,
        database: str,
        collection: str,
        filter: Json | None = None,
        *,
        skip: int = 0,
        limit: int = 0,
        sort: Json | None = None,
        projection: Json | None = None,
        let: Any = None,
        **more: Any,
    ) -> Any:
        page = None
        if all(value is None for value in more.values()) and not _asks_for_meta(projection):
            query = indexed_find.Query(database, collection, filter or {}, dict(sort or {}), skip, limit, let)
            page = indexed_find.first_page(storage, query)
        if page is None:
            return find(
                storage, database, collection, filter,
                skip=skip, limit=limit, sort=sort, projection=projection, let=let, **more,
            )  # fmt: skip
        if not projection:
            return page
        metas = storage._projection_metas(
            database, collection, page, projection, filter or {}, sort, None, None
        )
        return apply_projection_batch(page, projection, filter or {}, metas=metas, has_sort=bool(sort))

    Storage.find_matching = find_along_an_index


def _asks_for_meta(projection: Json | None) -> bool:
    return any(isinstance(value, Mapping) and "$meta" in value for value in (projection or {}).values())


def documents_named_by_id_are_looked_up() -> None:
    """Stock: a filter on `_id` beside an `$and` or `$or` reads the whole collection.

    Every findAndModify makes such a filter for itself; it shows as one that costs ten times as much
    among ten times as many. Repaired: documents named by `_id` are fetched by it, and the rest of the
    filter applied to them.
    """
    look_up = Storage._try_index_id_keys

    def look_up_ids_first(
        storage: Any, database: str, collection: str, filter_: Json, *, collation: Any = None
    ) -> Any:
        if len(filter_) > 1 and "_id" in filter_ and collation is None:
            named = look_up(storage, database, collection, {"_id": filter_["_id"]})
            if named is not None:
                return named
        return look_up(storage, database, collection, filter_, collation=collation)

    Storage._try_index_id_keys = look_up_ids_first
