"""The page about the API is true: its commands are given to a server, and it answers what is shown."""

import re
import shlex

import aiohttp

from checks.files import ROOT
from folkmoot import Folkmoot, Surroundings
from folkmoot.cli.main import main
from folkmoot.http.server import run_server
from folkmoot.http.state import ServerOptions, ServerState

PLAYED = re.compile(r"^\$ curl (.+)\n(.+)$", re.MULTILINE)
SERVER = "http://127.0.0.1:8484"


def pattern(shown: str) -> re.Pattern[str]:
    return re.compile(re.escape(shown).replace(r"\.\.\.", ".*"), re.DOTALL)


async def answer(session: aiohttp.ClientSession, base: str, command: str) -> str:
    words = shlex.split(command)
    url = next(word for word in words if word.startswith(SERVER)).replace(SERVER, base.rstrip("/"))
    headers = dict(words[place + 1].split(": ") for place, word in enumerate(words) if word == "-H")
    data = words[words.index("-d") + 1] if "-d" in words else None
    async with session.request("POST" if data else "GET", url, data=data, headers=headers) as response:
        return await response.text()


async def test_the_commands_of_the_page_give_what_it_shows(tmp_path):
    main(["init", str(tmp_path / "desk")])
    commands = PLAYED.findall((ROOT / "docs" / "http.md").read_text())

    async with (
        Folkmoot.open(tmp_path / "desk", around=Surroundings(env={})) as moot,
        aiohttp.ClientSession() as session,
    ):
        house = ServerState(moot=moot, door=ServerOptions(port=0))
        async with run_server(house) as base:
            for command, shown in commands:
                said = await answer(session, base, command)
                assert pattern(shown).fullmatch(said), f"{command}\n{said}"
                if '"running"' in shown and (task := house.room.task("50de9c26eb0a51e4e4b9")):
                    await task

    assert len(commands) == 13
