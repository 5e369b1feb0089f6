"""The same seed gives the same result wherever the units of work run."""

import json
import multiprocessing
import threading
import time
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace

import pytest

import fepysr_dyn as fd
from fepysr_dyn.discovery.files import to_document
from fepysr_dyn.discovery.units import Seeds
from fepysr_dyn.errors import OptionError, SearchInterrupted, WorkerError
from fepysr_dyn.model_files import system_from_toml

DAMPED = system_from_toml("""
[states.x]
initial = 1.0
rate = "y - 0.1*x"
[states.y]
initial = 0.0
rate = "-x"
[protocol]
duration = 8
samples = 60
""")


@pytest.fixture(scope="module")
def noisy():
    return fd.simulate(DAMPED, noise=0.01, seed=4)


def endless(config):
    """Return more work than any test waits for."""
    return replace(config, engine="evolution", evaluations=10**10)


def document(found):
    return json.dumps({**to_document(found), "seconds": 0}, sort_keys=True)


@pytest.fixture(scope="module")
def here(quick, noisy):
    return document(fd.discover(noisy, config=quick, seed=7, truth=DAMPED))


def test_worker_processes_change_nothing_and_report_in_order(quick, noisy, here):
    reports = []
    with fd.WorkerPool(2) as pool:
        found = fd.discover(noisy, config=quick, seed=7, truth=DAMPED, executor=pool, progress=reports.append)
    assert document(found) == here
    fractions = [report.fraction for report in reports]
    assert fractions == sorted(fractions)
    assert fractions[-1] == 1.0
    assert {"dx/dt: done", "dy/dt: done"} <= {report.message for report in reports}


def test_threads_change_nothing(quick, noisy, here):
    with ThreadPoolExecutor(3) as pool:
        assert document(fd.discover(noisy, config=quick, seed=7, truth=DAMPED, executor=pool)) == here


@pytest.mark.slow
def test_any_executor_of_processes_will_do(quick, noisy, here):
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
        assert document(fd.discover(noisy, config=quick, seed=7, truth=DAMPED, executor=pool)) == here


@pytest.mark.slow
def test_a_cluster_changes_nothing(quick, noisy, here):
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        found = fd.discover(noisy, config=quick, seed=7, truth=DAMPED, executor=client.get_executor())
    assert document(found) == here


def test_streams_do_not_depend_on_how_many_states_there_are():
    seeds = Seeds(3)
    own = [seeds.search(position, "pointwise") for position in range(4)]
    assert len({seeds.system(), *own}) == 5
    assert own == [Seeds(3).search(position, "pointwise") for position in range(4)]
    with pytest.raises(OptionError, match="at least 0, got -1"):
        Seeds(-1)


@pytest.mark.parametrize("workers", [0, 2])
def test_a_cancelled_search_ends_with_its_fronts(quick, noisy, workers):
    cancelled = threading.Event()
    started = []

    def progress(report):
        if report.engine == "evolution" and not started:
            started.append(time.monotonic())
            cancelled.set()

    def search(executor=None):
        with pytest.raises(SearchInterrupted, match="search x") as caught:
            fd.discover(
                noisy, config=endless(quick), progress=progress, cancelled=cancelled, executor=executor
            )
        return caught.value.fronts

    if workers:
        with fd.WorkerPool(workers) as pool:
            fronts = search(pool)
    else:
        fronts = search()
    assert time.monotonic() - started[0] < 10
    assert all(not front.complete for front in fronts.values())


def test_a_time_limit_holds_in_worker_processes(quick, noisy):
    with fd.WorkerPool(2) as pool:
        fd.discover(noisy, config=quick, executor=pool)  # compiled and imported
        began = time.monotonic()
        found = fd.discover(noisy, config=endless(quick), executor=pool, time_limit=4.0)
        seconds = time.monotonic() - began
    assert not found.complete
    assert seconds < 20


class Withdrawing(Executor):
    """Withdraws every unit before it begins, as a pool does with waiting units that are cancelled."""

    def __init__(self, cancelled=None):
        self._cancelled = cancelled

    def submit(self, function, /, *arguments, **options):
        if self._cancelled is not None:
            self._cancelled.set()
        future = Future()
        future.cancel()
        future.set_running_or_notify_cancel()
        return future


def test_units_that_had_not_begun_are_no_error_after_a_cancellation(quick, noisy):
    cancelled = threading.Event()
    with pytest.raises(SearchInterrupted):
        fd.discover(noisy, config=quick, cancelled=cancelled, executor=Withdrawing(cancelled))


def test_units_that_an_executor_gives_up_by_itself_are_an_error(quick, noisy):
    with pytest.raises(WorkerError, match="fewer workers"):
        fd.discover(noisy, config=quick, executor=Withdrawing())
