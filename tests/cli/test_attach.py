"""`folkmoot run --attach`."""

from tests.files import PDF, PNG

SEES = {
    "clerk": {
        "rules": [{"when": "/attached: bill.pdf.*\\n.*attached: parcel.png/", "report": "It is right."}],
        "default": "nothing there",
    }
}


def test_files_go_with_the_request(folkmoot):
    """Issue 8: image and document parts pass through."""
    folkmoot.write({"clerk": ""}, SEES)
    (folkmoot.folder / "bill.pdf").write_bytes(PDF)
    (folkmoot.folder / "parcel.png").write_bytes(PNG)

    done = folkmoot("run", "clerk.ai", "Is it right?", "--attach", "bill.pdf", "--attach", "parcel.png")

    assert (done.code, done.out) == (0, "It is right.\n")


def test_what_cannot_be_attached_is_said_before_anything_is_asked_or_made(folkmoot):
    folkmoot.write({"clerk": ""}, SEES)
    (folkmoot.folder / "a.zip").write_bytes(b"PK\0")

    missing = folkmoot("run", "clerk.ai", "Is it right?", "--attach", "bill.pdf")
    wrong = folkmoot("run", "clerk.ai", "Is it right?", "--attach", "a.zip")

    assert (missing.code, missing.out) == (2, "")
    assert "'bill.pdf' cannot be attached: No such file or directory" in missing.err
    assert (wrong.code, wrong.out) == (2, "")
    assert "a.zip is nothing that a model reads; taken are PNG, JPEG" in wrong.err
    assert not (folkmoot.folder / ".folkmoot").exists()
