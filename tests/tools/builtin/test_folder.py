"""No path leads out of the working folder."""

import ctypes
import os
import socket
import threading
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest

from folkmoot.tools.builtin.files import look, parts_of, read_file, write_file
from folkmoot.tools.functions import Refused
from tests.tools.builtin.using import Using

SECRET = "a secret"
LARGEST = 1_000


@pytest.fixture
def outside(tmp_path):
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "secret.txt").write_text(SECRET)
    return folder


@pytest.fixture
def inside(tmp_path, outside):
    folder = tmp_path / "work"
    (folder / "sub").mkdir(parents=True)
    (folder / "sub/file.txt").write_text("inside")
    (folder / "link").symlink_to(outside)
    (folder / "file-link").symlink_to(outside / "secret.txt")
    (folder / "inner-link").symlink_to("sub")
    return folder


def everything(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in sorted(folder.rglob("*")) if path.is_file()}


ESCAPES = [
    "../outside/secret.txt",
    "sub/../../outside/secret.txt",
    "{outside}/secret.txt",
    "~/secret.txt",
    "link/secret.txt",
    "file-link",
    "inner-link/file.txt",
    "sub/./../x",
    "a\0b",
]


@pytest.mark.parametrize("path", ESCAPES)
async def test_no_path_leads_out_of_the_working_folder(inside, outside, path):
    """D-34: neither reading, writing, editing, listing nor searching."""
    path = path.format(outside=outside)
    before = everything(outside)
    using = Using(inside)

    for tool, more in {
        "files.read": {},
        "files.write": {"content": "taken over"},
        "files.edit": {"old": SECRET, "new": "taken over"},
        "files.list": {},
        "files.search": {"text": "secret"},
    }.items():
        assert SECRET not in await using.refusal(tool, path=path, **more)

    assert everything(outside) == before
    assert (inside / "file-link").is_symlink()


def try_while(swap, inside):
    """Write and read `sub/file.txt` again and again while another thread swaps things, until both was refused and done."""
    done = threading.Event()

    def go_on():
        while not done.is_set():
            swap()

    swapper = threading.Thread(target=go_on)
    swapper.start()
    seen = Counter()
    try:
        while len(seen) < 3 or seen.total() < 500:
            try:
                write_file(inside, "sub/file.txt", b"inside")
                seen["written"] += 1
            except Refused:
                seen["refused"] += 1
            with suppress(Refused):
                assert read_file(inside, "sub/file.txt", LARGEST) == b"inside"
                seen["read"] += 1
    finally:
        done.set()
        swapper.join()


def test_a_folder_swapped_for_a_link_between_check_and_use_gives_nothing_away(inside, outside):
    """D-34: what is opened decides. The folder and a link are exchanged in one step, all the time."""
    (outside / "file.txt").write_text(SECRET)
    places = bytes(inside / "sub"), -100, bytes(inside / "link")

    try_while(lambda: ctypes.CDLL(None).renameat2(-100, *places, 2), inside)

    assert everything(outside) == {"file.txt": SECRET, "secret.txt": SECRET}


def test_a_file_swapped_for_a_link_is_replaced_and_not_written_through(inside, outside):
    """D-34."""

    def swap():
        fresh = inside / "fresh"
        fresh.symlink_to(outside / "secret.txt")
        fresh.rename(inside / "sub/file.txt")
        fresh.write_text("inside")
        fresh.rename(inside / "sub/file.txt")

    try_while(swap, inside)

    assert everything(outside) == {"secret.txt": SECRET}


def test_a_fifo_a_socket_and_a_device_are_refused_at_once(inside, monkeypatch):
    """D-34: opening a FIFO that nobody writes to would wait for ever."""
    monkeypatch.chdir(inside)  # the path of a socket must be short
    os.mkfifo(inside / "fifo")
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind("socket")
    kinds = {each.path: each.kind for each in look(inside, ".", deep=False)}

    for name in ("fifo", "socket"):
        assert kinds[name] == name
        with pytest.raises(Refused, match="no regular file"):
            read_file(inside, name, LARGEST)
        with pytest.raises(Refused, match="no regular file"):
            write_file(inside, name, b"x")


def test_a_file_that_was_opened_and_is_a_device_is_refused():
    """D-34."""
    with pytest.raises(Refused, match="no regular file"):
        read_file(Path("/dev"), "null", LARGEST)


@pytest.mark.parametrize("path", [".folkmoot/folkmoot.db", "sub/.FOLKMOOT/x", ".folkmoot"])
def test_what_belongs_to_the_runtime_is_neither_read_nor_written(path):
    """D-34: the journal holds what other runs said."""
    for writing in (False, True):
        with pytest.raises(Refused, match="belongs to the runtime"):
            parts_of(path, writing=writing)


@pytest.mark.parametrize(
    "path", [".git/hooks/pre-commit", "sub/.Git/config", "desk.ai", "sub/x.AI", "folkmoot.yaml"]
)
def test_what_runs_code_or_says_what_agents_may_do_is_not_written(inside, path):
    """D-34, O-21: files grant, models only narrow."""
    with pytest.raises(Refused):
        write_file(inside, path, b"x")

    assert not (inside / path).exists()
    parts_of(path)


def test_a_write_is_whole_or_nothing_and_keeps_the_permissions(inside):
    (inside / "run.sh").write_text("old")
    (inside / "run.sh").chmod(0o755)

    write_file(inside, "run.sh", b"new")
    write_file(inside, "a/b/c.txt", b"deep")

    assert (inside / "run.sh").stat().st_mode & 0o777 == 0o755
    assert (inside / "a/b/c.txt").read_text() == "deep"
    with pytest.raises(Refused, match="is a folder"):
        write_file(inside, "sub", b"x")
    assert sorted(path.name for path in inside.iterdir() if path.name.endswith(".new")) == []


def test_a_file_beyond_the_limit_is_not_read(inside):
    (inside / "large").write_bytes(b"x" * (LARGEST + 1))

    with pytest.raises(Refused, match="1,001 bytes, more than 1,000"):
        read_file(inside, "large", LARGEST)
