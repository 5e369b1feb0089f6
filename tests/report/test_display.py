"""What notebooks show."""

import fepysr_dyn as fd


def test_systems(tyson):
    system = fd.load_model("tyson_two_protein")
    shown = system._repr_html_()
    assert "Two-protein" in shown
    # Two equations of two parts, four assignments.
    assert shown.count("<math") >= 6
    latex = system._repr_latex_()
    assert latex.startswith("$\\displaystyle")
    assert r"\frac{dX_{1}}{dt} &=" in latex


def test_discoveries(tyson):
    shown = tyson._repr_html_()
    assert "Validated." in shown
    assert "has only 3 levels" in shown
    assert tyson._repr_latex_().count("&=") == 2


def test_names_are_escaped(growth):
    from dataclasses import replace

    hostile = replace(growth, warnings=("<script>alert(1)</script>",))
    assert "<script>" not in hostile._repr_html_()
    system = replace(growth.system, title="<b>bold</b>")
    assert "<b>" not in system._repr_html_()


def test_fronts(growth):
    front = growth.fronts["x"]
    assert front._repr_html_().count("<tr>") == len(front) + 1
    assert front._repr_latex_().count("\\\\") == len(front)
    figure = front.plot()
    assert figure.axes[0].get_yscale() == "log"
    assert figure._repr_png_().startswith(b"\x89PNG")


def test_plots_of_discoveries(tyson):
    figure = tyson.plot()
    assert [panel.get_ylabel() for panel in figure.axes] == ["X1", "X2", "S"]
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels == ["measured", "equations, integrated again"]
    assert figure._repr_png_().startswith(b"\x89PNG")


def test_plots_of_trajectories(tyson):
    assert [panel.get_ylabel() for panel in tyson.data.plot().axes] == ["X1", "X2", "S"]


def test_a_model_that_ended_early_can_be_drawn(growth):
    from dataclasses import replace

    (run,) = growth.validation.runs
    broken = run.simulated.copy(deep=True)
    broken["x"][10:] = float("nan")
    cut = replace(run, simulated=broken)
    replace(growth, validation=replace(growth.validation, runs=(cut,)), data=None).plot()._repr_png_()
