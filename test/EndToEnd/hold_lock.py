"""hold_lock.py FILE KIND COMMAND...: runs the command while this process has a lock on FILE, `shared` as one that
reads a bundle's states or `exclusive` as one that trains it, and exits as the command does."""

import fcntl
import subprocess
import sys

path, kind, *command = sys.argv[1:]
with open(path, "rb") as file:
    fcntl.flock(file, fcntl.LOCK_SH if kind == "shared" else fcntl.LOCK_EX)
    sys.exit(subprocess.run(command).returncode)
