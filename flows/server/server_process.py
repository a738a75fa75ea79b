"""The process of the server that `penstock serve` starts: Prefect's, and the reports beside it.

It ends when its input does, so also when the command that started it is killed.
"""

from __future__ import annotations

import os
import sys
import threading
import time

from flows.server.report_pages import beside_reports
from records.home import Home

__all__: list[str] = []

_GRACE = 10.0


def serve(host: str, port: int) -> None:
    import uvicorn
    from prefect.server.api.server import create_app

    app = beside_reports(create_app(), Home.open())
    server = uvicorn.Server(uvicorn.Config(app, host=host, port=port, log_level="warning", lifespan="on"))

    def end_with_parent() -> None:
        sys.stdin.buffer.read()
        server.should_exit = True
        time.sleep(_GRACE / 2)
        server.force_exit = True  # a browser that holds its connection does not hold us
        time.sleep(_GRACE / 2)
        os._exit(0)

    threading.Thread(target=end_with_parent, daemon=True).start()
    server.run()


if __name__ == "__main__":
    os.umask(0o077)
    serve(sys.argv[1], int(sys.argv[2]))
