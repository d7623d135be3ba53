"""A small documentation."""

from pathlib import Path

from folkmoot.site.pages import Documentation, read_documentation

CONTENTS = """# Documentation

Read this first.

## First hour

- [Begin](begin.md): a project
  that runs

## Look up

- [Keys of `a.yaml`](reference/keys.md)

## How to read

Slowly. See [examples](../examples/desk).
"""
BEGIN = """# Beginning

## Ask & answer

See [the keys](reference/keys.md#the-key-size), and [above](#ask--answer).

<!-- file: desk/a.yaml -->
```yaml
size: 2 # <b>
```

| Word | Meaning |
|---|---|
| size | how much |

<script>alert(1)</script>

## Ask & answer

Twice.
"""
KEYS = "# Keys\n\n## The key `size`\n\nSee [the beginning](../begin.md) and [a site](https://a.example).\n"


def shelf(folder: Path, **pages: str) -> Documentation:
    """Its pages, some of them replaced: `begin="# …"`."""
    texts = {"README.md": CONTENTS, "begin.md": BEGIN, "reference/keys.md": KEYS}
    texts |= {f"{name.replace('__', '/')}.md": text for name, text in pages.items()}
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return read_documentation(folder)
