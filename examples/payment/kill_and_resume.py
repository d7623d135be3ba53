"""Kills a run after the bank has booked its payment and before the run knows, resumes it, and counts the bookings."""

import os
import subprocess
import sys
import time
from pathlib import Path

PROJECT = Path(__file__).parent
BOOK = PROJECT / "payments.csv"
FOLKMOOT = Path(sys.executable).with_name("folkmoot")


def main() -> int:
    BOOK.unlink(missing_ok=True)
    folkmoot("trust", ".", "--yes", stderr=subprocess.DEVNULL).wait()
    show('$ folkmoot run cashier.ai "Pay invoice 77."')
    run = folkmoot("run", "cashier.ai", "Pay invoice 77.", stderr=subprocess.PIPE, BANK_SECONDS="60")
    for line in run.stderr or ():
        show(line.decode().rstrip())
        if b"bank__pay" in line:
            break
    while not requests() and run.poll() is None:
        time.sleep(0.01)
    run.kill()
    run.wait()
    show("\n*** kill -9: the bank has booked the payment, the run has not heard of it ***\n")
    show("$ folkmoot runs resume last")
    code = folkmoot("runs", "resume", "last").wait()
    booked = sum(request.endswith(",booked") for request in requests())
    show(f"\nThe bank got {len(requests())} requests with one key and booked {booked}.")
    return code or int(booked != 1)


def folkmoot(*arguments: str, stderr: int | None = None, **variables: str) -> subprocess.Popen[bytes]:
    """The program of this environment, in this project; what is allowed here is kept here."""
    env = os.environ | variables | {"FOLKMOOT_STATE": str(PROJECT / ".folkmoot")}
    return subprocess.Popen(
        [FOLKMOOT, *arguments], cwd=PROJECT, env=env, stdin=subprocess.DEVNULL, stderr=stderr
    )


def requests() -> list[str]:
    return BOOK.read_text().splitlines() if BOOK.exists() else []


def show(text: str) -> None:
    print(text, flush=True)  # before what the program prints next


if __name__ == "__main__":
    sys.exit(main())
