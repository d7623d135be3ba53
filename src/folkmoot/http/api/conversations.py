"""Conversations: what main agents said to each other, as threads with turns."""

from __future__ import annotations

from folkmoot.errors import NotFound
from folkmoot.http.endpoint import Asked, Endpoint
from folkmoot.http.requests import Given, Page, Part, part
from folkmoot.views.conversations import Conversation


class ConversationsQuery(Page):
    all: bool = False
    """Also what agents had others do for them."""


class ConversationQuery(Given):
    all: bool = False
    """Also one in which agents had others do something for them."""


async def list_conversations(asked: Asked) -> Part:
    """The newest last."""
    threads = sorted((await _threads(asked)).values(), key=lambda thread: thread.last_at)
    return part(threads, asked.query, lambda thread: thread.conversation_id)


async def show_conversation(asked: Asked) -> Conversation:
    if found := (await _threads(asked)).get(asked.id):
        return found
    raise NotFound(f"there is no conversation {asked.id!r}", code="conversation_not_found")


async def _threads(asked: Asked) -> dict[str, Conversation]:
    folds = await asked.house.folds.now()
    return (folds.delegated if asked.query.all else folds.conversations).threads


OPERATIONS = (
    Endpoint(
        method="GET",
        path="/conversations",
        summary="What agents said to each other",
        handle=list_conversations,
        query=ConversationsQuery,
        answer=list[Conversation],
        links={"showConversation": {"id": "$response.body#/0/conversationId"}},
    ),
    Endpoint(
        method="GET",
        path="/conversations/{id}",
        summary="One conversation, turn by turn",
        handle=show_conversation,
        query=ConversationQuery,
        answer=Conversation,
    ),
)
