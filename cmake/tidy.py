#!/usr/bin/env python3
"""clang-tidy with thread-safety analysis, for files that have not passed as they are.

    cmake/tidy.py --build FOLDER --cache FOLDER --jobs N FILE...

What a file passed with is remembered as the name of an empty file in the cache: a hash over all that
the verdict depends on. Where nothing of it has changed, the file is not looked at again. A file that
fails is looked at every time. The exit status is 1 where one failed.
"""

import argparse
import concurrent.futures
import hashlib
import json
import pathlib
import shlex
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
KEPT_DAYS = 30
TIDY = ["clang-tidy", "--quiet", "--warnings-as-errors=*", "--extra-arg=-Wthread-safety",
        "--extra-arg=-Wno-unknown-warning-option"]
# With comments and macros, which the checks see too; without line markers, which name folders.
PREPROCESS = ["clang++", "-E", "-P", "-C", "-dD", "-w", "-Wno-unknown-warning-option"]


def commands_by_file(build):
    """The compiler's arguments and working folder, for each time that a file is compiled."""
    commands = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        file = (pathlib.Path(entry["directory"]) / entry["file"]).resolve()
        commands.setdefault(file, []).append((shlex.split(entry["command"]), entry["directory"]))
    return commands


def without_output(arguments):
    """Only what the preprocessor reads: no launcher, no compiler, no output."""
    rest = arguments[next(i for i, a in enumerate(arguments) if a.startswith("-")):]
    if "-o" in rest:
        at = rest.index("-o")
        rest = rest[:at] + rest[at + 2:]
    return rest


def key_of(file, commands, fixed):
    """None where the file cannot be preprocessed, or is not part of the build."""
    if not commands:
        return None
    key = hashlib.sha256(fixed)
    key.update(file.read_bytes())
    for arguments, folder in commands:
        arguments = without_output(arguments)
        done = subprocess.run(PREPROCESS + arguments, cwd=folder, capture_output=True, check=False)
        if done.returncode != 0:
            return None
        # Another clone, in another folder, is not another program.
        key.update(" ".join(arguments).replace(str(ROOT), "").encode())
        key.update(done.stdout)
    return key.hexdigest()


def tidy(build, file):
    done = subprocess.run(TIDY + ["-p", str(build), str(file)], capture_output=True, text=True,
                          check=False)
    if done.returncode == 0:
        return True
    noise = " warnings generated"
    said = [line for line in (done.stdout + done.stderr).splitlines() if noise not in line]
    print("\n".join(said), flush=True)
    return False


def check(file, options, commands, fixed):
    key = key_of(file, commands.get(file), fixed)
    passed = options.cache / key if key else None
    if passed and passed.exists():
        passed.touch()
        return True
    good = tidy(options.build, file)
    if good and passed:
        passed.touch()
    return good


def forget_old(cache):
    for passed in cache.iterdir():
        if passed.stat().st_mtime < time.time() - KEPT_DAYS * 24 * 3600:
            passed.unlink(missing_ok=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--cache", type=pathlib.Path, required=True)
    parser.add_argument("--jobs", type=int, required=True)
    parser.add_argument("files", type=lambda name: pathlib.Path(name).resolve(), nargs="+")
    options = parser.parse_args()
    options.cache.mkdir(parents=True, exist_ok=True)
    forget_old(options.cache)
    version = subprocess.run(["clang-tidy", "--version"], capture_output=True, check=True).stdout
    fixed = version + (ROOT / ".clang-tidy").read_bytes() + pathlib.Path(__file__).read_bytes()
    commands = commands_by_file(options.build)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        results = list(pool.map(lambda f: check(f, options, commands, fixed), options.files))
    sys.exit(0 if all(results) else 1)


main()
