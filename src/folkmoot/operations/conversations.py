"""Operations on conversations: what main agents said to each other, as threads with turns."""

from __future__ import annotations

from typing import Annotated

from folkmoot.domain.naming import CONVERSATION, LAST
from folkmoot.operations.actor import Actor
from folkmoot.operations.operation import Http, Operation, OperationType, Spelling
from folkmoot.operations.project import OpenProject
from folkmoot.views.conversations import Conversation

All = Annotated[bool, Spelling(help="Also what agents had others do for them.")]


class ListConversations(Operation[list[Conversation]]):
    """List the conversations between main agents, newest last."""

    command = "list"
    examples = (
        "folkmoot conversations list",
        "folkmoot conversations list --all --json",
        "folkmoot conversations list --live",
    )
    http = Http(
        method="GET",
        path="/conversations",
        row_id="conversation_id",
        links={"showConversation": "$response.body#/0/conversationId"},
    )
    reads = True
    all: All = False

    async def run(self, project: OpenProject, actor: Actor) -> list[Conversation]:
        threads = (await project.host.threads(delegated=self.all)).values()
        return sorted(threads, key=lambda thread: thread.last_at)


class ShowConversation(Operation[Conversation]):
    """Show one conversation, turn by turn, with the beginnings of what was said.

    The whole texts stand in the runs: `folkmoot runs show RUN`.
    """

    command = "show"
    examples = (
        "folkmoot conversations show",
        "folkmoot conversations show conv_1a2b3c --json",
        "folkmoot conversations show last --live",
    )
    http = Http(method="GET", path="/conversations/{id}")
    subject = "id"
    reads = True
    id: Annotated[
        str, Spelling(terminal="CONVERSATION", http=False, help="Its id, the beginning of one, or `last`.")
    ] = LAST
    all: All = False

    async def run(self, project: OpenProject, actor: Actor) -> Conversation:
        threads = await ListConversations(all=self.all).run(project, actor)
        known = {thread.conversation_id: thread for thread in threads}
        return known[CONVERSATION.resolve(known, self.id)]


OPERATIONS: tuple[OperationType, ...] = (ListConversations, ShowConversation)
