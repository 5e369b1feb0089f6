"""OdeSystem and measurements to a PEtab problem, so that other programs can fit its constants again."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import sympy

from fepysr_dyn.errors import DataError, did_you_mean
from fepysr_dyn.exchange.petab_inputs import SharedInput, shared_input
from fepysr_dyn.exchange.sbml_writing import (
    append_all,
    as_text,
    free_name,
    model_element,
    parameter_element,
    rule_element,
)
from fepysr_dyn.expressions.reals import rebuilt
from fepysr_dyn.plain_files import inside
from fepysr_dyn.replay import first_values, recorded_inputs
from fepysr_dyn.stimulus import Stimulus
from fepysr_dyn.system import OdeSystem
from fepysr_dyn.trajectories import Trajectories, with_role

if TYPE_CHECKING:
    import xarray as xr

_YAML = """format_version: 1
parameter_file: parameters.tsv
problems:
- sbml_files: [model.xml]
  condition_files: [conditions.tsv]
  observable_files: [observables.tsv]
  measurement_files: [measurements.tsv]
"""
#: A positive constant is searched this many times below and above its value.
_RANGE = 1000.0


def write_petab(system: OdeSystem, folder: str | Path, runs: Trajectories | None = None) -> Path:
    """Write a PEtab problem (version 1) into a folder, which is made if it does not exist.

    Parameters
    ----------
    system : OdeSystem
        Its parameters, and the numbers in its formulas that are not whole, are to be estimated; what they
        are now is the nominal value.
    runs : Trajectories, optional
        The measurements. Simulated from the system's own protocol if not given.

    Returns
    -------
    Path
        The file ``problem.yaml``.
    """
    files = petab_files(system, runs)
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            inside(folder, name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise DataError(f"{folder}: cannot be written: {error.strerror}") from None
    return folder / "problem.yaml"


def petab_files(system: OdeSystem, runs: Trajectories | None = None) -> dict[str, str]:
    """Return the files of a PEtab problem by name."""
    if runs is None:
        from fepysr_dyn.simulation import simulate

        plans = system.protocol.experiments
        return _Problem.of(system, simulate(system), [system.inputs_of(plan) for plan in plans]).files()
    _check(system, runs)
    return _Problem.of(system, runs, [recorded_inputs(run) for run in runs]).files()


@dataclass(frozen=True)
class _Problem:
    system: OdeSystem
    runs: tuple[xr.Dataset, ...]
    inputs: Mapping[str, SharedInput]
    starts: Mapping[str, str]
    deviations: Mapping[str, str]
    observables: Mapping[str, str]

    @classmethod
    def of(cls, system: OdeSystem, runs: Trajectories, inputs: Sequence[Mapping[str, Stimulus]]) -> _Problem:
        taken = set(system.symbols)
        system = _with_parameters(system, taken)
        experiments = tuple(runs)
        begins = [float(run["time"][0]) for run in experiments]
        end = max(float(run["time"][-1] - run["time"][0]) for run in experiments) or 1.0
        return cls(
            system,
            experiments,
            {n: shared_input(n, [own[n] for own in inputs], begins, end, taken) for n in system.inputs},
            {state: free_name(f"initial_{state}", taken) for state in system.states},
            {state: free_name(f"sd_{state}", taken) for state in system.states},
            {state: free_name(f"observable_{state}", taken) for state in system.states},
        )

    def files(self) -> dict[str, str]:
        return {
            "problem.yaml": _YAML,
            "model.xml": self._model(),
            "conditions.tsv": self._conditions(),
            "observables.tsv": self._observables(),
            "measurements.tsv": self._measurements(),
            "parameters.tsv": self._parameters(),
        }

    def _initial(self) -> dict[str, list[float]]:
        values = [first_values(run, self.system.states) for run in self.runs]
        return {state: [float(row[i]) for row in values] for i, state in enumerate(self.system.states)}

    def _model(self) -> str:
        system = self.system
        model = model_element(system)
        constants = dict(system.parameters)
        constants |= {self.starts[state]: values[0] for state, values in self._initial().items()}
        for shared in self.inputs.values():
            constants |= {name: values[0] for name, values in shared.values.items()}
        varying = (*system.states, *system.inputs, *system.assignments)
        append_all(
            model,
            "listOfParameters",
            [
                *(parameter_element(name, value, constant=True) for name, value in constants.items()),
                *(parameter_element(name, None, constant=False) for name in varying),
            ],
        )
        starts = []
        for state, name in self.starts.items():
            element = rule_element("initialAssignment", state, sympy.Symbol(name))
            element.attrib = {"symbol": state}
            starts.append(element)
        append_all(model, "listOfInitialAssignments", starts)
        rules = [rule_element("assignmentRule", n, shared.formula) for n, shared in self.inputs.items()]
        rules += [rule_element("assignmentRule", n, value) for n, value in system.assignments.items()]
        rules += [rule_element("rateRule", n, rate) for n, rate in system.rates.items()]
        append_all(model, "listOfRules", rules)
        return as_text(model)

    def _conditions(self) -> str:
        columns = {self.starts[state]: values for state, values in self._initial().items()}
        for shared in self.inputs.values():
            columns |= shared.values
        rows = [
            [_condition(i), _plain(run.attrs["name"]), *(repr(values[i]) for values in columns.values())]
            for i, run in enumerate(self.runs)
        ]
        return _table(["conditionId", "conditionName", *columns], rows)

    def _observables(self) -> str:
        rows = [[self.observables[s], s, self.deviations[s], "normal"] for s in self.system.states]
        return _table(["observableId", "observableFormula", "noiseFormula", "noiseDistribution"], rows)

    def _measurements(self) -> str:
        rows = []
        for index, run in enumerate(self.runs):
            times = (run["time"] - run["time"][0]).to_numpy()
            for state in self.system.states:
                values = run[state].to_numpy()
                for time, value in zip(times.tolist(), values.tolist(), strict=True):
                    if math.isfinite(value):
                        rows.append([self.observables[state], _condition(index), repr(value), repr(time)])
        return _table(["observableId", "simulationConditionId", "measurement", "time"], rows)

    def _parameters(self) -> str:
        rows = [_estimated(name, value) for name, value in self.system.parameters.items()]
        for state, name in self.deviations.items():
            values = np.concatenate([run[state].to_numpy() for run in self.runs])
            size = float(np.sqrt(np.nanmean(values**2))) or 1.0
            rows.append(_estimated(name, 0.05 * size))
        columns = ["parameterId", "parameterScale", "lowerBound", "upperBound", "nominalValue", "estimate"]
        return _table(columns, rows)


def _check(system: OdeSystem, runs: Trajectories) -> None:
    run = runs[0]
    for kind, names in (("state", system.states), ("input", tuple(system.inputs))):
        known = with_role(run, kind)
        for name in names:
            if name not in known:
                raise DataError(f"the data has no {kind} '{name}'{did_you_mean(name, known)}")


def _with_parameters(system: OdeSystem, taken: set[str]) -> OdeSystem:
    """Return the system with a parameter in the place of each number that is not whole."""
    found: dict[str, float] = {}

    def lifted(node: sympy.Basic, owner: str) -> sympy.Basic:
        if isinstance(node, sympy.Float):
            name = free_name(f"{owner}_c{len(found) + 1}", taken)
            found[name] = float(node)
            return sympy.Symbol(name)
        return rebuilt(node, [lifted(part, owner) for part in node.args]) if node.args else node

    rates = {name: lifted(rate, name) for name, rate in system.rates.items()}
    assignments = {name: lifted(value, name) for name, value in system.assignments.items()}
    return replace(system, rates=rates, assignments=assignments, parameters={**system.parameters, **found})


def _estimated(name: str, value: float) -> list[str]:
    if value > 0:
        scale, low, high = "log10", value / _RANGE, value * _RANGE
    else:
        width = 10 * abs(value) or 10.0
        scale, low, high = "lin", value - width, value + width
    return [name, scale, repr(float(low)), repr(float(high)), repr(float(value)), "1"]


def _condition(index: int) -> str:
    return f"experiment_{index + 1}"


def _plain(text: str) -> str:
    return "".join(sign if sign.isprintable() else " " for sign in str(text))


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    stream = io.StringIO()
    writer = csv.writer(stream, delimiter="\t", lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return stream.getvalue()
