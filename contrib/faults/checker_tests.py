#!/usr/bin/env python3
"""Whether the checker finds what it is for: each thing that must not be, made on purpose."""
import json
import unittest

from checker import DONE, REFUSED, Seen, Set, happened, violations


def seen():
    """Three sets of two hosts, of which one is unsure and was made, as both hosts show it; and one that was refused."""
    sets = [Set("one", "a", 0, 1, DONE, 1), Set("two", "b", 2, 3, DONE, 2), Set("three", "a", 2.5), Set("four", "b", 4, 5, REFUSED, error="unavailable")]
    lines = {each.seq or 3: json.dumps({"seq": each.seq or 3, "data": {"id": each.id}, "by": {"host": each.host}}).encode() for each in sets[:3]}
    return Seen(sets, {host: dict(lines) for host in "ab"})


class CheckerTests(unittest.TestCase):
    """Each test changes one thing."""

    def finds(self, was, *words):
        found = list(violations(was))
        self.assertTrue(any(all(word in each for word in words) for each in found), found)

    def test_nothing_where_nothing_is_wrong(self):
        was = seen()
        self.assertEqual(list(violations(was)), [])
        self.assertEqual(happened(was), (1, 1))

    def test_an_acknowledged_set_is_lost(self):
        was = seen()
        for lines in was.streams.values():
            lines[2] = lines[2].replace(b"two", b"three").replace(b'"b"', b'"a"')
            lines[3] = lines[3].replace(b"three", b"four")
        self.finds(was, "two was answered with 2")

    def test_a_refused_one_was_made(self):
        was = seen()
        for lines in was.streams.values():
            lines[4] = lines[2].replace(b"two", b"four")
        self.finds(was, "four was refused")

    def test_one_was_made_twice(self):
        was = seen()
        for lines in was.streams.values():
            lines[4] = lines[1]
        self.finds(was, "one is there twice")

    def test_a_number_is_missing(self):
        was = seen()
        del was.streams["b"][2]
        self.finds(was, "b has not shown 1 changes")

    def test_hosts_show_different_lines(self):
        was = seen()
        was.streams["b"][3] += b" "
        self.finds(was, "change 3 is other at b")

    def test_nobody_has_asked(self):
        was = seen()
        for lines in was.streams.values():
            lines[4] = lines[3].replace(b"three", b"five")
        self.finds(was, "nobody has asked for five")

    def test_one_that_ended_before_another_began_is_behind_it(self):
        was = seen()
        was.sets[0].seq, was.sets[1].seq = 2, 1
        for lines in was.streams.values():
            lines[1], lines[2] = lines[2], lines[1]
        self.finds(was, "one had ended as 2 before two began")

    def test_sets_that_overlap_may_have_either_order(self):
        was = seen()
        was.sets[0].seq, was.sets[1].seq, was.sets[1].begun = 2, 1, 0.5
        for lines in was.streams.values():
            lines[1], lines[2] = lines[2], lines[1]
        self.assertEqual(list(violations(was)), [])


if __name__ == "__main__":
    unittest.main()
