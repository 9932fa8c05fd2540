"""Every operation of the table is reached by its own path."""

import httpx
import pytest

from reference_app.health import Readiness
from reference_app.metrics import Metrics
from reference_app.web.routes import OPERATIONS
from reference_app.web.server import api_application
from reference_app.web.table import Operation
from tests.unit.reference_app.world import World


@pytest.mark.parametrize(
    "operation", OPERATIONS, ids=lambda operation: f"{operation.method} {operation.path}"
)
async def test_an_operation_is_allowed_where_it_stands_in_the_table(operation: Operation) -> None:
    application = api_application(World().app, Readiness({}), Metrics())
    path = operation.path.format(
        id="0d1f4b3e-0000-4000-8000-000000000001", other="0d1f4b3e-0000-4000-8000-000000000002"
    )
    transport = httpx.ASGITransport(app=application)
    async with httpx.AsyncClient(transport=transport, base_url="http://app") as client:
        answer = await client.request(operation.method, path)
    assert answer.status_code != 405
