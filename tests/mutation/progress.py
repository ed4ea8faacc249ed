"""What a run says while it goes on: a bar on a terminal, a line for each step elsewhere."""

import sys
import threading


class Progress:
    def __init__(self, total, stream=sys.stderr):
        self.total = total
        self.done = 0
        self.stream = stream
        self.is_terminal = stream.isatty()
        self.lock = threading.Lock()

    def step(self, text):
        with self.lock:
            self.done += 1
            if self.is_terminal:
                filled = 30 * self.done // max(self.total, 1)
                self.stream.write(f"\r[{'#' * filled}{'.' * (30 - filled)}] {self.done}/{self.total} {text[:60]}\x1b[K")
                if self.done == self.total:
                    self.stream.write("\n")
            else:
                self.stream.write(f"{self.done}/{self.total} {text}\n")
            self.stream.flush()

    def say(self, text):
        with self.lock:
            self.stream.write(("\r" if self.is_terminal else "") + text + ("\x1b[K\n" if self.is_terminal else "\n"))
            self.stream.flush()
