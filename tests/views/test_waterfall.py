from hypothesis import given
from hypothesis import strategies as st

from folkmoot.views.waterfall import FOLDED, WIDTH, Axis, axis


def test_an_idle_time_of_more_than_a_fifth_is_folded_and_named():
    scale = axis([(0.0, 18.0), (348.0, 357.0)], 357.0)

    assert scale.folds == ((18.0, 348.0),)
    (gap,) = scale.gaps()
    assert gap[1:] == (FOLDED, "idle 5 m 30 s")
    assert scale.x(348.0) - scale.x(18.0) == FOLDED
    assert scale.x(357.0) == WIDTH


def test_a_short_pause_is_drawn_as_it_is():
    assert axis([(0.0, 4.0), (5.0, 10.0)], 10.0) == Axis(10.0)


def test_ticks_stand_at_whole_times_and_none_in_a_fold():
    scale = axis([(0.0, 18.0), (348.0, 357.0)], 357.0)

    assert [words for _, words in scale.ticks()] == ["0 s", "5 s", "10 s", "15 s", "5 m 50 s", "5 m 55 s"]


@given(
    st.lists(st.tuples(st.floats(0, 1e5), st.floats(0, 1e4)), min_size=1, max_size=30),
    st.lists(st.floats(0, 2e5), min_size=2, max_size=20),
)
def test_what_is_later_never_stands_further_left(bursts, moments):
    """Whatever is folded: times keep their order, within the width."""
    ordered = sorted((start, start + took) for start, took in bursts)
    scale = axis(ordered, max(end for _, end in ordered) + 1.0)

    places = [scale.x(moment) for moment in sorted(moments)]

    assert places == sorted(places)
    assert all(0 <= place <= WIDTH + 0.01 for place in places)
