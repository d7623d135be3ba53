"""Foreign text in a prompt, fenced so that it cannot pass for an instruction or for another block."""

from __future__ import annotations

from collections.abc import Sequence

from folkmoot.domain.draw import draw
from folkmoot.domain.errand import Block


def enveloped(original: str, blocks: Sequence[Block], *, seed: str, span: str, fence: bool = False) -> str:
    """The request alone if nothing was added to it, unless `fence`; otherwise a block for it and for each addition.

    Without a request it is the next message of a conversation that began with one: the blocks alone.
    """
    if not blocks and not (fence and original):
        return original
    every = (Block("original_user_request", original), *blocks) if original else (*blocks,)
    said = "\n".join(block.text for block in every)
    return "\n".join(_fenced(block, _nonce(said, seed, span, n)) for n, block in enumerate(every))


def _fenced(block: Block, nonce: str) -> str:
    mark = f"{block.tag}__{nonce}"
    said_by = f' agent="{block.agent}"' if block.agent else ""
    stamp = f' runtime="{block.runtime}"' if block.runtime else ""
    return f"<{mark}{said_by}{stamp}>\n{block.text}\n</{mark}>"


def _nonce(said: str, seed: str, span: str, number: int) -> str:
    """Drawn again while it occurs in what is said: nobody can close a block from inside."""
    again = 0
    while (nonce := draw(seed, span, "nonce", number, again)) in said:
        again += 1
    return nonce
