"""What SecantusDB 0.7.0b3 does wrong, or too slowly, for a replica set under load - and the repairs.

Each repair is one function that replaces something inside SecantusDB. Its docstring says what the stock
version does, how that shows, and what is done about it; a test of the same name shows the defect on the
stock version and its absence on the repaired one, so that a repair can go once upstream has its own.

Not repaired: the records by which a repeated write is recognised live in memory, so a repeat after the
store itself was killed may apply a write twice. The store is not a fault target.
"""

from collections.abc import Callable

from compose.embedded.mongo.repairs.finding import (
    choices_come_in_the_order_asked_for,
    documents_named_by_id_are_looked_up,
    inclusive_bounds_keep_their_documents,
    pages_stop_at_their_limit,
    ranges_over_descending_strings_keep_their_documents,
)
from compose.embedded.mongo.repairs.promises import (
    acknowledged_writes_survive_a_kill,
    write_concerns_count_three_members,
)
from compose.embedded.mongo.repairs.repeats import (
    a_repeat_waits_for_its_original,
    repeats_are_found_cheaply,
    repeats_are_known_despite_less_time,
)
from compose.embedded.mongo.repairs.speed import (
    index_definitions_are_read_once_a_statement,
    keys_are_packed_quickly,
    keys_of_plain_documents_are_made_quickly,
)

REPAIRS: tuple[Callable[[], None], ...] = (
    repeats_are_found_cheaply,
    repeats_are_known_despite_less_time,
    a_repeat_waits_for_its_original,
    acknowledged_writes_survive_a_kill,
    inclusive_bounds_keep_their_documents,
    ranges_over_descending_strings_keep_their_documents,
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
