"""What this door does not do: call clients back, and cards that only some may see."""

from __future__ import annotations

from typing import NoReturn

from a2a.server.context import ServerCallContext
from a2a.utils.errors import ExtendedAgentCardNotConfiguredError, PushNotificationNotSupportedError


class WithoutNotifications:
    async def on_create_task_push_notification_config(
        self, params: object, context: ServerCallContext
    ) -> NoReturn:
        raise PushNotificationNotSupportedError("follow the task with SubscribeToTask instead")

    async def on_get_task_push_notification_config(
        self, params: object, context: ServerCallContext
    ) -> NoReturn:
        raise PushNotificationNotSupportedError

    async def on_list_task_push_notification_configs(
        self, params: object, context: ServerCallContext
    ) -> NoReturn:
        raise PushNotificationNotSupportedError

    async def on_delete_task_push_notification_config(
        self, params: object, context: ServerCallContext
    ) -> NoReturn:
        raise PushNotificationNotSupportedError

    async def on_get_extended_agent_card(self, params: object, context: ServerCallContext) -> NoReturn:
        raise ExtendedAgentCardNotConfiguredError
