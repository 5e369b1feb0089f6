"""The model a test is named after."""

import pytest

from fepysr_dyn import load_model


@pytest.fixture
def system(request):
    """Load the model of which `test_NAME` says what it does."""
    return load_model(request.function.__name__.removeprefix("test_"))
