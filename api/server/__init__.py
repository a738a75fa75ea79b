"""`penstock serve`: the processes that it starts, and the gateway through which people reach them.

Begin with `serve`. Prefect's API listens on loopback for our worker and our gateway only (_private_api); whatever a
server orders, the worker starts our own flows and nothing else (_orders, worker_process).

    deployment_settings   what differs between a rehearsal and production: one small file, merged into the deployments
                          of prefect.yaml
    gateway/              the gateway: the only way in which people and programs reach what `penstock serve` serves
    serve                 `penstock serve`: server, work pool, deployments and worker, by one command and for its
                          length
    server_process        the process of the server that `penstock serve` starts: Prefect's API for the worker, and
                          the gateway for people
    worker_process        the process of the worker that `penstock serve` starts: it takes flow runs, and ends when
                          its input does
    _automations          the example automations of deployments/automations, pointed at PENSTOCK_WEBHOOK_URL
    _child_process        A process that lives as long as the block that started it, or as this process
    _flow_process         the process of one flow run: one of our flows in Prefect's engine, and an end when the
                          worker ends
    _orders               which of our flows a flow run is for: what a Prefect server may order, and what is refused
    _private_api          prefect's own API: on loopback, for our worker and our gateway only
    _registration         what `penstock serve` asks of a Prefect server: a work pool, deployments, a worker that
                          polls
    _worker               the worker: Prefect's for processes, but what it starts is ours, whatever the server says
"""
