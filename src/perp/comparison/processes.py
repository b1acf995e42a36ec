"""Work in processes of its own: what crashes or hangs there is a sentence here.

A worker serves pickled requests from its standard input and answers on its standard output. It leads a
process group, so that whatever it started ends with it, and it ends with the process that started it.
"""

import ctypes
import os
import pickle
import select
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from importlib import import_module
from queue import Empty, SimpleQueue
from typing import IO, Any, Self, cast

# Seconds for a worker to start and load its packages, on a machine that has much else to do.
START_UP = 600.0
# Seconds on top of a limit where code may have to be compiled first: in solvers of ours, which heed their
# limits otherwise, and in the first job of a peer.
COMPILING = 600.0
# One thread each: several workers run side by side, and times of one thread can be compared.
ONE_THREAD = dict.fromkeys(
    (
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
        "NUMBA_NUM_THREADS",
        "RAYON_NUM_THREADS",
        "VECLIB_MAXIMUM_THREADS",
    ),
    "1",
)
# Linux: the signal to send to a process when the one that started it ends.
_PR_SET_PDEATHSIG = 1


class WorkerLost(Exception):
    """A worker gave no answer.

    Attributes:
        hung: Whether it was ended because it took too long; otherwise it ended by itself.
    """

    def __init__(self, message: str, *, hung: bool) -> None:
        super().__init__(message)
        self.hung = hung


class WorkerProcess:
    """A worker that is started, by a command, when it is needed and replaced when it hangs or dies."""

    def __init__(self, command: Sequence[str]) -> None:
        self._command = list(command)
        self._process: subprocess.Popen[bytes] | None = None
        self._errors: IO[bytes] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def __del__(self) -> None:
        self.end()

    def ask(self, request: Any, seconds: float) -> Any:
        """The answer to one request.

        Raises:
            WorkerLost: None came within `seconds`, or the process ended. The next request gets a new one.
        """
        process = self._process
        try:
            process = self._start()
            requests = cast(IO[bytes], process.stdin)
            pickle.dump(request, requests)
            requests.flush()
            if _waits(process, seconds):
                return pickle.load(process.stdout)  # type: ignore[arg-type]  # noqa: S301
            message, hung = "the process was ended", True
        except (EOFError, BrokenPipeError, pickle.UnpicklingError):
            process = process or self._process
            code = process.wait() if process is not None else 0
            how = f"signal {-code}" if code < 0 else f"exit code {code}"
            message, hung = f"the solver ended its process ({how}){self._last_words()}", False
        self.end()
        raise WorkerLost(message, hung=hung)

    def end(self) -> None:
        """End the process and all that it started."""
        process, self._process = self._process, None
        if process is None:
            return
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                stream.close()
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        if self._errors is not None:
            self._errors.close()

    def _last_words(self) -> str:
        """The last line on its standard error before it began to serve, such as a failed import."""
        if self._errors is None:
            return ""
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        return f": {lines[-1]}" if lines else ""

    def _start(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            self.end()
            self._errors = tempfile.TemporaryFile()  # noqa: SIM115
            self._process = subprocess.Popen(
                self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors,
                start_new_session=True,
                env={**os.environ, **ONE_THREAD, "PYTHONPATH": os.pathsep.join(sys.path)},
            )  # fmt: skip
            if not _waits(self._process, START_UP):
                raise EOFError
            pickle.load(self._process.stdout)  # type: ignore[arg-type]  # noqa: S301
        return self._process


def worker_process(prepare: str) -> WorkerProcess:
    """A worker of this interpreter; `prepare` is the module:function of `serve`."""
    return WorkerProcess([sys.executable, "-m", "perp.comparison.processes", prepare])


def share_out(
    prepare: str, jobs: Sequence[Any], workers: int, do: Callable[[WorkerProcess, Any], Any]
) -> Iterator[tuple[int, Any]]:
    """Do jobs side by side, in a thread a worker; yields the number and result of each as they come."""
    waiting: SimpleQueue[tuple[int, Any]] = SimpleQueue()
    finished: SimpleQueue[tuple[int, Any]] = SimpleQueue()
    for numbered in enumerate(jobs):
        waiting.put(numbered)

    def work(worker: WorkerProcess) -> None:
        try:
            while True:
                i, job = waiting.get_nowait()
                finished.put((i, do(worker, job)))
        except Empty:
            return
        except BaseException as error:  # noqa: BLE001
            finished.put((-1, error))

    with ExitStack() as stack:
        for _ in range(min(workers, len(jobs))):
            worker = stack.enter_context(worker_process(prepare))
            threading.Thread(target=work, args=(worker,), daemon=True).start()
        for _ in jobs:
            i, result = finished.get()
            if i < 0:
                raise result
            yield i, result


def serve(prepare: Callable[[], Callable[[Any], Any]]) -> None:
    """Answer requests, by the function that `prepare` returns, until the input ends; prints go nowhere."""
    end_with_parent()
    answers = os.fdopen(os.dup(1), "wb")
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)
    os.dup2(silence, 2)
    answer = prepare()
    pickle.dump("ready", answers)
    answers.flush()
    while True:
        try:
            request = pickle.load(sys.stdin.buffer)  # noqa: S301
        except EOFError:
            return
        pickle.dump(answer(request), answers)
        answers.flush()


def end_with_parent() -> None:
    """Ask the system to end this process with the one that started it, where it can (Linux)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _waits(process: subprocess.Popen[bytes], seconds: float) -> bool:
    """Whether something to read arrives in time; the end of the stream counts."""
    return bool(select.select([cast(IO[bytes], process.stdout)], [], [], seconds)[0])


if __name__ == "__main__":
    module, _, function = sys.argv[1].partition(":")
    serve(getattr(import_module(module), function))
