"""How scripts with torch end that do not succeed at once: an exception, a hang in a collective, a restart."""

import signal
import sys

import running

BEGINNING = """
import datetime, os, time
import tandem_report, torch, torch.distributed as dist
dist.init_process_group("gloo")
rank, restarts = dist.get_rank(), int(os.environ["TORCHELASTIC_RESTART_COUNT"])

def train(step):
    loss = torch.tensor([float(rank + 1)])
    dist.all_reduce(loss)
    tandem_report.report(step, loss.item(), 2, combined=True)
    return loss.item()
"""


class Ends(running.ScriptTest):
    def start(self, script, *options):
        return self.start_tandem(2, *options, "--", sys.executable, self.write_script(BEGINNING + script))

    def run_script(self, script, *options):
        return self.finish(self.start(script, *options))

    def test_exception_on_rank_1_is_the_cause_and_not_what_rank_0_says_of_it(self):
        finished = self.run_script("""
for step in range(1, 100):
    train(step)
    if rank == 1 and step == 3:
        raise ValueError("no such column")
""", "--max-restarts", "0")
        self.assertEqual(finished.exit_code, 1)
        cause = finished.job["cause"]
        self.assertEqual(cause["rank"], 1, cause)
        self.assertIn("ValueError: no such column", cause["message"])
        self.assertTrue(any("Traceback" in line for line in cause["lastLines"]), cause)

    def test_rank_that_does_not_come_to_a_collective_is_named_and_stacks_say_where_all_are(self):
        finished = self.run_script("""
def wait_for_ever():
    time.sleep(600)

for step in range(1, 100):
    train(step)
    if rank == 1 and step == 3:
        wait_for_ever()
""", "--max-restarts", "0", "--set", "hang_timeout=2s")
        self.assertEqual(finished.exit_code, 1)
        self.assertEqual(finished.job["cause"]["code"], "CAUSE_CODE_HUNG", finished.job["cause"])
        self.assertIn("in wait_for_ever", finished.printed)
        self.assertIn("in all_reduce", finished.printed)

    def test_hang_in_a_collective_ends_when_interrupted(self):
        process = self.start("""
train(1)
print("hangs", flush=True)
if rank == 0:
    train(2)
time.sleep(600)
""")
        shown = []
        while not any("hangs" in line for line in shown):
            shown.append(process.stderr.readline())
            self.assertNotEqual(shown[-1], "", shown)
        # Control: what is left behind would be seen.
        self.assertNotEqual(self.left_behind(), [])
        process.send_signal(signal.SIGINT)
        self.assertEqual(self.finish(process).exit_code, 130)

    def test_restarted_ranks_meet_again_at_once(self):
        finished = self.run_script("""
assert train(1) == 3
if restarts < 2:
    os._exit(5)
dist.destroy_process_group()
""", "--max-restarts", "2", "--set", "restart.backoff=10ms")
        self.assertEqual(finished.exit_code, 0, finished.printed)
        self.assertEqual(finished.job["attempt"], 3)
        self.assertEqual(finished.job["loss"], 1.5)


if __name__ == "__main__":
    running.main()
