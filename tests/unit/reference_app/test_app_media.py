"""Signed URLs, against the worked example of AWS's own documentation."""

import time
from datetime import UTC, datetime

from reference_app.domain.media import Bucket, presigned

EXAMPLE = Bucket(
    "https://examplebucket.s3.amazonaws.com",
    "us-east-1",
    "AKIAIOSFODNN7EXAMPLE",
    "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
)
NOON = datetime(2013, 5, 24, tzinfo=UTC)


def test_the_example_of_the_specification_is_signed_as_it_says() -> None:
    url = presigned(EXAMPLE, "GET", "test.txt", now=NOON, expires_s=86400)
    assert url == (
        "https://examplebucket.s3.amazonaws.com/test.txt?X-Amz-Algorithm=AWS4-HMAC-SHA256"
        "&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3%2Faws4_request"
        "&X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400&X-Amz-SignedHeaders=host"
        "&X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404"
    )


def test_everything_that_is_signed_changes_the_signature() -> None:
    urls = {
        presigned(EXAMPLE, "GET", "a", now=NOON, expires_s=1),
        presigned(EXAMPLE, "PUT", "a", now=NOON, expires_s=1),
        presigned(EXAMPLE, "GET", "b", now=NOON, expires_s=1),
        presigned(EXAMPLE, "GET", "a", now=NOON, expires_s=2),
        presigned(EXAMPLE, "GET", "a", now=NOON, expires_s=1, headers={"content-type": "image/png"}),
        presigned(EXAMPLE, "GET", "a", now=NOON, expires_s=1, query={"response-cache-control": "x"}),
        presigned(EXAMPLE, "GET", "a", now=datetime(2013, 5, 25, tzinfo=UTC), expires_s=1),
    }
    assert len({url.rsplit("=", 1)[1] for url in urls}) == 7


def test_the_secret_is_in_no_url_and_a_path_in_the_endpoint_stays() -> None:
    bucket = Bucket("http://127.0.0.1:9000/media", "us-east-1", "key", "the secret")
    url = presigned(bucket, "PUT", "uploads/a b", now=NOON, expires_s=1)
    assert url.startswith("http://127.0.0.1:9000/media/uploads/a%20b?")
    assert "secret" not in url


def test_signing_takes_less_than_a_millisecond() -> None:
    begun = time.process_time()
    for number in range(200):
        presigned(EXAMPLE, "GET", f"object/{number}", now=NOON, expires_s=60)
    assert (time.process_time() - begun) / 200 < 0.001
