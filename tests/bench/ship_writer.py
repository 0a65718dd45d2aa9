"""
A training's prints, as far as they cost: LINES a second for SECONDS, in the bursts of a step. Last on standard error, as JSON: its
writes, those that found the pipe full and would have waited, and its own processor time.

    ship_writer.py LINES SECONDS
"""

import json
import os
import resource
import select
import sys
import time

STEPS_A_SECOND = 100


def main():
    lines, seconds = int(sys.argv[1]), float(sys.argv[2])
    out, poll = sys.stdout.fileno(), select.poll()
    poll.register(out, select.POLLOUT)
    burst, writes, full, sent = lines // STEPS_A_SECOND, 0, 0, 0
    start = time.monotonic()
    for step in range(int(seconds * STEPS_A_SECOND)):
        text = "".join(f"[2026-11-30 12:00:{step // 100 % 60:02}] [rank{rank}] iteration {step:8d}/ 500000 | elapsed time per iteration (ms): 10.{rank:03d} "
            f"| learning rate: 1.500E-04 | lm loss: {2 + step % 97 / 100:.6E} | grad norm: 0.{rank:03d} |\n" for rank in range(burst))
        full += not poll.poll(0)
        writes += 1
        data = text.encode()
        while data:
            data = data[os.write(out, data):]
        sent += len(text)
        time.sleep(max(0.0, start + (step + 1) / STEPS_A_SECOND - time.monotonic()))
    spent = resource.getrusage(resource.RUSAGE_SELF)
    print(json.dumps({"writes": writes, "full": full, "bytes": sent, "lines": writes * burst, "seconds": time.monotonic() - start,
        "cpu_seconds": spent.ru_utime + spent.ru_stime}), file=sys.stderr)


if __name__ == "__main__":
    main()
