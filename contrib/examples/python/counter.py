#!/usr/bin/env python3
"""Counts a job that is done, beside others that do, over crashes of the daemon too: each job once."""

import sys
import time
import uuid

import statectl

with statectl.connect(*sys.argv[1:], wait=True) as machine:
    mine, is_sure = uuid.uuid4().hex, True
    while True:
        try:
            state = machine.get()
            if not is_sure and (made := machine.history(cause=mine)):
                print(made[0].data["done"])  # it was carried out, and its answer lost
            else:
                print(machine.update(done=state.data["done"] + 1, if_seq=state.cursor, cause=mine).data["done"])
            break
        except statectl.Conflict:
            continue  # somebody was faster: look again
        except (ConnectionError, statectl.ShuttingDown):
            is_sure = False  # Disconnected, or Unreachable until it is back
            time.sleep(0.1)
