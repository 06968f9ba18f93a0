"""Stands in for ssh: runs the command on this computer. FAKE_SSH can say what is different on the other one.

refused           the connection
path=FOLDER       packages, which come from there
file=ONE:OTHER    a file: what is called ONE there is OTHER here
"""

import os
import subprocess
import sys
import threading

*options, host, command = sys.argv[1:]
what, _, how = os.environ.get("FAKE_SSH", "").partition("=")
if what == "refused":
    sys.exit("Permission denied (publickey).")
environment = {**os.environ, "SSH_CONNECTION": "127.0.0.1 5 127.0.0.1 22"}
if what == "path":
    environment["PYTHONPATH"] = how
    command = command.replace(sys.executable.rpartition("/")[0] + "/pippin", f"{how}/pippin")
there, _, here = how.partition(":") if what == "file" else ("\0", "", "\0")
remote = subprocess.Popen(
    ["sh", "-c", command], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
)


def hand_on() -> None:
    for line in sys.stdin:
        remote.stdin.write(line.replace(there, here))
    remote.stdin.close()


threading.Thread(target=hand_on, daemon=True).start()
for line in remote.stdout:
    print(line.replace(here, there), end="", flush=True)
code = remote.wait()
os._exit(code if code >= 0 else 128 - code)
