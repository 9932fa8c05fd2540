"""An HTTP client for users under chaos: keep-alive, explicit time-outs, and never a hidden retry.

Bring your own user class and write it as you would an `HttpUser`:

    from loadtests.http.user import RawHttpUser

    class Visitor(RawHttpUser):
        @task
        def look(self):
            self.client.get("/feed", headers={"X-User-Id": me})

Only `loadtests.http.user` imports Locust, which patches the standard library of its process.
"""
