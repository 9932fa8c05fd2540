"""The same bytes and the same indexes, for less of the processor's time."""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any

import secantus.commands
import secantus.server
import secantus.storage
import secantus.transactions
import wiredtiger.swig_wiredtiger as wiredtiger_api
from bson import ObjectId
from secantus.sortkey import COMPOUND_SEP, encode_value
from secantus.storage import Storage
from wiredtiger.intpacking import pack_int, unpack_int

Json = Mapping[str, Any]  # documents and index keys, as SecantusDB's own code has them


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
