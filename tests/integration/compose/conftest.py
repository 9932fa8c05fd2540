import pytest

from tests.integration.compose.servers import MakesReplicaSets, real_replica_set, replica_set


@pytest.fixture(scope="module", params=[replica_set, real_replica_set], ids=["ours", "mongod"])
def members_of(request: pytest.FixtureRequest) -> MakesReplicaSets:
    """What drivers see of our members has to be what they see of MongoDB itself."""
    makes: MakesReplicaSets = request.param
    return makes
