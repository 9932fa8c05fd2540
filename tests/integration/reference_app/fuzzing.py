"""Running schemathesis against a server, with a budget."""

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

_CONFIG: Final = """
# A schema cannot say which cursors were given out: any other is refused with 400, as it should be.
[[operations]]
include-path-regex = "/feed$|/comments$|/followers$|/following$"
include-method = "GET"
checks.positive_data_acceptance.expected-statuses = ["2xx", 400, 401, 403, 404, 409, "5xx"]

[dictionaries.ids]
values = [{ids}]

[parameters]
"path.id" = {{ dictionary = "ids", probability = 0.7 }}
"path.other" = {{ dictionary = "ids", probability = 0.7 }}
"header.X-User-Id" = {{ dictionary = "ids", probability = 0.7 }}
"""


async def fuzz(
    url: str, directory: Path, *, ids: Sequence[str], examples: int, description: str | None = None
) -> tuple[int, str]:
    """All checks, all phases, on all operations: the exit status and the whole output.

    `ids` exist: most requests use them, so as to get further than "not found". `examples` bounds the
    fuzzing of each operation; `directory` is where the tool may leave its files. `description` is a file to
    use in place of what the server says of itself.
    """
    quoted = ", ".join(f'"{one}"' for one in ids)
    (directory / "schemathesis.toml").write_text(_CONFIG.format(ids=quoted))
    process = await asyncio.create_subprocess_exec(
        str(Path(sys.executable).parent / "schemathesis"),
        "run",
        description or f"{url}/openapi.json",
        f"--url={url}",
        "--checks=all",
        f"--max-examples={examples}",
        "--no-color",
        "--request-timeout=15",
        "--generation-deterministic",
        "--suppress-health-check=all",
        cwd=directory,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await process.communicate()
    return process.returncode or 0, output.decode()
