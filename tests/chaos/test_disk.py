"""The disk of the power cuts, rebuilt from system calls that are written by hand."""

import random

import pytest

from chaos.disk import Disk


def hexed(text):
    return "".join(f"\\x{byte:02x}" for byte in text.encode())


class Trace:
    """Calls as strace writes them down."""

    def __init__(self, folder, place):
        self.folder = folder
        self.place = place
        self.lines = []

    def call(self, name, path, arguments, result="0"):
        self.lines.append(f"7 {name}(5<{hexed(f'{self.folder}/{path}')}>{arguments}) = {result}")

    def create(self, path):
        named = hexed(f"{self.folder}/{path}")
        self.lines.append(f'7 openat(AT_FDCWD<{hexed("/")}>, "{named}", O_RDWR|O_CREAT, 0600) = 5<{named}>')

    def sync_folder(self, result="0"):
        self.lines.append(f"7 fsync(5<{hexed(str(self.folder))}>) = {result}")

    def write(self, path, text, offset=0):
        self.call("pwrite64", path, f', "{hexed(text)}", {len(text)}, {offset}', str(len(text)))

    def images(self, count=40):
        """What the file `a` holds in many images after the last call; None where it is missing."""
        trace = self.place / "trace"
        trace.write_text("\n".join(self.lines) + "\n")
        disk, dice = Disk(self.folder), random.Random(1)
        for _ in disk.replay(trace):
            pass
        found = set()
        for number in range(count):
            target = self.place / f"image-{number}"
            target.mkdir()
            disk.image(target, dice)
            file = target / "a"
            found.add(file.read_text() if file.exists() else None)
        return found


@pytest.fixture
def trace(tmp_path):
    return Trace(tmp_path / "project", tmp_path)


def test_what_was_synced_is_there_and_what_was_written_since_may_be(trace):
    trace.create("a")
    trace.sync_folder()
    trace.write("a", "one")
    trace.call("fdatasync", "a", "")
    trace.write("a", "two", 3)

    assert trace.images() == {"one", "onetwo", "one\0\0\0"}


def test_a_name_whose_folder_was_never_synced_may_be_missing(trace):
    trace.create("a")
    trace.write("a", "one")
    trace.call("fdatasync", "a", "")

    assert trace.images() == {None, "one"}


def test_a_sync_that_failed_makes_nothing_certain(trace):
    trace.create("a")
    trace.sync_folder("-1 EIO (Input/output error)")

    assert None in trace.images()


def test_a_large_write_may_be_torn_between_sectors(trace):
    trace.create("a")
    trace.sync_folder()
    trace.write("a", "x" * 512 + "y" * 512)

    found = trace.images(200)
    assert {"", "x" * 512 + "y" * 512, "x" * 512 + "\0" * 512, "\0" * 512 + "y" * 512} <= found


def test_a_call_that_another_thread_interrupted_is_put_together(trace):
    trace.create("a")
    trace.sync_folder()
    path = hexed(f"{trace.folder}/a")
    trace.lines += [
        f'7 pwrite64(5<{path}>, "{hexed("one")}", 3, 0 <unfinished ...>',
        "8 fdatasync(6<> <unfinished ...>",
        "7 <... pwrite64 resumed>) = 3",
        f"7 fdatasync(5<{path}>) = 0",
    ]

    assert trace.images() == {"one"}
