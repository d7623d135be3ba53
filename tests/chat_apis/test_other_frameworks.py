"""Agents of other frameworks that use an agent of ours: as their model, through each door, and as a tool."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import agents
import pytest
from agents import OpenAIChatCompletionsModel
from anthropic import AsyncAnthropic
from openai import AsyncOpenAI
from pydantic_ai import Agent
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.models import Model
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.models.test import TestModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider

from tests.chat_apis.serving import Server


@asynccontextmanager
async def through_anthropic(server: Server) -> AsyncIterator[Model]:
    async with AsyncAnthropic(base_url=server.address, api_key="none") as client:
        yield AnthropicModel("guide", provider=AnthropicProvider(anthropic_client=client))


@asynccontextmanager
async def through_chat(server: Server) -> AsyncIterator[Model]:
    async with AsyncOpenAI(base_url=server.base, api_key="none") as client:
        yield OpenAIChatModel("guide", provider=OpenAIProvider(openai_client=client))


@asynccontextmanager
async def through_responses(server: Server) -> AsyncIterator[Model]:
    async with AsyncOpenAI(base_url=server.base, api_key="none") as client:
        yield OpenAIResponsesModel("guide", provider=OpenAIProvider(openai_client=client))


@pytest.mark.parametrize("door", [through_chat, through_responses, through_anthropic])
async def test_an_agent_of_pydantic_ai_has_one_of_ours_for_its_model_which_calls_its_tool(
    server: Server, door
):
    """Issue 8: whole and streamed, in one conversation."""
    looked = []

    def get_weather(city: str) -> str:
        """The weather of a city."""
        looked.append(city)
        return f"rain in {city}"

    async with door(server) as model:
        agent = Agent(model, instructions="Speak of the weather.", tools=[get_weather])
        first = await agent.run("Do I need an umbrella?")
        async with agent.run_stream("And a hat?", message_history=first.all_messages()) as streamed:
            second = await streamed.get_output()

    assert (first.output, second, looked) == ("Take an umbrella.", "No hat.", ["Bonn"])
    assert first.usage.requests == 2


async def test_an_agent_of_pydantic_ai_has_one_of_ours_for_a_tool(server: Server):
    """Through `/mcp`."""
    agent = Agent(TestModel(call_tools=["desk"]), toolsets=[MCPToolset(f"{server.address}mcp")])
    said = await agent.run("When do you open?")

    assert "Hello." in said.output


@pytest.mark.parametrize("kind", [OpenAIChatCompletionsModel, agents.OpenAIResponsesModel])
async def test_an_agent_of_openais_framework_has_one_of_ours_for_its_model(server: Server, kind):
    looked = []

    @agents.function_tool
    def get_weather(city: str) -> str:
        """The weather of a city."""
        looked.append(city)
        return f"rain in {city}"

    async with AsyncOpenAI(base_url=server.base, api_key="none") as client:
        model = kind(model="guide", openai_client=client)
        agent = agents.Agent(name="Traveller", instructions="Travel.", model=model, tools=[get_weather])
        untold = agents.RunConfig(tracing_disabled=True)
        said = await agents.Runner.run(agent, "Do I need an umbrella?", run_config=untold)

    assert (said.final_output, looked) == ("Take an umbrella.", ["Bonn"])
