"""The promised Python surface."""

import folkmoot


def test_these_names_are_promised_and_no_others():
    assert folkmoot.__all__ == [
        "DeclarationError",
        "FakeClock",
        "Folkmoot",
        "FolkmootError",
        "Fork",
        "MemoryJournal",
        "Result",
        "ScriptedModel",
        "Surroundings",
        "Untrusted",
        "WrongUse",
        "tool",
    ]
    assert all(hasattr(folkmoot, name) for name in folkmoot.__all__)
