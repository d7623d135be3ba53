"""What models say, on its way to whoever listens: without secrets, and apart from the rest if it is the report."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from folkmoot.domain.secrets import Secrets
from folkmoot.orchestration.invocation import Ear
from folkmoot.ports import Hear
from folkmoot.session.steps import Ask


def listening(ear: Ear, secrets: Secrets, span: str) -> Callable[[Ask], Hear]:
    """How the attempts of the session at this span are heard."""

    def begin(ask: Ask) -> Hear:
        listeners: list[Hear] = [partial(ear.everything, span)]
        if ask.aloud and ear.report:
            listeners.append(ear.report())
        concealed = secrets.in_pieces()

        def hear(piece: str) -> None:
            if shown := concealed(piece):
                for listener in listeners:
                    listener(shown)

        return hear

    return begin
