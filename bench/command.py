"""Starting a script: by hand with torchrun's variables set, by Tandem, by torchrun.

Each rank writes down when it was there; what counts is the last one, from the moment at which the command was typed. Runs
alternate, so that whatever else the machine does hits all of them; medians are compared.
"""

import os
import pathlib
import socket
import statistics
import subprocess
import sys
import tempfile
import time

from tandem import run, show_progress

NOTE_TIME = "open(os.path.join(sys.argv[1], os.environ['RANK']), 'w').write(repr(time.time()))\n"
SCRIPTS = {
    "first line": "import os, sys, time\n" + NOTE_TIME,
    "ranks have met": "import os, sys, time, torch.distributed as dist\n"
                      "dist.init_process_group('gloo')\ndist.barrier()\n" + NOTE_TIME + "dist.destroy_process_group()\n",
}


def start_by_hand(ranks, program):
    with socket.create_server(("127.0.0.1", 0)) as chosen:
        port = chosen.getsockname()[1]
    processes = []
    for rank in range(ranks):
        place = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": ranks, "LOCAL_WORLD_SIZE": ranks,
                 "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "OMP_NUM_THREADS": 1}
        environment = dict(os.environ, **{name: str(value) for name, value in place.items()})
        processes.append(subprocess.Popen(program, env=environment))
    for process in processes:
        assert process.wait() == 0


def start_with_torchrun(ranks, program):
    subprocess.run([sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc_per_node={ranks}",
                    *program[1:]], check=True, env=dict(os.environ, OMP_NUM_THREADS="1"), stderr=subprocess.DEVNULL)


def ways(tandem):
    return {
        "by hand": start_by_hand,
        "tandem": lambda ranks, program: tandem.command("run", "--workers", str(ranks), "--", *program),
        "tandem --local": lambda ranks, program: subprocess.run(
            [f"{tandem.binaries}/tandem", "run", "--local", str(ranks), "--", *program], check=True,
            capture_output=True),
        "torchrun": start_with_torchrun,
    }


def seconds_until_there(start, ranks, script):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "script.py"
        path.write_text(script)
        begin = time.time()
        start(ranks, [sys.executable, str(path), folder])
        return max(float((pathlib.Path(folder) / str(rank)).read_text()) for rank in range(ranks)) - begin


def measure(starts, ranks, script, repeats):
    """The median of each way, in seconds."""
    seconds = {name: [] for name in starts}
    for run in range(repeats + 1):
        for name, start in starts.items():
            show_progress(f"{name}, {ranks} rank(s), run {run} of {repeats}")
            took = seconds_until_there(start, ranks, script)
            if run > 0:  # The first one fills the file cache.
                seconds[name].append(took)
    show_progress("")
    return {name: statistics.median(times) for name, times in seconds.items()}


def report(tandem, repeats):
    starts = ways(tandem)
    print(f"median of {repeats} alternating runs: seconds after the command, and how many more than by hand\n")
    print(f"{'until':16}{'ranks':7}" + "".join(f"{name:>22}" for name in starts) + f"{'torchrun : tandem':>20}")
    for title, script in SCRIPTS.items():
        for ranks in (1, 2):
            medians = measure(starts, ranks, script, repeats)
            by_hand = medians["by hand"]
            cells = [f"{seconds:.2f} (+{seconds - by_hand:.2f})" for seconds in medians.values()]
            print(f"{title:16}{ranks:<7}" + "".join(f"{cell:>22}" for cell in cells)
                  + f"{medians['torchrun'] / medians['tandem']:>19.1f}x", flush=True)


if __name__ == "__main__":
    run(report, repeats=7)
