"""What a restart, a crash and a vanished client look like, in both faces."""

import asyncio
import gc
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import threading

import pytest

import statectl
from conftest import BOUND, MACHINE, Daemon, Fake

# A hundred kills take some ten seconds each face.
KILLS = int(os.environ.get("STATECTL_KILLS", "10"))
STATE = {"type": "reply", "ok": True, "seq": 1, "state": "ready", "data": {}, "at": "2026-11-20T21:55:03.120007Z", "cursor": "a:1"}


def test_a_watch_lives_over_crashes_and_shows_each_change_once(machine, daemon):
    watch = machine.watch()
    assert next(watch).seq == 0
    seen, signs = [], []
    made = 0
    for _ in range(KILLS):
        daemon.change(2)
        made += 2
        daemon.kill()
        daemon.start()
        daemon.change(1)
        made += 1
        while not seen or seen[-1] < made:
            item = next(watch)
            if isinstance(item, statectl.Change):
                seen.append(item.seq)
            else:
                assert isinstance(item, (statectl.Gone, statectl.Back)), item
                signs.append(type(item))
    assert seen == list(range(1, made + 1))
    assert signs == [statectl.Gone, statectl.Back] * KILLS


def test_what_a_daemon_without_history_forgets_is_a_gap(face):
    daemon = Daemon(MACHINE, keeps=False)
    try:
        with face.connect(runtime_directory=daemon.directory) as machine:
            watch = machine.watch()
            next(watch)
            daemon.change(3)
            assert [next(watch).seq for _ in range(3)] == [1, 2, 3]
            daemon.stop()
            assert next(watch).reason
            daemon.start()
            assert isinstance(next(watch), statectl.Back)
            assert next(watch) == statectl.Gap(None, "restarted")
            assert next(watch).seq == 0
    finally:
        daemon.end()


def test_a_cursor_is_no_condition_of_another_numbering_as_a_number_is(face):
    daemon = Daemon(MACHINE, keeps=False)
    try:
        with face.connect(runtime_directory=daemon.directory) as machine:
            before = machine.set("busy")
            daemon.stop()
            daemon.start()
            now = machine.set("paused")
            assert (now.seq, now.stay) == (before.seq, before.stay)
            for stale in ({"if_seq": before.cursor}, {"if_stay": before.stay_cursor}):
                with pytest.raises(statectl.Conflict):
                    machine.set("ready", **stale)
            again = machine.set("busy", if_seq=now.cursor)
            updated = machine.update(tries=1, if_seq=again.cursor)
            assert updated.cursor != updated.stay_cursor == again.cursor
            assert machine.set("ready", if_stay=updated.stay_cursor).changed
            assert machine.set("busy", if_seq=machine.get().seq).changed
    finally:
        daemon.end()


def test_changes_that_are_no_longer_kept_are_a_gap_with_their_number(face):
    daemon = Daemon(MACHINE, "--ring-changes", "16", keeps=False)
    try:
        with face.connect(runtime_directory=daemon.directory) as machine:
            cursor = machine.get().cursor
            daemon.change(40)
            watch = machine.watch(since=cursor)
            assert next(watch) == statectl.Gap(40, "evicted")
            state = next(watch)
            assert isinstance(state, statectl.State) and state.seq == 40
            daemon.change(1)
            assert next(watch).seq == 41
    finally:
        daemon.end()


def test_a_request_opens_a_closed_connection_again_silently(machine, daemon):
    assert machine.get().seq == 0
    for end in (daemon.kill, daemon.stop):
        end()
        daemon.start()
        seq = machine.get().seq
        end()
        daemon.start()
        assert machine.set("busy", title=str(seq)).changed
        machine.set("ready")


def test_without_a_daemon_a_request_says_so(machine, daemon):
    machine.get()
    daemon.kill()
    with pytest.raises(statectl.Unreachable, match=daemon.directory):
        machine.get()
    with pytest.raises(statectl.Unreachable):
        next(machine.watch())
    with pytest.raises(statectl.Unreachable):
        machine.wait("ready", timeout=1)
    daemon.start()
    assert machine.get().seq == 0


def test_the_fate_of_a_set_under_way_is_said_to_be_unknown(face, fake):
    daemon = fake(Fake.saying(STATE, b"", then=lambda sock: None), Fake.saying(STATE))
    with face.connect(runtime_directory=daemon.directory) as machine:
        machine.get()
        with pytest.raises(statectl.Disconnected, match="it is not known whether the set was carried out") as lost:
            machine.set("busy")
        assert isinstance(lost.value, ConnectionError) and not isinstance(lost.value, statectl.Refused)
        assert machine.get().seq == 1
    assert [request["op"] for request in daemon.requests] == ["get", "set", "get"]


def test_what_only_reads_is_asked_again_once(face, fake):
    daemon = fake(Fake.saying(STATE, b"", then=lambda sock: None), Fake.saying(STATE), Fake.saying(STATE))
    with face.connect(runtime_directory=daemon.directory) as machine:
        assert machine.get().seq == machine.get().seq == 1
    assert [request["op"] for request in daemon.requests] == ["get", "get", "get"]


def test_a_daemon_that_does_not_answer_is_given_up(face, fake):
    daemon = fake(Fake.saying())
    with face.connect(runtime_directory=daemon.directory, timeout=0.1) as machine:
        for call in (machine.get, lambda: machine.set("busy")):
            with pytest.raises(statectl.NoAnswer, match="no answer within 0.1 s") as silent:
                call()
            assert isinstance(silent.value, TimeoutError) and isinstance(silent.value, statectl.Disconnected)
        with pytest.raises(statectl.NoAnswer):
            machine.history()


def test_a_wait_ends_at_its_time_though_nobody_answers(face, daemon):
    with face.connect(runtime_directory=daemon.directory, timeout=0.2) as machine:
        machine.get()
        daemon.signal(signal.SIGSTOP)
        with pytest.raises(statectl.Timeout):
            machine.wait("busy", timeout=0.5)
        daemon.signal(signal.SIGCONT)


def test_silence_is_gone(face, daemon, monkeypatch):
    monkeypatch.setattr("statectl._wire.SILENCE_SECONDS", 0.5)
    monkeypatch.setattr("statectl._wire.BEAT_SECONDS", 0.2)
    with face.connect(runtime_directory=daemon.directory) as machine:
        watch = machine.watch(idle=1.5)
        next(watch)
        # Beats keep it.
        assert isinstance(next(watch), statectl.Idle)
        daemon.signal(signal.SIGSTOP)
        assert next(watch) == statectl.Gone("the daemon has said nothing for 0.5 s")
        daemon.signal(signal.SIGCONT)
        items = [next(watch)]
        while isinstance(items[-1], statectl.Idle):
            items.append(next(watch))
        assert isinstance(items[-1], statectl.Back)


def test_silence_is_gone_though_the_loop_is_idle_more_often(face, fake, monkeypatch):
    monkeypatch.setattr("statectl._wire.SILENCE_SECONDS", 0.2)
    daemon = fake(Fake.saying(), Fake.saying(json.dumps({**STATE, "type": "state"}).encode() + b"\n"))
    with face.connect(runtime_directory=daemon.directory) as machine:
        watch = machine.watch(idle=0.05)
        first = next(watch)
        while isinstance(first, statectl.Idle):
            first = next(watch)
        assert first.seq == 1
        # Forty times 0.05 s.
        items = [next(watch)]
        while isinstance(items[-1], statectl.Idle) and len(items) < 40:
            items.append(next(watch))
        assert items[-1] == statectl.Gone("the daemon has said nothing for 0.2 s")


def test_a_wait_lives_over_a_restart_and_misses_nothing(face, daemon):
    """In another thread, so that the daemon can be killed meanwhile; the machine is that thread's."""
    results, begun = [], threading.Event()

    def wait():
        if face.name == "aio":
            async def main():
                async with statectl.aio.connect(runtime_directory=daemon.directory) as machine:
                    await machine.get()
                    begun.set()
                    results.append(await machine.wait("failed", timeout=BOUND))

            asyncio.run(main())
        else:
            with statectl.connect(runtime_directory=daemon.directory) as machine:
                machine.get()
                begun.set()
                results.append(machine.wait("failed", timeout=BOUND))

    thread = threading.Thread(target=wait)
    thread.start()
    assert begun.wait(BOUND)
    while not any(row["waits"] for row in daemon.ask("stats")["connections"]):
        pass
    daemon.kill()
    # Before the waiter can be back: what it waits for has passed by then.
    daemon.start()
    daemon.ask("set failed")
    daemon.ask("set ready")
    thread.join(BOUND)
    assert results[0].seq == 1 and results[0].matched == "failed"


# Holds


def test_a_hold_keeps_states_away_until_its_end(machine, daemon):
    with machine.hold(before="busy", why="deploying 2.1") as hold:
        assert hold.number and hold.held and hold.lost == 0
        with pytest.raises(statectl.Denied) as denied:
            machine.set("busy")
        assert denied.value.by[0]["why"] == "deploying 2.1" and denied.value.by[0]["hold"] == hold.number
    # Released, and not only about to be.
    assert machine.set("busy").changed
    with pytest.raises(KeyError):
        with machine.hold(before="ready"):
            raise KeyError
    assert machine.set("ready").changed


def test_a_hold_waits_for_the_state_to_be_another_once_it_is_taken(machine, daemon):
    machine.set("busy")
    with pytest.raises(statectl.Timeout):
        with machine.hold(before="busy", when_not="busy", timeout=0.05):
            raise AssertionError("it is busy")
    assert "holds" not in machine.stats()
    watcher = threading.Thread(target=finish_when_held, args=(daemon,))
    watcher.start()
    with machine.hold(before=["busy", "failed"], when_not=["busy", "paused"], timeout=BOUND):
        assert machine.get().state == "ready"
        with pytest.raises(statectl.Denied):
            machine.set("failed")
    watcher.join(BOUND)


def finish_when_held(daemon):
    while "holds" not in daemon.ask("stats"):
        pass
    daemon.ask("send stop")


def test_a_delaying_hold_lets_go_after_its_time(machine):
    with machine.hold("busy", mode="delay", max=0.05):
        assert machine.set("busy").changed


def test_a_hold_is_taken_again_after_a_crash(machine, daemon):
    with machine.hold(before="busy", why="deploying") as hold:
        daemon.kill()
        daemon.start()
        machine.get()
        if hasattr(machine, "_face"):
            # Of asyncio: its own task takes it.
            while not hold.held or not hold.lost:
                machine.get()
        assert hold.lost == 1 and hold.held
        assert [row["why"] for row in machine.stats()["holds"] if not row.get("away")] == ["deploying"]
        with pytest.raises(statectl.Denied):
            machine.set("busy")
    machine.set("busy")


def test_a_hold_that_was_lost_says_so_within_and_after(face, daemon):
    with face.connect(runtime_directory=daemon.directory) as machine:
        with machine.hold(before="busy") as hold:
            daemon.kill()
            daemon.start()
            if face.name == "blocking":
                # Nothing was asked of the machine meanwhile, as in a body that runs a command.
                assert hold.lost == 1 and hold.held
        assert hold.lost == 1
        with machine.hold(before="busy") as hold:
            daemon.kill()
        assert hold.lost == 1


class Interrupted(Exception):
    pass


@pytest.fixture
def interruption(monkeypatch):
    """What a fake daemon does to interrupt whoever waits for it."""

    def interrupt(number, frame):
        raise Interrupted

    before = signal.signal(signal.SIGUSR1, interrupt)
    yield lambda sock: os.kill(os.getpid(), signal.SIGUSR1) or sock.recv(1)
    signal.signal(signal.SIGUSR1, before)


def test_an_interrupted_call_leaves_a_machine_that_works(fake, interruption):
    daemon = fake(Fake.saying(b"", then=interruption), Fake.saying(STATE, b"", then=interruption), Fake.saying(STATE))
    with statectl.connect(runtime_directory=daemon.directory) as machine:
        with pytest.raises(Interrupted):
            machine.get()
        with pytest.raises(Interrupted):
            machine.wait("busy")
        assert machine.get().seq == 1


def test_a_guard_serves_for_a_month(fake, interruption):
    daemon = fake(Fake.saying(), Fake.saying({"type": "reply", "ok": True, "guard": 1}, then=interruption))
    with statectl.connect(runtime_directory=daemon.directory, timeout=3e6) as machine:
        with pytest.raises(Interrupted):
            with machine.guard("busy", lambda question: True) as guard:
                guard.serve(3e6)


def test_an_interrupted_program_lets_go_of_its_hold(daemon):
    script = """
import signal, statectl, sys
# A check that runs in the background has it ignored, and so have its children.
signal.signal(signal.SIGINT, signal.default_int_handler)
with statectl.connect(runtime_directory=sys.argv[1]) as m:
    with m.hold(before="busy"):
        print("held", flush=True)
        m.wait("failed")
"""
    program = subprocess.Popen([sys.executable, "-c", script, daemon.directory], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               env={**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(statectl.__file__))})
    assert program.stdout.readline() == b"held\n"
    program.send_signal(signal.SIGINT)
    _, errors = program.communicate(timeout=BOUND)
    assert errors.rstrip().endswith(b"KeyboardInterrupt") and b"During handling" not in errors
    assert "holds" not in daemon.ask("stats")


# Guards


def test_a_guard_is_asked_within_serve_wait_and_watch(daemon):
    asked = []

    def ask(question):
        asked.append(question)
        return True if question.to.state == "busy" else "no " + question.to.state

    with statectl.connect(runtime_directory=daemon.directory) as machine:
        with machine.guard(["busy", "failed"], ask, timeout=BOUND) as guard:
            answers = []
            for serve in (
                lambda: guard.serve(1), lambda: machine.wait("paused", timeout=BOUND), lambda: until(machine.watch("ready"), "ready")
            ):
                other = threading.Thread(target=others, args=(daemon, answers))
                other.start()
                serve()
                other.join(BOUND)
                assert not other.is_alive()
            assert [answer["error"] for answer in answers] == ["denied"] * 3
            assert answers[0]["by"][0]["why"] == "no failed"
        assert "guards" not in machine.stats()
    first = asked[0]
    assert (first.state, first.to.state, first.to.data) == ("ready", "failed", {"why": "x"}) and first.by.uid == os.getuid()
    assert 0 < first.left <= BOUND


def others(daemon, answers):
    answers.append(daemon.ask("set failed why=x"))
    daemon.ask("set busy")
    daemon.ask("set paused")
    daemon.ask("set ready")


def until(watch, state):
    for item in watch:
        if isinstance(item, statectl.Change) and item.state == state:
            watch.close()
            return


def test_a_guard_of_asyncio_is_asked_by_a_task(daemon):
    async def main():
        asked = []

        async def ask(question):
            asked.append(question.to.state)
            await asyncio.sleep(0)
            return "not now"

        async with statectl.aio.connect(runtime_directory=daemon.directory) as machine:
            async with machine.guard(before="busy", ask=ask, timeout=BOUND):
                with pytest.raises(statectl.Denied) as denied:
                    await machine.set("busy")
                assert denied.value.by[0]["why"] == "not now" and asked == ["busy"]
            async with machine.guard(before="busy", ask=lambda question: True, timeout=BOUND):
                assert (await machine.set("busy")).changed

    asyncio.run(asyncio.wait_for(main(), BOUND))


@pytest.mark.parametrize("answer, kind, why", [
    (lambda question: 1 / 0, ZeroDivisionError, "ZeroDivisionError"), (lambda question: None, TypeError, "TypeError"),
    (lambda question: "é" * 200, None, "é" * 128), (lambda question: False, None, "ask me"),
])
def test_a_guard_that_raises_says_no_and_serve_raises(daemon, answer, kind, why):
    refused = []
    with statectl.connect(runtime_directory=daemon.directory) as machine:
        with machine.guard("busy", answer, timeout=BOUND, why="ask me") as guard:
            other = threading.Thread(target=lambda: refused.append(daemon.ask("set busy")))
            other.start()
            if kind is None:
                while not refused:
                    guard.serve(0.05)
            else:
                with pytest.raises(kind):
                    guard.serve(BOUND)
            other.join(BOUND)

    async def main():
        async with statectl.aio.connect(runtime_directory=daemon.directory) as machine:
            async with machine.guard("busy", answer, timeout=BOUND, why="ask me") as guard:
                with pytest.raises(statectl.Denied) as denied:
                    await machine.set("busy")
                refused.append(denied.value.answer)
                if kind is not None:
                    with pytest.raises(kind):
                        await guard.serve(BOUND)
                else:
                    await guard.serve(0)
            if kind is not None:
                with pytest.raises(kind):
                    async with machine.guard("busy", answer, timeout=BOUND):
                        with pytest.raises(statectl.Denied):
                            await machine.set("busy")

    asyncio.run(asyncio.wait_for(main(), BOUND))
    assert [answer["by"][0]["why"] for answer in refused] == [why, why]


def test_a_guard_answers_on_after_what_it_asks_was_cancelled(daemon):
    async def main():
        async def ask(question):
            other = asyncio.ensure_future(asyncio.sleep(BOUND))
            other.cancel()
            await other

        async with statectl.aio.connect(runtime_directory=daemon.directory) as machine:
            async with machine.guard("busy", ask, timeout=BOUND) as guard:
                for _ in range(2):
                    with pytest.raises(statectl.Denied):
                        await machine.set("busy")
                    with pytest.raises(RuntimeError, match="ask was cancelled"):
                        await guard.serve(BOUND)

    asyncio.run(asyncio.wait_for(main(), BOUND))


def test_a_guard_that_says_nothing_counts_as_it_was_told(daemon):
    with statectl.connect(runtime_directory=daemon.directory) as machine:
        with machine.guard("busy", lambda question: True, timeout=0.05, on_timeout="deny"):
            answers = []
            other = threading.Thread(target=lambda: answers.append(daemon.ask("set busy")))
            other.start()
            other.join(BOUND)
            assert answers[0]["error"] == "denied"
        with machine.guard("busy", lambda question: "no", timeout=0.05):
            assert daemon.ask("set busy")["changed"]


def test_a_required_guard_is_missed_until_it_is_released(machine, daemon):
    with machine.guard("busy", lambda question: True, required="door", timeout=BOUND):
        pass
    with pytest.raises(statectl.Denied) as denied:
        machine.set("busy")
    assert denied.value.by[0]["required"] == "door"
    machine.release(required="door")
    assert machine.set("busy").changed


def test_a_guard_is_there_again_after_a_crash(daemon):
    with statectl.connect(runtime_directory=daemon.directory) as machine:
        with machine.guard("busy", lambda question: "still no", timeout=BOUND) as guard:
            daemon.kill()
            daemon.start()
            while not guard.lost or guard.number is None:
                guard.serve(0.05)
            answers = []
            other = threading.Thread(target=lambda: answers.append(daemon.ask("set busy")))
            other.start()
            while not answers:
                guard.serve(0.05)
            other.join(BOUND)
            assert answers[0]["by"][0]["why"] == "still no" and guard.lost == 1


def test_a_guard_that_is_lost_each_time_is_not_taken_in_a_hot_loop(face, fake):
    daemon = fake(
        Fake.saying(STATE), Fake.saying({"type": "reply", "ok": True, "guard": 1}, then=lambda sock: None)
    )
    if face.name == "aio":
        async def main():
            async with statectl.aio.connect(runtime_directory=daemon.directory) as machine:
                async with machine.guard("busy", lambda question: True) as guard:
                    await guard.serve(1)
                    return guard.lost

        lost = asyncio.run(main())
    else:
        # The first connection is the one of `connect`.
        with face.connect(runtime_directory=daemon.directory) as machine:
            with machine.guard("busy", lambda question: True) as guard:
                guard.serve(1)
                lost = guard.lost
    # 0, 0.1, 0.3, 0.7 seconds, somewhat more or less.
    assert lost <= 6


# Processes, threads, descriptors


def test_after_a_fork_the_child_has_connections_of_its_own(daemon):
    with statectl.connect(runtime_directory=daemon.directory) as machine:
        watch = machine.watch()
        next(watch)
        with machine.hold(before="busy", why="the parent's"):
            child = os.fork()
            if child == 0:
                try:
                    ok = machine.get().state == "ready" and machine.set("paused").changed
                    machine.close()
                    os._exit(0 if ok else 1)
                finally:
                    os._exit(2)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
            assert next(watch).state == "paused"
            assert [row["why"] for row in machine.stats()["holds"]] == ["the parent's"]
            with pytest.raises(statectl.Denied):
                machine.set("busy")
        assert machine.set("busy").changed


def test_a_child_ends_no_hold_of_its_parents_by_leaving(daemon):
    with statectl.connect(runtime_directory=daemon.directory) as machine:
        is_child = False
        with machine.hold(before="busy"):
            child = os.fork()
            is_child = child == 0
            if not is_child:
                os.waitpid(child, 0)
                with pytest.raises(statectl.Denied):
                    machine.set("busy")
        if is_child:
            os._exit(0)


def test_two_threads_at_once_are_told(daemon):
    with statectl.connect(runtime_directory=daemon.directory) as machine:
        machine.get()
        slow = daemon_guard(daemon)
        thread = threading.Thread(target=lambda: machine.set("busy"))
        thread.start()
        while not any(row.get("isAsked") for row in daemon.ask("stats").get("guards", [])):
            pass
        with pytest.raises(RuntimeError, match="connect once in each thread"):
            machine.get()
        slow.close()
        thread.join(BOUND)


def daemon_guard(daemon):
    """A guard by hand that does not vote before it is closed."""
    import socket

    sock = socket.socket(socket.AF_UNIX)
    sock.connect(daemon.directory + "/control.sock")
    sock.sendall(b'{"op":"guard","before":["busy"],"timeoutMs":60000}\n')
    sock.recv(4096)
    return sock


def test_nothing_is_left_behind(daemon):
    def files():
        gc.collect()
        return sorted(os.listdir("/proc/self/fd"))

    def blocking():
        with statectl.connect(runtime_directory=daemon.directory) as machine:
            for _ in machine.watch():
                break
            with machine.hold("busy"), machine.guard("failed", lambda question: True):
                machine.get()
            left = machine.watch()
            next(left)
        machine = statectl.connect(runtime_directory=daemon.directory)
        del machine

    async def aio():
        async with statectl.aio.connect(runtime_directory=daemon.directory) as machine:
            async for _ in machine.watch():
                break
            async with machine.hold("busy"), machine.guard("failed", lambda question: True):
                await machine.get()
            left = machine.watch()
            await left.__anext__()
            waiting = asyncio.ensure_future(machine.wait("failed"))
            await machine.get()
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            while any(row["waits"] for row in (await machine.stats())["connections"]):
                pass
        machine = await statectl.aio.connect(runtime_directory=daemon.directory)
        await machine.close()
        assert asyncio.all_tasks() == {asyncio.current_task()}

    before, threads = files(), threading.active_count()
    for _ in range(3):
        blocking()
        asyncio.run(aio())
    assert files() == before and threading.active_count() == threads


# Many


def count(directory, number, ready, how):
    with statectl.connect(runtime_directory=directory) as machine:
        ready.set()
        counted = 0
        while counted < number:
            try:
                if how == "add":
                    machine.update(add={"tries": 1})
                else:
                    state = machine.get()
                    machine.update(tries=state.data["tries"] + 1, if_seq=state.seq)
                counted += 1
            except (statectl.Unreachable, statectl.Conflict):
                pass
            except (statectl.Disconnected, statectl.ShuttingDown) as error:
                # Its fate is not known: what is answered is counted, what is not may be there or not.
                print(type(error).__name__, flush=True)


@pytest.mark.parametrize("how, many, each", [("add", 8, 250), ("compare", 2, 100)])
def test_processes_count_over_crashes_and_nothing_answered_is_lost(how, many, each):
    daemon = Daemon()
    try:
        daemon.ask("set busy")
        context = multiprocessing.get_context("fork")
        flags = [context.Event() for _ in range(many)]
        processes = [context.Process(target=count, args=(daemon.directory, each, flag, how)) for flag in flags]
        for process in processes:
            process.start()
        for flag in flags:
            assert flag.wait(BOUND)
        with statectl.connect(runtime_directory=daemon.directory) as machine:
            for part in (many * each // 4, many * each // 2, many * each * 3 // 4):
                for item in machine.watch("busy"):
                    if isinstance(item, (statectl.State, statectl.Change)) and item.data["tries"] >= part:
                        break
                daemon.kill()
                daemon.start()
        for process in processes:
            process.join(4 * BOUND)
            assert process.exitcode == 0
        tries = daemon.ask("get")["data"]["tries"]
        # One for each process and crash may have been carried out and not answered.
        assert many * each <= tries <= many * each + 3 * many
    finally:
        for process in processes:
            process.kill()
        daemon.end()


def test_two_hundred_watches_of_asyncio_see_each_change_once(daemon):
    async def follow(machine, begun):
        seen = []
        async for item in machine.watch():
            if isinstance(item, statectl.Change):
                seen.append(item.seq)
                if item.state == "failed":
                    return seen
            else:
                assert isinstance(item, statectl.State)
                begun.release()

    async def main():
        begun = asyncio.Semaphore(0)
        async with statectl.aio.connect(runtime_directory=daemon.directory) as machine:
            tasks = [asyncio.ensure_future(follow(machine, begun)) for _ in range(200)]
            for _ in range(200):
                await begun.acquire()
            for number in range(50):
                await machine.set("busy", tries=number)
            await machine.set("failed")
            return await asyncio.gather(*tasks)

    assert asyncio.run(asyncio.wait_for(main(), 2 * BOUND)) == [list(range(1, 52))] * 200


def test_many_tasks_share_one_connection(daemon):
    async def main():
        async with statectl.aio.connect(runtime_directory=daemon.directory) as machine:
            await machine.get()
            before = (await machine.stats())["counters"]["accepted"]
            states = await asyncio.gather(*(machine.get() for _ in range(300)))
            waits = [asyncio.ensure_future(machine.wait("failed", timeout=BOUND)) for _ in range(20)]
            await machine.get()
            await machine.set("failed")
            for wait in waits:
                assert (await wait).state == "failed"
            assert (await machine.stats())["counters"]["accepted"] == before
            return states

    assert all(state.seq == 0 for state in asyncio.run(asyncio.wait_for(main(), BOUND)))


def test_who_follows_a_shared_machine_waits_until_it_is_known_where_that_is(face, fake):
    unknown = {"type": "reply", "ok": False, "error": "unavailable", "message": "no quorum has answered"}
    by = {"host": "a", "uid": 7, "pid": 8}
    state = json.dumps({**STATE, "type": "state", "by": by}).encode() + b"\n"
    daemon = fake(Fake.saying(), Fake.saying(unknown), Fake.saying(unknown), Fake.saying(state))
    with face.connect(runtime_directory=daemon.directory) as machine:
        watch = machine.watch()
        first = next(watch)
        assert isinstance(first, statectl.State) and (first.seq, first.by.host) == (1, "a")
    daemon = fake(Fake.saying(unknown), Fake.saying(unknown), Fake.saying(STATE, STATE))
    with face.connect(runtime_directory=daemon.directory) as machine:
        assert machine.wait("ready").seq == 1
    unsure = {**unknown, "unsure": True}
    daemon = fake(Fake.saying(unsure, STATE, unknown))
    with face.connect(runtime_directory=daemon.directory) as machine:
        with pytest.raises(statectl.Unavailable) as raised:
            machine.set("ready")
        assert raised.value.is_unsure
        assert machine.get(fresh=True).seq == 1
        with pytest.raises(statectl.Unavailable) as raised:
            machine.get(fresh=True)
        assert not raised.value.is_unsure
    assert daemon.requests[-1] == {"op": "get", "fresh": True, **({"id": daemon.requests[-1]["id"]} if "id" in daemon.requests[-1] else {})}
