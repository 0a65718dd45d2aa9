"""What is free on a small disk, at its least, while something writes to it."""

import os
import threading

LOOK_S = 0.001


def free(folder):
    info = os.statvfs(folder)
    return info.f_bavail * info.f_frsize


class Watch:
    def __init__(self, folder):
        self.folder, self.least, self.is_over = folder, free(folder), threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        while not self.is_over.wait(LOOK_S):
            self.least = min(self.least, free(self.folder))

    def end(self):
        """Bytes."""
        self.is_over.set()
        self.thread.join()
        return self.least
