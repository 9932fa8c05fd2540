import stat
import threading
from pathlib import Path

import msgspec
import pytest

from compose.embedded.processes import Process
from compose.embedded.state import StackFile, StackRecord
from compose.stack import StackError
from tests.unit.compose.test_plan import planned


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    file, record = StackFile(tmp_path / "home"), planned()
    assert file.read() is None
    with file.locked() as existing:
        assert existing is None
        file.write(record)
    assert file.read() == record
    assert stat.S_IMODE((tmp_path / "home" / "stack.json").stat().st_mode) == 0o600
    file.remove()
    file.remove()
    assert file.read() is None


def test_a_member_is_replaced_by_name() -> None:
    record = planned()
    redis = record.member("redis")
    assert redis
    changed = msgspec.structs.replace(redis, process=Process(1, "x"))
    assert record.with_member(changed).member("redis") == changed
    assert record.with_member(changed).member("kafka") == record.member("kafka")
    assert record.member("nobody") is None


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"id": 1}'])
def test_a_broken_file_is_one_sentence(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "stack.json").write_bytes(content)
    with pytest.raises(StackError, match=r"stack\.json cannot be read as a stack \(.*\); delete it if"):
        StackFile(tmp_path).read()


def test_changes_wait_for_each_other_and_readers_never_see_half_of_one(tmp_path: Path) -> None:
    file = StackFile(tmp_path)
    file.write(planned())
    broken: list[BaseException] = []

    def rename(number: int) -> None:
        try:
            for _ in range(20):
                with StackFile(tmp_path).locked() as record:
                    assert record
                    count = int(record.app_env.get("COUNT", "0"))
                    file.write(_counted(record, count + 1))
                assert file.read()
        except BaseException as error:
            broken.append(error)

    threads = [threading.Thread(target=rename, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not broken
    record = file.read()
    assert record
    assert record.app_env["COUNT"] == "80"


def _counted(record: StackRecord, count: int) -> StackRecord:
    return msgspec.structs.replace(record, app_env={**record.app_env, "COUNT": str(count)})
