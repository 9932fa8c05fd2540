"""The bare framework that the app is measured against: `python -m ...yardsticks redis|kafka PORT URL`."""

import asyncio
import sys

import redis.asyncio
import uvicorn
from kafka import KafkaProducer
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from reference_app.stores.kafka.sink import Acks


def one_redis_get(url: str) -> Starlette:
    """A route that answers with the value of one key."""
    client = redis.asyncio.Redis.from_url(url)

    async def get(request: Request) -> JSONResponse:
        value = await client.get(f"bench:{request.path_params['id']}")
        return JSONResponse({"value": str(value)})

    return Starlette(routes=[Route("/item/{id}", get)])


def one_kafka_record(bootstrap: str) -> Starlette:
    """A route that sends one record and answers when it is acknowledged."""
    producer = KafkaProducer(
        bootstrap_servers=bootstrap, acks="all", enable_idempotence=False, linger_ms=5, metrics_enabled=False
    )
    producer.partitions_for("bench")
    acks = Acks()

    async def put(request: Request) -> JSONResponse:
        acks.bind(asyncio.get_running_loop())
        sent = producer.send("bench", key=request.path_params["id"].encode(), value=b"x" * 120)
        await acks.of(sent)
        return JSONResponse({"accepted": True}, status_code=202)

    return Starlette(routes=[Route("/item/{id}", put, methods=["PUT"])])


if __name__ == "__main__":
    kind, port, url = sys.argv[1:]
    uvicorn.run(
        one_redis_get(url) if kind == "redis" else one_kafka_record(url),
        port=int(port),
        log_level="warning",
        loop="uvloop",
        http="httptools",
        access_log=False,
    )
