#!/usr/bin/env python3
"""A light that follows the state, and is dark while that is unknown."""

import sys

import statectl

COLOURS = {"ready": "green", "busy": "yellow", "failed": "red"}


def show(colour: str) -> None:
    print(colour, flush=True)  # your light


with statectl.connect(*sys.argv[1:], wait=True) as machine:
    for it in machine.watch(latest=True):
        if isinstance(it, (statectl.State, statectl.Change)):
            colour = COLOURS.get(it.state, "white")
        show("dark" if isinstance(it, statectl.Gone) else colour)
