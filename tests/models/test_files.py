"""The files of the reference systems: described, exciting, and each with a test of its character."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from measuring import protocol

from fepysr_dyn import load_model, model_names


def test_the_character_of_every_model_is_tested() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in Path(__file__).parent.glob("test_*.py"))
    assert set(re.findall(r"^def test_(\w+)\(system: ", text, re.MULTILINE)) == set(model_names())
    assert len(model_names()) >= 26


@pytest.mark.parametrize("name", model_names())
def test_protocol_excites_every_state(name: str) -> None:
    system = load_model(name)
    for data in protocol(system):
        assert data.attrs["outcome"] == "complete"
        for state in system.states:
            values = data[state].values
            assert np.all(np.isfinite(values))
            assert np.ptp(values) > 0.01 * np.abs(values).max(), (state, data.attrs["name"])
        for signal in system.inputs:
            assert len(np.unique(data[signal].values)) > 1 or len(system.protocol.experiments) > 1


@pytest.mark.parametrize("name", model_names())
def test_described_and_moderate(name: str) -> None:
    system = load_model(name)
    assert system.name == name
    assert len(system.title) > 5 and len(system.description) > 40
    assert any(str(year) in system.reference for year in range(1900, 2025))
    assert 100 <= system.protocol.samples <= 3000
    assert len(system.rates) <= 8


@pytest.mark.parametrize("name", model_names())
def test_steps_fall_on_samples(name: str) -> None:
    system = load_model(name)
    grid = system.protocol.duration / system.protocol.samples
    for plan in system.protocol.experiments:
        for stimulus in system.inputs_of(plan).values():
            for point in stimulus.breakpoints:
                assert 0 <= point <= system.protocol.duration
                assert point / grid == pytest.approx(round(point / grid), abs=1e-9)
