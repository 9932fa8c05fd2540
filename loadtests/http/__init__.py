"""An HTTP client for users under chaos: keep-alive, explicit time-outs, and never a hidden retry.

Bring your own user class and write it as you would an `HttpUser`:

    class Visitor(RawHttpUser):
        @task
        def look(self):
            self.client.get("/feed", headers={"X-User-Id": me})
"""

from loadtests.http.client import HttpClient
from loadtests.http.errors import HttpError
from loadtests.http.response import Response
from loadtests.http.user import RawHttpUser

__all__ = ["HttpClient", "HttpError", "RawHttpUser", "Response"]
