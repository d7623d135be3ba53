"""The large journal of the bench, made small."""

from bench import large


async def test_a_journal_is_made_measured_and_holds(tmp_path, capsys):
    assert await large.measured(tmp_path, 200) == 0

    told = capsys.readouterr().out
    assert "208 events" in told
    assert "last page of 100" in told
    assert "C2 4 streams, 208 entries, dense and chained" in told
