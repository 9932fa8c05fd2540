"""The user class to derive from: what `HttpUser` is to Locust, on the client that can be trusted."""

from typing import Any, ClassVar
from weakref import WeakKeyDictionary

from locust import User

from loadtests.http.client import HttpClient
from loadtests.http.pool import Pool
from loadtests.http.traffic import traffic_of
from loadtests.mix import mix_name


class RawHttpUser(User):
    """A user with a `client`. Connections are shared by all users of a process, as those of a browser
    farm behind one gateway would be; cookies and redirects are left alone.

    `connect_timeout_s` and `read_timeout_s` are used where the options of the command line do not say.
    """

    abstract = True
    connect_timeout_s: float = 1.0
    read_timeout_s: float = 5.0
    _pools: ClassVar["WeakKeyDictionary[Any, dict[str, Pool]]"] = WeakKeyDictionary()

    def __init__(self, environment: Any) -> None:
        super().__init__(environment)
        options = environment.parsed_options
        connect_s = getattr(options, "connect_timeout", None) or self.connect_timeout_s
        hosts = self.host or environment.host or ""
        pools = self._pools.setdefault(environment, {})
        if hosts not in pools:
            pools[hosts] = Pool(hosts, connect_s)
        self.client = HttpClient(
            pools[hosts],
            environment.events.request.fire,
            traffic_of(environment),
            mix_name(type(self).__name__),
        )
        self.client.read_timeout_s = getattr(options, "read_timeout", None) or self.read_timeout_s
        if type(self).context is not User.context:
            self.client.context = self.context
