"""Generated requests, valid and not: none may bring the service down or break its description."""

from __future__ import annotations

import pytest

pytest.importorskip("fastapi", reason="needs the extra service")
pytest.importorskip("schemathesis", reason="needs schemathesis")
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from caco.service import create_app
from caco.testing import FakeClassifier

pytestmark = pytest.mark.slow

schema = schemathesis.openapi.from_dict(create_app(classifier=FakeClassifier()).openapi())


@pytest.fixture(scope="module")
def address(serve):
    with serve(classifier=FakeClassifier()) as service:
        yield service.address


@schema.parametrize()
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
def test_no_generated_request_breaks_it(case, address):
    response = case.call(base_url=address)
    case.validate_response(
        response,
        checks=[
            not_a_server_error,
            status_code_conformance,
            content_type_conformance,
            response_schema_conformance,
        ],
    )
