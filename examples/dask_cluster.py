"""A discovery on a Dask cluster: the searches for the states run on its workers."""

from distributed import Client, LocalCluster

import fepysr_dyn as fd


def main() -> None:
    """Run on two local workers; on a real cluster, give `Client` the scheduler's address instead."""
    system = fd.load_model("lotka_volterra")
    runs = fd.simulate(system)
    config = fd.DiscoveryConfig(operators=("+", "-", "*"), features=False)
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None) as cluster,
        Client(cluster) as client,
        client.get_executor() as executor,
    ):
        found = fd.discover(runs, config=config, executor=executor)
    print(found)
    print("the same as without a cluster:", found.equations() == fd.discover(runs, config=config).equations())


# Workers are processes of their own that import this file.
if __name__ == "__main__":
    main()
