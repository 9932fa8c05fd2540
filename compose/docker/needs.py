"""Which dependencies each image needs, with the versions that pyproject.toml states once for all.

Run inside the image's build, before anything is installed: only the standard library is used here.

    python needs.py app|swarm [pyproject.toml] > needs.txt
"""

import re
import sys
import tomllib
from pathlib import Path

APP = {
    "hiredis",
    "httptools",
    "kafka-python",
    "msgspec",
    "orjson",
    "prometheus-client",
    "pymongo",
    "redis",
    "rich",
    "starlette",
    "uvicorn",
    "uvloop",
}
SWARM = {"hiredis", "httptools", "locust", "msgspec", "orjson", "psutil", "PyYAML"}
IMAGES = {"app": APP, "swarm": SWARM}


def needs(image: str, pyproject: Path) -> list[str]:
    """The requirement lines of one image.

    Raises:
        KeyError: the image needs something that pyproject.toml does not list.
    """
    listed = {
        re.split(r"[^\w.-]", line, maxsplit=1)[0]: line
        for line in tomllib.loads(pyproject.read_text())["project"]["dependencies"]
    }
    return [listed[name] for name in sorted(IMAGES[image])]


if __name__ == "__main__":
    path = Path(sys.argv[2] if len(sys.argv) > 2 else "pyproject.toml")
    sys.stdout.write("\n".join(needs(sys.argv[1], path)) + "\n")
