"""Whatever comes in by the OpenAPI document is answered as the document says."""

from tests.http.fuzz import tried


async def test_schemathesis_finds_no_fault_and_no_status_that_is_not_documented(tmp_path):
    """Issue 7: a short form of `./dev fuzz`."""
    result = await tried(
        tmp_path, "--max-examples", "3", "--phases", "fuzzing,stateful", "--seed", "20261115"
    )

    assert result.code == 0, result.said
    assert result.cases >= 250
