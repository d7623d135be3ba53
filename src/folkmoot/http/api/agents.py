"""Agents: which there are, what each is, and what it has to do."""

from __future__ import annotations

from typing import Any

import msgspec

from folkmoot.domain.agent import Agent
from folkmoot.engine.admission import document, summary
from folkmoot.errors import Problem
from folkmoot.http.endpoint import Asked, Document, Endpoint
from folkmoot.http.requests import Page, Part, part
from folkmoot.views.graph import mermaid

_OF_FIRST = {"id": "$response.body#/0/id"}
_OF_THIS = {"id": "$response.body#/id"}


class AgentSummary(msgspec.Struct):
    id: str
    type: str
    capabilities: list[str]
    tools: list[str]
    status: str
    file: str
    description: str
    terminal: bool


class Edge(msgspec.Struct):
    source: str
    target: str
    pattern: str


class GraphDocument(msgspec.Struct):
    nodes: list[AgentSummary]
    edges: list[Edge]
    """By the files of the agents."""
    mermaid: str
    problems: list[Problem]
    """What is wrong in the files as they are now; the server goes on with those that it began with."""


async def list_agents(asked: Asked) -> Part:
    graph = asked.moot.graph
    rows = [summary(graph, agent) for agent in graph.agents.values()]
    return part(rows, asked.query, lambda row: str(row["id"]))


async def show_agent(asked: Asked) -> dict[str, Any]:
    return document(asked.moot.graph, agent_of(asked))


async def show_graph(asked: Asked) -> GraphDocument:
    graph = asked.moot.graph
    nodes = [msgspec.convert(summary(graph, agent), AgentSummary) for agent in graph.agents.values()]
    edges = [Edge(file, to, how) for file, agent in graph.agents.items() for how, to in agent.edges]
    return GraphDocument(nodes, edges, mermaid(graph), list((await asked.house.files_now()).problems))


async def list_problems(asked: Asked) -> list[Problem]:
    return list((await asked.house.files_now()).problems)


def agent_of(asked: Asked) -> Agent:
    return asked.moot.agent(asked.id)


OPERATIONS = (
    Endpoint(
        method="GET",
        path="/agents",
        summary="All agents of the project",
        handle=list_agents,
        query=Page,
        answer=list[AgentSummary],
        links={"showAgent": _OF_FIRST, "agentTasks": _OF_FIRST, "currentTask": _OF_FIRST},
    ),
    Endpoint(
        method="GET",
        path="/agents/{id}",
        summary="One agent: whom it works with, its tools, models and limits",
        handle=show_agent,
        answer=Document,
        links={"agentTasks": _OF_THIS, "taskHistory": _OF_THIS, "agentPlans": _OF_THIS},
    ),
    Endpoint(
        method="GET",
        path="/agents/{id}/info",
        summary="The same under its older name",
        handle=show_agent,
        name="agentInfo",
        answer=Document,
    ),
    Endpoint(
        method="GET",
        path="/graph",
        summary="Which agents work with which, and how",
        handle=show_graph,
        answer=GraphDocument,
    ),
    Endpoint(
        method="GET",
        path="/problems",
        summary="What is wrong in the files of the project",
        handle=list_problems,
        answer=list[Problem],
    ),
)
