"""How tests have agents write to each other."""

ANN, BOB = "tools: [messages]\ndescription: asks", "description: knows the law"


def write(to: str, message: str = "what now?", **more: str) -> dict:
    return {"tool": "a2a_send", "arguments": {"to": to, "message": message, **more}}


def have(to: str, message: str = "count them", **more: str) -> dict:
    return {"tool": "a2a_spawn", "arguments": {"to": to, "message": message, **more}}


def tell(message: str = "stand up", **more: object) -> dict:
    return {"tool": "a2a_broadcast", "arguments": {"message": message, **more}}


def calls(*calls: dict) -> dict:
    return {"calls": list(calls)}
