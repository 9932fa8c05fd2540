"""A page that lists the operations. It needs nothing from anywhere else, so it works offline."""

from collections.abc import Sequence
from html import escape
from typing import Final

from reference_app.web.table import Operation

_STYLE: Final = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
td, th { text-align: left; vertical-align: top; padding: .3rem .8rem .3rem 0 }
code { font-family: ui-monospace, monospace } tr { border-bottom: 1px solid #8884 }
@media (prefers-color-scheme: dark) { body { background: #111; color: #ddd } a { color: #8bf } }
"""


def docs_page(operations: Sequence[Operation]) -> str:
    rows = "\n".join(map(_row, operations))
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Feedstorm reference app</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><style>{_STYLE}</style></head>
<body><h1>Feedstorm reference app</h1>
<p>The whole description is at <a href="/openapi.json">/openapi.json</a>. Errors are problem documents
(RFC 9457): 503 means certainly not done, 504 that it may have been done.</p>
<table><tr><th>Operation</th><th></th><th>Input</th><th>Answers</th></tr>
{rows}
</table></body></html>
"""


def _row(operation: Operation) -> str:
    names = [param.name for param in operation.params]
    if operation.body is not None:
        names.append(operation.body.__name__)
    inputs = ", ".join(f"<code>{escape(name)}</code>" for name in names)
    answers = f"{operation.status} <code>{operation.answer.__name__}</code>"
    name, summary = escape(operation.name), escape(operation.summary)
    return f"<tr><td><code>{name}</code></td><td>{summary}</td><td>{inputs}</td><td>{answers}</td></tr>"
