"""Every operation once: what it takes, what it does and how each interface spells it."""
