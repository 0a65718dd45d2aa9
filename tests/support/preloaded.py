"""
Python clients whose import takes seconds of a processor (MLflow's: two to three). One process loads a client, and each script runs in a fork of it: a process
of its own with its own environment, folder, input, output and end, as `python3 -c` would run it. What the client reads from the environment while it is
imported is as it was for the first script.

    subprocess.Popen([*preloaded.python("mlflow", environment), script, *arguments], env=environment, …)

What is started is this file once more, as short as can be: it hands its descriptors over, passes signals on, and ends as the script does. Killed, it takes
the script with it.
"""

import array
import contextlib
import json
import os
import selectors
import signal
import socket
import sys

PYTHON = "/usr/bin/python3"
HEADER_BYTES = 12
PASSED_ON = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2)


# ---- in the tests' process ----

_loaders = {}  # the address of each


def python(module, environment):
    """In place of ["/usr/bin/python3", "-c"]."""
    which = module, environment["PYTHONPATH"]
    if which not in _loaders:
        _loaders[which] = _load(module, environment, f"sm-preloaded-{os.getpid()}-{len(_loaders)}")
    return [PYTHON, "-I", "-S", __file__, _loaders[which]]


def _load(module, environment, name):
    import atexit
    import subprocess
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("\0" + name)
        listener.listen(64)
        loader = subprocess.Popen([PYTHON, __file__, "--load", module, str(listener.fileno())], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
            pass_fds=[listener.fileno()], env=environment)
    atexit.register(lambda: (loader.stdin.close(), loader.wait()))
    return name


# ---- what a test starts ----

def launch(name, script, *arguments):
    with socket.socket(socket.AF_UNIX) as loader:
        loader.connect("\0" + name)
        told = json.dumps({"script": script, "arguments": arguments, "environment": dict(os.environ), "folder": os.getcwd()}).encode()
        loader.sendmsg([str(len(told)).encode().ljust(HEADER_BYTES)], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0, 1, 2]))])
        loader.sendall(told)
        answers = loader.makefile()
        pid = int(answers.readline())
        for number in PASSED_ON:
            signal.signal(number, lambda number, _: os.kill(pid, number))
        for descriptor in (0, 1, 2):  # whoever reads their other ends sees the script's end, not this one's
            os.close(descriptor)
        code = int(answers.readline())
    if code < 0:
        signal.signal(-code, signal.SIG_DFL) if -code != signal.SIGKILL else None
        os.kill(os.getpid(), -code)
    os._exit(code)


# ---- the process that has loaded the client ----

def receive(connection):
    """(what is told, three descriptors)"""
    header, sent, _, _ = connection.recvmsg(HEADER_BYTES, socket.CMSG_SPACE(3 * array.array("i").itemsize))
    descriptors = array.array("i")
    descriptors.frombytes(sent[0][2])
    with connection.makefile("rb") as told:
        return json.loads(told.read(int(header))), list(descriptors)


def become(told, descriptors):
    """In the fork: what a new interpreter would find."""
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.environ.clear()
    os.environ.update(told["environment"])
    os.chdir(told["folder"])
    sys.argv = ["-c", *told["arguments"]]
    main = type(sys)("__main__")
    sys.modules["__main__"] = main
    return compile(told["script"], "<string>", "exec"), main.__dict__


def serve(module, listener):
    """Returns in each fork, with what it is to run; in the loader when the tests' process is gone."""
    running = {}  # the connection of each process
    __import__(module)
    with selectors.DefaultSelector() as events:
        events.register(listener, selectors.EVENT_READ)
        events.register(0, selectors.EVENT_READ)  # ends with the tests
        while True:
            for key, _ in events.select():
                if key.fileobj == 0:
                    for pid in running:
                        os.kill(pid, signal.SIGKILL)
                    return None
                if key.fileobj is listener:
                    work = begin(events, listener, running)
                    if work:
                        return work
                elif isinstance(key.fileobj, socket.socket):  # the launcher was killed
                    events.unregister(key.fileobj)
                    os.kill(key.data, signal.SIGKILL)
                else:
                    end(events, key, running.pop(key.data))


def begin(events, listener, running):
    """What is to run, in the fork."""
    connection = listener.accept()[0]
    told, descriptors = receive(connection)
    pid = os.fork()
    if pid == 0:
        for each in (listener, connection, *running.values()):
            each.close()
        return become(told, descriptors)
    for descriptor in descriptors:
        os.close(descriptor)
    running[pid] = connection
    events.register(connection, selectors.EVENT_READ, pid)
    events.register(os.pidfd_open(pid), selectors.EVENT_READ, pid)
    with contextlib.suppress(OSError):
        connection.sendall(f"{pid}\n".encode())
    return None


def end(events, key, connection):
    code = os.waitstatus_to_exitcode(os.waitpid(key.data, 0)[1])
    events.unregister(key.fileobj)
    os.close(key.fileobj)
    if connection in events.get_map():
        events.unregister(connection)
    with contextlib.suppress(OSError):  # the launcher was killed
        connection.sendall(f"{code}\n".encode())
    connection.close()


if __name__ == "__main__" and sys.argv[1] != "--load":
    launch(*sys.argv[1:])
elif __name__ == "__main__":
    sys.path[0] = ""
    work = serve(sys.argv[2], socket.socket(fileno=int(sys.argv[3])))
    if work:
        exec(*work)
