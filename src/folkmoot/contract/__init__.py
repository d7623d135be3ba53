"""The published guarantees C1 to C7, each checked by a fold over what a journal holds; `verify` drives them."""
