"""Which user classes run: from the mix, the locustfile and whether arrivals are open."""

from typing import Any

from locust import User

from loadtests.http.user import RawHttpUser
from loadtests.mix import MixError, mix_name, parse_mix
from loadtests.settings import DEFAULT_MIX, SHARES, Settings
from loadtests.shares import Arrivals
from loadtests.users import StalenessProbe

CastList = dict[type[User], float]


def cast_list(classes: list[type[User]], settings: Settings) -> CastList:
    """User classes and their weights, instruments apart.

    Raises:
        MixError: the mix names a class that the locustfile does not have, or open arrivals are asked
            of a class that cannot do them.
    """
    by_name = {
        mix_name(kind.__name__): kind for kind in classes if not issubclass(kind, StalenessProbe | Arrivals)
    }
    if settings.mix is None:
        usual = parse_mix(DEFAULT_MIX)
        weights: dict[str, float] = {name: usual.get(name, kind.weight) for name, kind in by_name.items()}
    else:
        weights = settings.mix
    if unknown := set(weights) - set(by_name):
        known = ", ".join(sorted(by_name)) or "none"
        raise MixError(
            f"--mix: no user class is called {', '.join(sorted(unknown))} here; there are: {known}"
        )
    cast = {by_name[name]: weight for name, weight in weights.items()}
    if settings.arrivals is not None:
        for kind in cast:
            _check_open(kind)
    return cast


def _check_open(kind: type[User]) -> None:
    if not issubclass(kind, RawHttpUser):
        raise MixError(
            f"--arrivals: {kind.__name__} has no client that counts from the intended start;"
            " derive it from loadtests.http.user.RawHttpUser"
        )
    if any(isinstance(task, type) for task in kind.tasks):
        raise MixError(
            f"--arrivals: {kind.__name__} has nested task sets, which only the closed loop can run"
        )
    if not kind.tasks:
        raise MixError(f"--arrivals: {kind.__name__} has no task")


def put_in_place(environment: Any, cast: CastList, settings: Settings, workers: int) -> None:
    """Tell Locust which classes to spawn; with open arrivals also how many users, unless that was said."""
    options = environment.parsed_options
    StalenessProbe.fixed_count = min(2, workers) if settings.probes else 0
    instruments: list[type[User]] = [StalenessProbe] if settings.probes else []
    if settings.arrivals is None:
        for kind, weight in cast.items():
            kind.weight = weight
        environment.user_classes[:] = [*cast, *instruments]
        return
    Arrivals.weight = 1
    environment.user_classes[:] = [Arrivals, *instruments]
    if options.num_users is None:
        options.num_users = workers * -(-SHARES // workers) + StalenessProbe.fixed_count
    if options.spawn_rate is None:
        options.spawn_rate = 100


def least_users(settings: Settings, workers: int) -> int:
    """Fewer than these cannot make the load once it is in place: each worker needs a share of arrivals."""
    return StalenessProbe.fixed_count + (workers if settings.arrivals is not None else 1)


def shares_of(users: int, settings: Settings) -> int:
    """Into how many shares so many users cut the rate (0 in the closed loop)."""
    return 0 if settings.arrivals is None else max(1, users - StalenessProbe.fixed_count)
