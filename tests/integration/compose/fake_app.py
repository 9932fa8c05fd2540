"""Stands in for the application: `init`, `api` and `worker` with nothing behind them.

FAKE_APP_BREAKS names a part that fails: `init`, `api1` or a worker's kind.
"""

import os
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer


class Ready(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        is_broken = os.environ.get("FAKE_APP_BREAKS") == sys.argv[2]
        self.send_response(503 if is_broken else 200)
        self.end_headers()
        self.wfile.write(os.environ.get("FEED_REDIS_URL", "").encode())


def main() -> None:
    breaks = os.environ.get("FAKE_APP_BREAKS")
    if breaks == sys.argv[1]:
        sys.exit(f"{breaks}: broken on purpose")
    if sys.argv[1] != "init":
        port = int(sys.argv[sys.argv.index("--port") + 1])
        HTTPServer(("127.0.0.1", port), Ready).serve_forever()


if __name__ == "__main__":
    main()
