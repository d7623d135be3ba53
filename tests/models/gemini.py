"""What Google's API says, for a server on loopback that the real `google-genai` library speaks to."""

from pathlib import Path
from typing import Any

from folkmoot.domain.settings import Provider
from folkmoot.models.choose import ProviderModels
from tests.models.provider import KEY

MODEL = "gemini-3.8-flash"


def said(*parts: dict[str, Any], finish: str | None = "STOP", **usage: int) -> dict[str, Any]:
    """One answer, or one piece of a stream."""
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": list(parts)}, "index": 0}
    if finish:
        candidate["finishReason"] = finish
    counted = {"promptTokenCount": 10, "candidatesTokenCount": 3, "totalTokenCount": 13, **usage}
    return {"candidates": [candidate], "usageMetadata": counted, "modelVersion": MODEL, "responseId": "r-1"}


def text(words: str) -> dict[str, Any]:
    return {"text": words}


def calling(tool: str, /, **arguments: Any) -> dict[str, Any]:
    return {"functionCall": {"name": tool, "args": arguments}}


def refused(status: int, message: str, word: str = "INTERNAL", **more: Any) -> dict[str, Any]:
    return {"error": {"code": status, "message": message, "status": word, **more}}


def gemini_models(port: int, **more: Any) -> ProviderModels:
    provider = Provider(
        "pydantic-ai", f"http://127.0.0.1:{port}", "FAKE_KEY", **{"provider": "google", **more}
    )
    return ProviderModels({"fake": provider}, {"FAKE_KEY": KEY}, Path())
