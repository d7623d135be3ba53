"""What people say in a scenario to what a run asks them: what it lists, otherwise what was said in the recorded run."""

from __future__ import annotations

from collections.abc import Sequence

from folkmoot.domain.entry import Draft
from folkmoot.domain.inbox_events import ApprovalApproved, ApprovalDenied, QuestionAnswered
from folkmoot.domain.item import Item, Reply
from folkmoot.scenarios.matching import is_tool
from folkmoot.scenarios.scenario import Word


class Answers:
    def __init__(self, words: Sequence[Word], past: Sequence[Draft] = ()) -> None:
        self._words = list(words)
        self._past = past

    async def __call__(self, item: Item) -> Reply | None:
        fitting = [word for word in self._words if _is_for(word, item)]
        if not fitting:
            return self._recorded(item)
        word = fitting[0]
        if len(fitting) > 1:
            self._words.remove(word)
        if item.kind == "question":
            return item.answer(word.answer)
        return item.deny(word.reason) if word.deny else item.approve()

    def _recorded(self, item: Item) -> Reply | None:
        for draft in self._past:
            match draft.event:
                case QuestionAnswered(id=item.id, text=text, by=by):
                    return item.answer(text, by)
                case ApprovalApproved(id=item.id, by=by, scope=scope):
                    return item.approve(by, scope)
                case ApprovalDenied(id=item.id, reason=reason, by=by):
                    return item.deny(reason, by)
        return None


def _is_for(word: Word, item: Item) -> bool:
    if item.kind == "question":
        return bool(word.answer) and word.to.casefold() in item.question.casefold()
    return item.kind == "approval" and is_tool(word.approve or word.deny, item.tool)
