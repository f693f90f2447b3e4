#!/usr/bin/env python3
"""Is asked before maintenance, and says no while there is unsaved work."""

import pathlib
import sys
from typing import Union

import statectl

UNSAVED = pathlib.Path("unsaved")


def may_it(question: statectl.Question) -> Union[bool, str]:
    return "there is unsaved work" if UNSAVED.exists() else True


with statectl.connect(*sys.argv[1:]) as machine:
    with machine.guard(before="maintenance", ask=may_it, why="the editor") as guard:
        guard.serve()
