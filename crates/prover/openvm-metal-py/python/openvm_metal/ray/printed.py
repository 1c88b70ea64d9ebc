"""Where the text goes that a guest prints."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO


@contextmanager
def to_stderr() -> Iterator[TextIO]:
    """Meanwhile what a guest prints goes to standard error: the virtual machine in this process writes to descriptor 1. Gives what standard
    output was."""
    try:
        is_descriptor = sys.stdout.fileno() == 1
    except (OSError, ValueError):  # A notebook's, or that of a test.
        is_descriptor = False
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        if is_descriptor:
            with open(kept, "w", encoding=sys.stdout.encoding, errors=sys.stdout.errors, closefd=False) as out:
                yield out
        else:
            yield sys.stdout
    finally:
        # What others wrote to the same buffer.
        sys.stdout.flush()
        os.dup2(kept, 1)
        os.close(kept)
