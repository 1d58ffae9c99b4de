"""One thread at a time, chosen by a seed; time passes when all of them wait."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable


class Killed(BaseException):
    """The simulated process of this thread has ended: nothing that it does from now on has an effect."""


class Stuck(AssertionError):
    """A history that does not end."""


_MOST_STEPS = 20_000
_LONGEST_S = 600.0  # of real time for a step, also on a machine that has none to spare; who takes longer hangs


class Task:
    """A thread of the simulation.

    Attributes:
      name: for messages.
      process: what it is a part of now, and dies with; None for a client outside.
      wake_s: not before this simulated time.
      faults: what has been done to it, by whoever injects faults.
    """

    def __init__(self, name: str, run: Callable[[], None], scheduler: Scheduler) -> None:
        self.name = name
        self.process: object | None = None
        self.wake_s = 0.0
        self.faults: list[str] = []
        self.baton = threading.Semaphore(0)
        self.done = False
        self.error: BaseException | None = None
        self._run = run
        self._scheduler = scheduler
        self.thread = threading.Thread(target=self._whole, name=name, daemon=True)

    def _whole(self) -> None:
        self.baton.acquire()
        try:
            self._run()
        except Killed:
            pass
        except BaseException as error:
            self.error = error
        self.done = True
        self._scheduler.baton.release()


class Scheduler:
    """Runs tasks one at a time.

    Args:
      seed: of every choice.
      between: called before each step; it may inject faults.
    """

    def __init__(self, seed: int) -> None:
        self.choice = random.Random(seed)
        self.now_s = 0.0
        self.steps = 0
        self.tasks: list[Task] = []
        self.dead: set[object] = set()
        self.baton = threading.Semaphore(0)
        self.between: Callable[[], None] = lambda: None
        self._of_thread: dict[int, Task] = {}

    def spawn(self, name: str, run: Callable[[], None]) -> Task:
        """A task that will run from its beginning once it is chosen."""
        task = Task(name, run, self)
        self.tasks.append(task)
        task.thread.start()
        assert task.thread.ident is not None
        self._of_thread[task.thread.ident] = task
        return task

    @property
    def task(self) -> Task:
        """The task of the thread that asks."""
        return self._of_thread[threading.get_ident()]

    @property
    def inside(self) -> bool:
        """Is the thread that asks a task?"""
        return threading.get_ident() in self._of_thread

    def pause(self, seconds: float = 0.0) -> None:
        """Let others run, for so much simulated time at least. Raises Killed where its process has ended."""
        if not self.inside:
            return
        task = self.task
        self.check_alive(task)
        task.wake_s = self.now_s + seconds
        self.baton.release()
        task.baton.acquire()
        self.check_alive(task)

    def check_alive(self, task: Task) -> None:
        """Raises Killed for a task of a process that has ended."""
        if task.process in self.dead:
            raise Killed

    def kill(self, process: object) -> None:
        """End a process: its tasks end at their next step."""
        self.dead.add(process)
        for task in self.tasks:
            if task.process is process:
                task.wake_s = 0.0

    def run(self) -> None:
        """Until all tasks are done. Raises what a task raised, and Stuck."""
        while waiting := [task for task in self.tasks if not task.done]:
            self.steps += 1
            if self.steps > _MOST_STEPS:
                raise Stuck(f"after {self.steps} steps: {[task.name for task in waiting]}")
            self.between()
            ready = [task for task in waiting if task.wake_s <= self.now_s]
            if not ready:
                self.now_s = min(task.wake_s for task in waiting)
                continue
            task = self.choice.choice(ready)
            task.baton.release()
            if not self.baton.acquire(timeout=_LONGEST_S):
                raise Stuck(f"{task.name} waits outside of the simulation")
            if task.error is not None:
                raise task.error


class SimulatedTime:
    """What stands for the module `time` where the product waits."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler

    def monotonic(self) -> float:
        """Simulated seconds."""
        return self._scheduler.now_s

    def sleep(self, seconds: float) -> None:
        """Wait, while others run."""
        self._scheduler.pause(seconds)


class SimulatedLock:
    """A lock of which who waits lets others run."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._held = False

    def acquire(self, timeout: float = -1.0) -> bool:
        """Take it; False where that takes longer."""
        end_s = self._scheduler.now_s + timeout
        while self._held:
            if timeout >= 0 and self._scheduler.now_s >= end_s:
                return False
            self._scheduler.pause(0.01)
        self._held = True
        return True

    def release(self) -> None:
        """Let it go."""
        self._held = False

    def __enter__(self) -> SimulatedLock:
        self.acquire()
        return self

    def __exit__(self, *exception: object) -> None:
        self.release()


class SimulatedThreading:
    """What stands for the module `threading` where the product locks."""

    Event = threading.Event

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler

    def Lock(self) -> SimulatedLock:  # noqa: N802 - the module's name for it
        """A lock."""
        return SimulatedLock(self._scheduler)
