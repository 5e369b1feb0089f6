import threading

import pytest

from fepysr_dyn.search.front import ParetoFront
from fepysr_dyn.search.problem import Runtime
from fepysr_dyn.search.scouting import beside


def test_with_one_worker_the_work_is_done_when_it_is_asked_for():
    calls = []

    def work(runtime):
        calls.append(threading.current_thread())
        return ParetoFront.of([])

    with beside(work, Runtime()) as answer:
        assert not calls
        answer()
    assert calls == [threading.current_thread()]


def test_with_two_workers_it_begins_at_once_and_leaves_reports_to_the_others():
    begun = threading.Event()
    seen = []

    def work(runtime):
        seen.append(runtime)
        begun.set()
        return ParetoFront.of([], message="done")

    with beside(work, Runtime(workers=2, progress=print)) as answer:
        assert begun.wait(10)
        assert answer().message == "done"
    assert seen[0].progress is None
    assert seen[0].workers == 1


@pytest.mark.parametrize("who", ["the user", "the others"])
def test_it_ends_when_it_is_not_needed_any_more(who):
    cancelled, ended = threading.Event(), threading.Event()

    def work(runtime):
        while not runtime.must_stop():
            ended.wait(0.001)
        ended.set()
        return ParetoFront.of([])

    with beside(work, Runtime(workers=2, cancelled=cancelled)):
        if who == "the user":
            cancelled.set()
            assert ended.wait(10)
    assert ended.wait(10)
    assert cancelled.is_set() == (who == "the user")


def test_its_errors_are_those_of_the_answer():
    def work(runtime):
        raise ValueError("no")

    with beside(work, Runtime(workers=2)) as answer, pytest.raises(ValueError, match="no"):
        answer()
