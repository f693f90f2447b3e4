"""What only the asyncio face can get wrong: many writers, cancels, loops, and what nobody has any longer."""

import asyncio
import contextlib
import gc
import json
import threading
import warnings

import pytest

import statectl
from conftest import BOUND, Fake

STATE = {"type": "reply", "ok": True, "seq": 1, "state": "ready", "data": {}, "at": "2026-11-20T21:55:03.120007Z", "cursor": "a:1"}


def connect(daemon, **keys):
    return statectl.aio.connect(runtime_directory=daemon.directory, **keys)


def run(awaitable):
    return asyncio.run(asyncio.wait_for(awaitable, BOUND))


async def turns(number):
    for _ in range(number):
        await asyncio.sleep(0)


async def until(condition):
    """Other tasks, and the daemon, have their turns meanwhile."""
    while not condition():
        await asyncio.sleep(0.001)


# Writing


def test_two_thousand_requests_at_once_are_all_answered(daemon):
    async def main():
        async with connect(daemon) as machine:
            return await asyncio.gather(*(machine.get() for _ in range(2000)))

    assert [state.seq for state in run(main())] == [0] * 2000


class Slow:
    """A daemon that reads when it is told to, and keeps what it has read."""

    def __init__(self):
        self.may_read = threading.Event()
        self.lines = []

    def __call__(self, fake, sock, lines):
        assert self.may_read.wait(BOUND)
        for line in lines:
            self.lines.append(line)
            with contextlib.suppress(ValueError):
                sock.sendall(json.dumps({**STATE, "id": json.loads(line)["id"]}).encode() + b"\n")


def test_lines_are_whole_and_in_order_and_a_cancel_takes_back_what_is_not_sent(fake):
    slow = Slow()
    daemon = fake(slow)

    async def main():
        async with connect(daemon) as machine:
            tasks = [asyncio.ensure_future(machine.set("busy", n=n, title="x" * 30_000)) for n in range(100)]
            waits = [asyncio.ensure_future(machine.wait("failed", since="a:1")) for _ in range(2)]
            await turns(5)
            # The socket has room for some of these, and holds a part of one.
            for task in [*tasks[::2], waits[0]]:
                task.cancel()
            await turns(5)
            slow.may_read.set()
            await asyncio.gather(*tasks, *waits, return_exceptions=True)
            return [task.cancelled() for task in tasks]

    cancelled = run(main())
    assert cancelled == [number % 2 == 0 for number in range(100)]
    requests = [json.loads(line) for line in slow.lines]
    assert [line["id"] for line in requests] == sorted(line["id"] for line in requests)
    sent = [line["n"] for line in (line.get("data", {}) for line in requests) if line]
    assert [number for number in sent if number % 2] == list(range(1, 100, 2))
    assert len([number for number in sent if number % 2 == 0]) < 25, "what was taken back was sent"
    assert [line["op"] for line in requests].count("wait") == 1


def test_what_a_stopped_daemon_does_not_read_was_not_carried_out(fake):
    slow = Slow()
    daemon = fake(slow)

    async def main():
        async with connect(daemon, timeout=0.3) as machine:
            tasks = [asyncio.ensure_future(machine.set("busy", title="x" * 60_000)) for _ in range(20)]
            return await asyncio.gather(*tasks, return_exceptions=True)

    said = [str(error) for error in run(main())]
    slow.may_read.set()
    assert "it is not known whether the set was carried out" in said[0]
    # That one is still here.
    assert "it is not known" not in said[-1]


# The end of holds and guards


@pytest.mark.parametrize("turn", range(8))
@pytest.mark.parametrize("kind", ["hold", "guard", "slow guard", "machine"])
def test_whatever_interrupts_an_end_nothing_is_left(daemon, kind, turn):
    async def ask(question):
        try:
            await asyncio.sleep(BOUND)
        finally:
            if kind == "slow guard":
                await asyncio.sleep(1)

    async def main():
        machine = await connect(daemon)
        entered, leave = asyncio.Event(), asyncio.Event()

        async def hold():
            if kind == "machine":
                await machine.hold("failed").__aenter__()
                await machine.guard("paused", ask).__aenter__()
                entered.set()
                try:
                    await leave.wait()
                finally:
                    await machine.close()
                return
            async with machine.hold("busy") if kind == "hold" else machine.guard("busy", ask, timeout=BOUND):
                if kind == "slow guard":
                    asking = asyncio.ensure_future(machine.set("busy"))
                    while not any(row.get("isAsked") for row in (await machine.stats())["guards"]):
                        pass
                    asking.cancel()
                entered.set()
                await leave.wait()

        task = asyncio.ensure_future(hold())
        await entered.wait()
        leave.set()
        await turns(turn)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        # While this loop still runs, and whatever becomes of it.
        await until(lambda: not {"holds", "guards"} & set(daemon.ask("stats")))
        await machine.close()

    run(main())


class Odd(BaseException):
    pass


@pytest.mark.parametrize("failure", [StopIteration, StopAsyncIteration, asyncio.CancelledError, GeneratorExit, Odd])
@pytest.mark.parametrize("is_async", [False, True])
def test_a_guard_goes_on_whatever_its_ask_raises(daemon, failure, is_async):
    def ask(question):
        raise failure

    async def ask_apart(question):
        await asyncio.sleep(0)
        raise failure

    async def main():
        async with connect(daemon) as machine:
            async with machine.guard("busy", ask_apart if is_async else ask, timeout=BOUND) as guard:
                for _ in range(2):
                    with pytest.raises(statectl.Denied):
                        await machine.set("busy")
                    # A coroutine cannot raise a StopIteration, and whoever is cancelled is another.
                    with pytest.raises((RuntimeError, StopAsyncIteration, Odd)):
                        await guard.serve(BOUND)
            assert guard.lost == 0

    run(main())


def test_a_guard_whose_task_ends_is_gone_and_serve_says_so(daemon):
    async def main():
        async with connect(daemon) as machine:
            before = asyncio.all_tasks()
            with pytest.raises(statectl.Error, match="this guard is gone: its task was cancelled"):
                async with machine.guard("busy", lambda question: "no", timeout=BOUND, required="door") as guard:
                    (asyncio.all_tasks() - before).pop().cancel()
                    with pytest.raises(statectl.Error, match="this guard is gone"):
                        await guard.serve(BOUND)
                    await until(lambda: all(row.get("missing") for row in daemon.ask("stats")["guards"]))
                    with pytest.raises(statectl.Denied):
                        await machine.set("busy")
            await machine.release(required="door")

    run(main())


def test_a_loop_that_ends_ends_a_question_that_is_open(daemon):
    async def ask(question):
        await asyncio.sleep(BOUND)

    async def main():
        machine = await connect(daemon)
        await machine.guard("busy", ask, timeout=BOUND).__aenter__()
        asyncio.ensure_future(machine.set("busy"))
        while not any(row.get("isAsked") for row in (await machine.stats())["guards"]):
            pass

    # asyncio says of a connection that a program has not closed that it was not closed.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        run(main())
        gc.collect()
    while "guards" in daemon.ask("stats"):
        pass


# Loops


def test_a_machine_of_another_loop_connects_again(daemon):
    async def one():
        machine = await connect(daemon)
        hold, watch = machine.hold("failed"), machine.watch()
        await hold.__aenter__()
        assert (await watch.__anext__()).seq == 0
        return machine, hold, watch

    async def other(machine, hold, watch):
        assert (await machine.get()).state == "ready"
        assert (await machine.set("busy")).changed
        assert (await machine.wait("busy", timeout=BOUND)).seq == 1
        assert (await watch.__anext__()).seq == 1
        states = await asyncio.gather(*(machine.get() for _ in range(10)))
        assert {state.seq for state in states} == {1}
        await hold.close()
        # What the first loop has never closed has ended too.
        await until(lambda: "holds" not in daemon.ask("stats"))
        await machine.close()
        assert len(daemon.ask("stats")["connections"]) == 1

    first = asyncio.new_event_loop()
    try:
        left = first.run_until_complete(one())
        run(other(*left))
        # It is told what has become of its connections.
        first.run_until_complete(turns(10))
        assert not asyncio.all_tasks(first)
    finally:
        first.close()


# What nobody has any longer


def test_what_nobody_has_any_longer_is_closed(daemon):
    async def main():
        async def leave():
            machine = await connect(daemon)
            await machine.hold("busy").__aenter__()
            await machine.guard("failed", lambda question: True).__aenter__()
            watch = machine.watch()
            await watch.__anext__()
            assert len(daemon.ask("stats")["connections"]) == 5

        before = asyncio.all_tasks()
        await leave()
        gc.collect()
        await until(lambda: len(daemon.ask("stats")["connections"]) == 1)
        await turns(5)
        assert asyncio.all_tasks() == before

    run(main())


# Many


def test_a_machine_may_wait_a_hundred_times_at_once(daemon):
    async def main():
        async with connect(daemon) as machine:
            waits = [asyncio.ensure_future(machine.wait("busy", timeout=BOUND)) for _ in range(100)]
            await until(lambda: sum(row["waits"] for row in daemon.ask("stats")["connections"]) == 100)
            waits.pop().cancel()
            await machine.set("busy")
            assert {(await wait).matched for wait in waits} == {"busy"}
            # What was opened for that is closed again.
            await until(lambda: len(daemon.ask("stats")["connections"]) == 2)
            assert (await machine.get()).seq == 1

    run(main())


def test_waits_that_a_restart_interrupts_leave_each_others_connection(daemon):
    async def main():
        async with connect(daemon) as machine:
            waits = [asyncio.ensure_future(machine.wait("busy", timeout=BOUND)) for _ in range(40)]
            await until(lambda: sum(row["waits"] for row in daemon.ask("stats")["connections"]) == 40)
            daemon.kill()
            daemon.start()
            await until(lambda: sum(row["waits"] for row in daemon.ask("stats")["connections"]) == 40)
            # Those that ask by hand are as many as they are; the machine's are two.
            assert len(daemon.ask("stats")["connections"]) == 3
            await machine.set("busy")
            assert {(await wait).matched for wait in waits} == {"busy"}

    run(main())
