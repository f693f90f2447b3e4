#!/usr/bin/env python3
"""Counts the jobs that are done, beside others that do; compares and sets, so that no count is lost."""

import sys

import statectl

with statectl.connect(*sys.argv[1:]) as machine:
    while True:
        state = machine.get()
        done = state.data["done"] + 1
        try:
            machine.update(done=done, if_seq=state.seq)
            break
        except statectl.Conflict:
            continue  # somebody was faster: look again
    print(done)
