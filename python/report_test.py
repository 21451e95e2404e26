"""Reports, the wish to stop and stacks, over a real socket pair as tandem-command makes it."""

import importlib
import itertools
import json
import math
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import unittest
from unittest import mock

import tandem_report

HANG = """
import threading, tandem_report

def reader_that_waits(event):
    event.wait()

def training_that_hangs(event):
    print("hangs", flush=True)
    event.wait()

event = threading.Event()
threading.Thread(target=reader_that_waits, args=[event], daemon=True).start()
training_that_hangs(event)
"""


class Scalar:
    """As much of a tensor of one element as the helper may count on."""

    def __init__(self, value):
        self.value = value

    def item(self):
        return self.value


class ScriptUnderTandem(unittest.TestCase):
    def setUp(self):
        self.tandem, script = socket.socketpair()
        self.addCleanup(self.tandem.close)
        self.addCleanup(script.close)
        self.tandem.settimeout(10)
        self.load(TANDEM_REPORT_FD=str(script.fileno()))
        self.script = script

    def load(self, **environment):
        """The helper, imported anew under these variables."""
        patch = mock.patch.dict(os.environ, environment)
        patch.start()
        self.addCleanup(patch.stop)
        importlib.reload(tandem_report)

    def next_line(self):
        with self.tandem.makefile("rb", buffering=0) as lines:
            return json.loads(lines.readline())

    def test_report_is_one_line_with_what_was_given(self):
        tandem_report.report(1, 12.5, 64)
        self.assertEqual(self.next_line(), {"step": 1, "loss_sum": 12.5, "count": 64})
        tandem_report.report(2, 3, 4, 0, combined=True, samples=range(3, 6), lr=0.01)
        self.assertEqual(self.next_line(), {"step": 2, "loss_sum": 3.0, "count": 4, "epoch": 0, "combined": True,
                                            "samples": [3, 4, 5], "lr": 0.01})

    def test_line_is_written_at_once(self):
        with mock.patch.object(os, "write", wraps=os.write) as write:
            tandem_report.report(1, 12.5, 64, samples=range(1000))
        self.assertEqual(write.call_count, 1)

    def test_floats_arrive_bit_for_bit(self):
        for value in (0.1, 1 / 3, 5e-324, 1.7976931348623157e308, -0.0, struct.unpack("f", b"\x01\x02\x03\x3f")[0]):
            tandem_report.report(1, value, 1, lr=value)
            line = self.next_line()
            for arrived in (line["loss_sum"], line["lr"]):
                self.assertEqual(struct.pack("d", arrived), struct.pack("d", value))

    def test_loss_that_is_not_finite_is_a_text(self):
        for value, text in ((math.nan, "NaN"), (math.inf, "Infinity"), (-math.inf, "-Infinity")):
            tandem_report.report(1, value, 1)
            self.assertEqual(self.next_line()["loss_sum"], text)

    def test_tensors_of_one_element_are_numbers(self):
        tandem_report.report(Scalar(3), Scalar(0.1), Scalar(5.0), samples=[Scalar(7)])
        self.assertEqual(self.next_line(), {"step": 3, "loss_sum": 0.1, "count": 5, "samples": [7]})

    def test_steps_and_counts_that_cannot_be_are_refused(self):
        for arguments in ((0, 1.0, 1), (1.5, 1.0, 1), (1, 1.0, -1), (1, 1.0, 0.5), (1, 1.0, 1, -1)):
            with self.assertRaises(ValueError):
                tandem_report.report(*arguments)

    def test_long_reports_from_many_threads_stay_whole(self):
        threads = [threading.Thread(target=tandem_report.report, args=(step, 1.0, 1), kwargs={"samples": range(50000)})
                   for step in range(1, 9)]
        for thread in threads:
            thread.start()
        with self.tandem.makefile("rb") as lines:
            heard = [json.loads(lines.readline()) for _ in threads]
        for thread in threads:
            thread.join()
        self.assertEqual(sorted(line["step"] for line in heard), list(range(1, 9)))
        self.assertTrue(all(line["samples"] == list(range(50000)) for line in heard))

    def test_nobody_asks_it_to_stop(self):
        self.assertFalse(tandem_report.should_stop())

    def test_wish_to_stop_is_heard_once_whole_and_kept(self):
        self.tandem.sendall(b'{"stop": t')
        self.assertFalse(tandem_report.should_stop())
        self.tandem.sendall(b'rue}\n')
        self.assertTrue(tandem_report.should_stop())
        self.assertTrue(tandem_report.should_stop())

    def test_wish_to_stop_among_other_lines_is_heard(self):
        self.tandem.sendall(b'{"other": 1}\n{"stop": true}\n{"other": 2}\n')
        self.assertTrue(tandem_report.should_stop())

    def test_script_goes_on_when_nobody_listens_any_more(self):
        self.tandem.close()
        self.assertFalse(tandem_report.should_stop())
        tandem_report.report(1, 1.0, 1)

    def test_report_goes_on_when_its_reader_goes_away(self):
        self.tandem.close()
        tandem_report.report(1, 1.0, 1)
        tandem_report.report(2, 1.0, 1)
        self.assertFalse(tandem_report.should_stop())

    def test_checkpoint_dir_is_that_of_the_job(self):
        with mock.patch.dict(os.environ, TANDEM_CHECKPOINT_DIR="/checkpoints/job-1"):
            self.assertEqual(tandem_report.checkpoint_dir(), "/checkpoints/job-1")

    def test_stacks_of_all_threads_are_printed_on_request(self):
        command = [sys.executable, "-c", HANG]
        with subprocess.Popen(command, pass_fds=[self.script.fileno()], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              cwd=os.path.dirname(tandem_report.__file__), text=True) as process:
            self.assertEqual(process.stdout.readline(), "hangs\n")
            process.send_signal(signal.SIGUSR2)
            # The main thread's stack comes last, and its outermost call at the end.
            stacks = list(itertools.takewhile(lambda line: not line.endswith(" in <module>\n"), process.stderr))
            self.assertIsNone(process.poll())
            process.kill()
        self.assertTrue(any(line.endswith("in reader_that_waits\n") for line in stacks), stacks)
        self.assertTrue(any(line.endswith("in training_that_hangs\n") for line in stacks), stacks)


class ScriptByHand(unittest.TestCase):
    def run_script(self, **environment):
        script = "import tandem_report as t; t.report(1, 2.0, 3); t.report(2, 2.0, 3); " \
                 "print(t.should_stop(), t.checkpoint_dir())"
        clean = {name: value for name, value in os.environ.items() if not name.startswith("TANDEM_")}
        return subprocess.run([sys.executable, "-c", script], env=dict(clean, **environment), check=True, text=True,
                              cwd=os.path.dirname(tandem_report.__file__), capture_output=True)

    def test_helper_does_nothing(self):
        finished = self.run_script()
        self.assertEqual(finished.stdout, "False None\n")
        self.assertEqual(finished.stderr, "")

    def test_descriptor_that_a_wrapper_has_closed_is_mentioned_once(self):
        for descriptor in ("77", "1", "seven"):
            finished = self.run_script(TANDEM_REPORT_FD=descriptor)
            self.assertEqual(finished.stdout, "False None\n")
            self.assertEqual(finished.stderr.count(f"TANDEM_REPORT_FD is {descriptor}"), 1, finished.stderr)


if __name__ == "__main__":
    unittest.main()
