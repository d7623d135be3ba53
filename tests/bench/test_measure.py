"""How the bench turns moments into figures."""

from bench import scenes
from bench.measure import Round, Side, compare, growth, median_of


async def test_the_rounds_of_both_sides_alternate():
    said = []

    async def bare():
        said.append("bare")

    async def folkmoot():
        said.append("folkmoot")

    await compare(bare, folkmoot, runs=2, rounds=2)

    assert said == ["bare", "bare", "folkmoot", "folkmoot"] * 2


def test_the_middle_round_speaks_for_all():
    rounds = [Round(3.0, 1.0, 2.0), Round(1.0, 9.0, 2.0), Round(2.0, 5.0, 2.0)]

    assert median_of(rounds) == Side(2.0, 5.0, 2.0)


def test_growth_is_the_cost_of_the_last_turns_over_that_of_the_first():
    turns = scenes.LONG_TURNS
    even = [float(number) for number in range(turns)]
    doubling = [number if number < turns / 2 else 2.0 * number for number in range(turns)]

    assert growth(even) == 1.0
    assert growth(doubling) == 2.0
