"""A real Dask cluster of two workers on the loopback interface: benchmarks and a discovery on it."""

import json
import os
import signal
import threading
import time
from pathlib import Path

import pytest

distributed = pytest.importorskip("distributed")

from fepysr_dyn.benchmarks.limits import Limits  # noqa: E402
from fepysr_dyn.benchmarks.records import RecordFile  # noqa: E402
from fepysr_dyn.benchmarks.runner import Conditions, cluster_executor, run_units  # noqa: E402
from fepysr_dyn.benchmarks.units import Unit  # noqa: E402
from fepysr_dyn.errors import OptionError  # noqa: E402


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        # Workers inherit the environment: one thread each, and the units of the tests.
        patch.setenv("OMP_NUM_THREADS", "1")
        patch.setenv("PYTHONPATH", str(Path(__file__).parent / "tasks"))
        with distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            local_directory=str(tmp_path_factory.mktemp("dask")),
            silence_logs=50,
        ) as running:
            yield running


def test_units_on_a_cluster_keep_their_limits(cluster, tmp_path):
    """Each unit has a process of its own there too: a crash or a hang costs the unit, not the worker."""
    kinds = ("fine", "exit", "hang", "fine too")
    asked = [Unit("bad", kind, 0, {"a": 1}) for kind in kinds]
    conditions = Conditions(Limits(3.0, 1000.0))
    records = RecordFile(tmp_path / "lines.jsonl")
    with records, cluster_executor(cluster.scheduler_address) as executor:
        run = run_units(asked, "small_units:misbehave", records, executor, conditions=conditions)
    errors = [line.get("error", "") for line in run.lines]
    assert [error.partition(":")[0] for error in errors] == ["", "crashed", "hung", ""]
    assert run.lines[0]["sum"] == 1


def test_no_scheduler_there():
    with pytest.raises(OptionError, match="no scheduler answers"), cluster_executor("tcp://127.0.0.1:1", 1):
        pass


def found_by(executor=None):
    """Discover a small system; the work is limited in evaluations, so the answer belongs to the seed."""
    from fepysr_dyn import discover, load_model, simulate
    from fepysr_dyn.discovery import DiscoveryConfig
    from fepysr_dyn.simulation import resampled

    runs = simulate(resampled(load_model("lotka_volterra"), samples=60))
    # Without a clock: the first compilation alone can take longer than a search is usually allowed.
    config = DiscoveryConfig(
        engine="evolution",
        features=False,
        evaluations=3_000,
        resamples=4,
        seconds_per_state=float("inf"),
    )
    return discover(runs, config=config, seed=3, executor=executor)


def kill_a_busy_worker(cluster, killed):
    """Wait until a search is under way on the cluster and kill the process that does it."""
    with distributed.Client(cluster, set_as_default=False) as client:
        pids = client.run(os.getpid)
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            busy = {address: tasks for address, tasks in client.processing().items() if tasks}
            # Both states are being searched: one worker is at work on each.
            if len(busy) == 2:
                time.sleep(0.5)
                victim = next(iter(busy))
                os.kill(pids[victim], signal.SIGKILL)
                killed.append(victim)
                return
            time.sleep(0.02)


def test_a_discovery_survives_a_killed_worker(cluster):
    here = found_by()
    killed = []
    with distributed.Client(cluster, set_as_default=False) as client:
        killer = threading.Thread(target=kill_a_busy_worker, args=(cluster, killed))
        killer.start()
        there = found_by(client.get_executor(pure=False))
        killer.join()
    assert killed
    assert there.equations() == here.equations()
    assert dict(there.confidence) == dict(here.confidence)
    for state, front in here.fronts.items():
        assert json.dumps(front.to_pandas().to_dict("list"), default=str) == json.dumps(
            there.fronts[state].to_pandas().to_dict("list"), default=str
        )
    assert [run.r2 for run in there.validation.runs] == [run.r2 for run in here.validation.runs]
