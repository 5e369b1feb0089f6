"""Data that several engines are tried on."""

import pytest

import fepysr_dyn as fd


@pytest.fixture(scope="session")
def weakly_excited():
    """Columns and exact rates of two coupled sigmoids near rest: little more than a linear law is excited."""
    run = fd.simulate(fd.load_model("tyson_two_protein"), rates=True)[0].isel(time=slice(None, None, 3))
    columns = {name: run[name].to_numpy() for name in ("S", "X1", "X2")}
    return columns, {state: run[f"d{state}"].to_numpy() for state in ("X1", "X2")}
