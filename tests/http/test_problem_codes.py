"""Which status and which help an error has: by its class and code, never by its words."""

import pytest

from folkmoot.errors import Conflict, DeclarationError, Held, NotFound, OperationFailed, Problem, WrongUse
from folkmoot.http.problems import HttpError, as_bad_request, status_of


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (NotFound("reworded", code="run_not_found"), 404),
        (WrongUse("there is no run 'x', one might think"), 409),
        (Held("r", "here"), 409),
        (Conflict("x"), 409),
        (HttpError(413, "too large"), 413),
        (DeclarationError([Problem(file="a.ai", message="x")]), 422),
        (OperationFailed("x"), 503),
    ],
)
def test_the_status_follows_from_the_kind_of_error(error, status):
    assert status_of(error) == status


def test_a_refused_input_keeps_its_code_and_what_is_unknown_stays_unknown():
    with pytest.raises(HttpError) as refused, as_bad_request():
        raise WrongUse("name one", code="ambiguous_id")
    assert (refused.value.status, refused.value.code) == (400, "ambiguous_id")

    with pytest.raises(NotFound), as_bad_request():
        raise NotFound("reworded", code="task_not_found")
