"""When somebody waits for somebody else."""

import asyncio


async def waits_for_a_lock(postgres) -> None:
    """Return when a session waits for one."""
    async with asyncio.timeout(60):
        while not await asyncio.to_thread(
            postgres.query, "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
        ):
            pass
