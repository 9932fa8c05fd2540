"""What a stack's options change in the compose file, as an override file of its own."""

from pathlib import Path

import yaml

from compose.stack import StackOptions

APP = {
    "api1": ("api",),
    "api2": ("api",),
    "worker-fanout": ("worker", "fanout"),
    "worker-likes": ("worker", "likes"),
    "worker-upkeep": ("worker", "upkeep"),
}
"""The services that run the app, and what they run."""


def overrides(options: StackOptions) -> dict[str, dict[str, dict[str, object]]]:
    """A compose document; `{}` if the options change nothing."""
    services: dict[str, dict[str, object]] = {}
    for service, what in APP.items():
        changed: dict[str, object] = {}
        if options.app_env:
            changed["environment"] = dict(options.app_env)
        if options.app_module != StackOptions().app_module:
            at = ("--host", "0.0.0.0", "--port", "8000")
            changed["command"] = ["python", "-m", options.app_module, *what, *at]
        if changed:
            services[service] = changed
    if services:
        env = {**options.app_env, "FEEDSTORM_APP_MODULE": options.app_module}
        services["init"] = {"environment": env}
    return {"services": services} if services else {}


def write_overrides(options: StackOptions, path: Path) -> tuple[Path, ...]:
    """The override file, written if there is anything to say; to be given to compose after the others."""
    document = overrides(options)
    if not document:
        return ()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(document, sort_keys=False))
    return (path,)
