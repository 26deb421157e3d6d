"""The HTTP service: the engine behind ``caco serve``; needs the extra ``service``."""

from importlib.util import find_spec

from caco.errors import MissingExtraError

if any(find_spec(name) is None for name in ("fastapi", "uvicorn", "prometheus_client")):
    raise MissingExtraError("The service", "service")

from caco.service.app import create_app
from caco.service.server import serve
from caco.service.settings import ServiceSettings

__all__ = ["ServiceSettings", "create_app", "serve"]
