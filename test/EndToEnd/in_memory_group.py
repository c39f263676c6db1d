"""in_memory_group.py MIB COMMAND...: runs the command in a control group of so much memory; without one where this process may not
make any."""

import os
import pathlib
import subprocess
import sys


def make_group(limit):
    """A control group of `limit` bytes of memory; None where this process may not make one."""
    for parent, file in (("/sys/fs/cgroup", "memory.max"), ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")):
        group = pathlib.Path(parent, f"spillway-{os.getpid()}")
        try:
            if not pathlib.Path(parent, "cgroup.procs").exists():
                continue
            group.mkdir()
            (group / file).write_text(str(limit))
            return group
        except OSError:
            if group.exists():
                group.rmdir()
    return None


def entering(group):
    """What a child process does first, to be in the group."""
    return (lambda: (group / "cgroup.procs").write_text(str(os.getpid()))) if group else None


def main():
    group = make_group(int(sys.argv[1]) << 20)
    try:
        code = subprocess.run(sys.argv[2:], preexec_fn=entering(group)).returncode
    finally:
        if group:
            group.rmdir()
    sys.exit(code)


if __name__ == "__main__":
    main()
