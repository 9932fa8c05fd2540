"""The form of Locust's web page: what it says about our options is checked before Locust takes it over.

Locust itself would set any text, and a mistake would come out as a load that is never sent.
"""

import argparse
from collections.abc import Callable, Mapping
from typing import Any

from flask import Flask, Response, jsonify, request

from loadtests.settings import add_options

Check = Callable[[argparse.Namespace], str]
"""Says why these options do not go together; "" if they do."""


def refuse_mistakes(page: Flask, options: argparse.Namespace, check: Check) -> None:
    """Answer a start with a mistake in it as Locust answers one of its own: with a sentence for the page."""

    def before() -> Response | None:
        if request.path.rstrip("/").endswith("/swarm") and request.method == "POST":
            message = mistake_in(request.form, options, check)
            if message:
                return jsonify({"success": False, "message": message, "host": options.host})
        return None

    page.before_request(before)


def mistake_in(form: Mapping[str, str], options: argparse.Namespace, check: Check) -> str:
    """What is wrong with a form that changes these options; "" if nothing is."""
    parser = argparse.ArgumentParser(add_help=False)
    add_options(parser)
    ours = {action.dest: action for action in parser._actions}
    asked = argparse.Namespace(**vars(options))
    for name, text in form.items():
        if name in ours:
            try:
                setattr(asked, name, _read(ours[name], text, getattr(options, name)))
            except argparse.ArgumentTypeError as error:
                return f"{ours[name].option_strings[0]}: {error}"
        elif name == "host":
            asked.host = text
    return check(asked)


def _read(action: argparse.Action, text: str, now: Any) -> Any:
    """The value, as Locust will set it: in the type that it has now."""
    try:
        value = action.type(text) if callable(action.type) else text
        if action.choices is not None and value not in action.choices:
            raise argparse.ArgumentTypeError(f"{text!r} is not one of {', '.join(action.choices)}")
        return type(now)(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None
