"""on_small_disk.py SIZE COMMAND...: runs the command with a file system of SIZE, in memory, where its
arguments say DISK, prints what is left on it, and exits as the command does. Needs to be root."""

import os
import subprocess
import sys

size, *command = sys.argv[1:]
disk = os.path.abspath("disk")
os.makedirs(disk, exist_ok=True)
subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", disk], check=True)
try:
    code = subprocess.run([word.replace("DISK", disk) for word in command]).returncode
    sys.stdout.flush()
    print("left:", sorted(os.listdir(disk)), "exit:", code)
finally:
    subprocess.run(["umount", disk], check=True)
sys.exit(code)
