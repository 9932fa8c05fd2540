"""What SecantusDB 0.7.0b3 does wrong, or too slowly, for a replica set under load - and the repairs.

Each repair is one function that replaces something inside SecantusDB. Its docstring says what the stock
version does, how that shows, and what is done about it; a test of the same name shows the defect on the
stock version and its absence on the repaired one, so that a repair can go once upstream has its own.

Not repaired: the records by which a repeated write is recognised live in memory, so a repeat after the
store itself was killed may apply a write twice. The store is not a fault target.
"""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from functools import lru_cache
from typing import Any

import secantus.commands
import secantus.server
import secantus.storage
import secantus.transactions
import wiredtiger.swig_wiredtiger as wiredtiger_api
from bson import ObjectId
from secantus.ordering import sort_docs
from secantus.projection import apply_projection_batch
from secantus.sortkey import COMPOUND_SEP, encode_value
from secantus.storage import Storage
from secantus.transactions import TransactionRegistry
from wiredtiger.intpacking import pack_int, unpack_int

from compose.embedded.mongo import indexed_find

REPLICA_SET_MEMBERS = 3
# Follows every encoded value of an index entry: type ranks stay far below it.
BEHIND_EVERY_VALUE = b"\xff" * 4

Json = Mapping[str, Any]  # commands and replies, as SecantusDB's own code has them


def repeats_are_found_cheaply() -> None:
    """Stock: every retryable write walks all remembered ones (10,000) twice to find what has expired.

    Shows as 1,500 writes/s falling to 100 writes/s after 10,000 writes. Repaired: the records stand in
    the order of their age, so only the oldest are looked at.
    """

    def prune(registry: Any) -> None:
        records, now = registry._retryable, registry._time()
        lifetime = secantus.transactions._RETRYABLE_RECORD_LIFETIME_SECONDS
        while records:
            oldest = next(iter(records))
            is_excess = len(records) > secantus.transactions._RETRYABLE_RECORD_MAX
            if not is_excess and now - records[oldest][1] < lifetime:
                return
            del records[oldest]

    TransactionRegistry._prune_retryable_locked = prune


def repeats_are_known_despite_less_time() -> None:
    """Stock: a repeat that comes with another `maxTimeMS` counts as a new write.

    Drivers with `timeoutMS` send what is left of the time, so every repeat differs; it shows as a doubled
    `$inc` or a DuplicateKeyError. Repaired: `maxTimeMS` is no part of a write's identity.
    """
    secantus.commands._RETRY_IDENTITY_IGNORED |= {"maxTimeMS"}


def a_repeat_waits_for_its_original() -> None:
    """Stock: a repeat runs beside its original when that is still under way, and both are applied.

    Drivers repeat after a time-out of their own. mongod lets one operation of a session run at a time;
    repaired, the store does so too for retryable writes.
    """
    dispatch = secantus.server.dispatch
    one_at_a_time = KeyedLocks()

    def dispatch_in_turn(command: Json, context: Any) -> Any:
        if "txnNumber" not in command or command.get("autocommit") is False:
            return dispatch(command, context)
        session = bytes((command.get("lsid") or {}).get("id") or b"")
        with one_at_a_time.held(session):
            return dispatch(command, context)

    secantus.server.dispatch = dispatch_in_turn


class KeyedLocks:
    """A lock per key, kept only while somebody holds it or waits for it."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._locks: dict[bytes, tuple[threading.Lock, int]] = {}

    def __len__(self) -> int:
        return len(self._locks)

    @contextmanager
    def held(self, key: bytes) -> Iterator[None]:
        with self._guard:
            lock, users = self._locks.get(key, (threading.Lock(), 0))
            self._locks[key] = lock, users + 1
        try:
            with lock:
                yield
        finally:
            with self._guard:
                lock, users = self._locks[key]
                if users == 1:
                    del self._locks[key]
                else:
                    self._locks[key] = lock, users - 1


def acknowledged_writes_survive_a_kill() -> None:
    """Stock: a commit stays in WiredTiger's own buffer, so SIGKILL loses acknowledged majority writes.

    Shows as the newest 40 ms or so of writes missing after a kill. Repaired: each commit hands its log
    record to the operating system. Nothing is synced to the disk: a power cut may still lose writes.
    """
    stock, repaired = (
        "transaction_sync=(enabled=false,method=fsync)",
        "transaction_sync=(enabled=true,method=none)",
    )
    open_database = secantus.storage.wt.wiredtiger_open

    def open_with_write_through(home: str, config: str) -> Any:
        return open_database(home, config.replace(stock, repaired))

    secantus.storage.wt.wiredtiger_open = open_with_write_through


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


def write_concerns_count_three_members() -> None:
    """Stock: `w: 2` and `w: 3` are answered with UnsatisfiableWriteConcern, since the store is one node.

    Repaired: they are met, as all three members read what the store has.
    """
    complaint = secantus.commands._unsatisfiable_wc_error

    def complaint_of_three(command: Json) -> Any:
        concern = command.get("writeConcern")
        w = concern.get("w") if isinstance(concern, Mapping) else None
        is_met = isinstance(w, int) and not isinstance(w, bool) and w <= REPLICA_SET_MEMBERS
        return None if is_met else complaint(command)

    secantus.commands._unsatisfiable_wc_error = complaint_of_three


def keys_are_packed_quickly() -> None:
    """Stock: WiredTiger's Python packs and unpacks every key character by character of its format.

    Costs about a fifth of a write. Repaired: the few formats that SecantusDB uses - strings, then perhaps
    a number or bytes - are done with `join` and `split`; everything else goes the old way.
    """
    pack, unpack = wiredtiger_api.pack, wiredtiger_api.unpack
    tails = {"S": 0, "SS": 0, "SSS": 0, "SSu": 1, "SSSu": 1, "SSq": 1}  # format -> fields that are no strings

    def pack_quickly(key_format: str, *values: Any) -> Any:
        if key_format == "u" and type(values[0]) is bytes:
            return values[0]
        tail = tails.get(key_format)
        if tail is None or len(values) != len(key_format):
            return pack(key_format, *values)
        strings = values[: len(values) - tail]
        packed = "\0".join(strings)
        if packed.count("\0") != len(strings) - 1:  # a string with a zero in it: leave the complaint to them
            return pack(key_format, *values)
        if not tail:
            return packed.encode() + b"\0"
        last = pack_int(values[-1]) if key_format[-1] == "q" else bytes(values[-1])
        return packed.encode() + b"\0" + last

    def unpack_quickly(key_format: str, packed: bytes) -> Any:
        tail = tails.get(key_format)
        if tail is None:
            return unpack(key_format, packed)
        *strings, rest = packed.split(b"\0", len(key_format) - tail)
        if len(strings) != len(key_format) - tail or (rest and not tail):
            return unpack(key_format, packed)
        values: list[Any] = [string.decode() for string in strings]
        if tail:
            values.append(unpack_int(rest)[0] if key_format[-1] == "q" else rest)
        return values

    wiredtiger_api.pack, wiredtiger_api.unpack = pack_quickly, unpack_quickly


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


def index_definitions_are_read_once_a_statement() -> None:
    """Stock: every document written reads and decodes the definitions of all its indexes four times.

    Shows as a bulk insert that costs three times as much with three indexes as with none. Repaired: a
    statement remembers them from its first look on, until it starts a transaction anew or changes one.
    """
    read, begin, mark = Storage._iter_indexes, Storage._batch_transaction, Storage._maybe_mark_multikey

    def remembered(storage: Any, database: str, collection: str) -> Iterator[Any]:
        known = getattr(storage._tls, "index_definitions", None)
        if known is None:
            return iter(list(read(storage, database, collection)))
        if (database, collection) not in known:
            known[database, collection] = list(read(storage, database, collection))
        return iter(known[database, collection])

    def forget(storage: Any) -> None:
        if getattr(storage._tls, "index_definitions", None) is not None:
            storage._tls.index_definitions = {}

    def begin_anew(storage: Any, *given: Any, **more: Any) -> Any:
        forget(storage)
        return begin(storage, *given, **more)

    def mark_and_forget(storage: Any, *given: Any, **more: Any) -> Any:
        indexes, already = given[3], given[4]
        before = len(already)
        marked = mark(storage, *given, **more)
        if indexes and len(marked) != before:
            forget(storage)
        return marked

    def statement(run: Callable[..., Any]) -> Callable[..., Any]:
        def run_remembering(storage: Any, *given: Any, **more: Any) -> Any:
            if getattr(storage._tls, "index_definitions", None) is not None:
                return run(storage, *given, **more)  # inside another one
            storage._tls.index_definitions = {}
            try:
                return run(storage, *given, **more)
            finally:
                storage._tls.index_definitions = None

        return run_remembering

    Storage._iter_indexes = remembered
    Storage._batch_transaction = begin_anew
    Storage._maybe_mark_multikey = mark_and_forget
    for name in (
        "_insert_chunk", "_update_chunk", "_update_matching_single_txn",
        "_delete_chunk", "_delete_matching_single_txn", "find_matching",
    ):  # fmt: skip
        setattr(Storage, name, statement(getattr(Storage, name)))


def keys_of_plain_documents_are_made_quickly() -> None:
    """Stock: an index key is the product over its fields of all values a path may lead to, even for a scalar.

    Costs about half of an insert with three indexes. Repaired: where every indexed field is a plain value
    at the top of the document, its key is those values one after the other; all else goes the old way.
    """
    variants, is_multikey = secantus.storage._index_key_variants, secantus.storage._doc_makes_multikey
    plain = (str, int, bool, float, datetime, ObjectId, type(None))
    encode_string = lru_cache(maxsize=4096)(encode_value)  # ids come again in the next index

    def variants_quickly(document: Json, keys: Json, *, sparse: bool, collation: Any = None) -> list[bytes]:
        parts: list[bytes] = []
        for field, direction in keys.items():
            value = document.get(field)
            if type(value) not in plain or direction != 1 or "." in field or sparse or collation is not None:
                return list(variants(document, keys, sparse=sparse, collation=collation))
            parts.append(encode_string(value) if type(value) is str else encode_value(value))
        return [COMPOUND_SEP.join(parts)]

    def is_multikey_quickly(document: Json, keys: Json) -> bool:
        if all(type(document.get(field)) in plain and "." not in field for field in keys):
            return False
        return bool(is_multikey(document, keys))

    secantus.storage._index_key_variants = variants_quickly
    secantus.storage._doc_makes_multikey = is_multikey_quickly


REPAIRS: tuple[Callable[[], None], ...] = (
    repeats_are_found_cheaply,
    repeats_are_known_despite_less_time,
    a_repeat_waits_for_its_original,
    acknowledged_writes_survive_a_kill,
    inclusive_bounds_keep_their_documents,
    choices_come_in_the_order_asked_for,
    pages_stop_at_their_limit,
    write_concerns_count_three_members,
    keys_are_packed_quickly,
    documents_named_by_id_are_looked_up,
    index_definitions_are_read_once_a_statement,
    keys_of_plain_documents_are_made_quickly,
)


def apply(repairs: tuple[Callable[[], None], ...] = REPAIRS) -> None:
    """Repair SecantusDB in this process. Call it before a server is made, and once only."""
    for repair in repairs:
        repair()
