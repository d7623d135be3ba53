"""The clock of the server, which moves when told."""

from folkmoot.domain.settings import Storage
from tests.postgres_server import PostgresServer


class ServerTime:
    def __init__(self, server: PostgresServer, storage: Storage) -> None:
        self._server = server
        self._function = f'"folkmoot_{storage.project}".moment()'
        self._now = 1_000.0

    @property
    def now(self) -> float:
        return self._now

    @now.setter
    def now(self, now: float) -> None:
        self.set(now)

    def set(self, now: float) -> None:
        self._now = now
        self._define(f"{now}::float8")

    def step(self, seconds: float) -> None:
        """Let the clock run on from another time, as after a fail-over."""
        self._define(f"extract(epoch FROM clock_timestamp())::float8 + {seconds}")

    def _define(self, time: str) -> None:
        self._server.query(
            f"CREATE OR REPLACE FUNCTION {self._function} RETURNS float8 LANGUAGE sql AS 'SELECT {time}'"
        )
