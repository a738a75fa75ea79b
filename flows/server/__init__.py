"""`penstock serve`: the processes that it starts, and the gateway through which people reach them.

serve               bind, start, register, stay; serve_command is its command line
server_process      Prefect's API for the worker, and the gateway for people
worker_process      takes flow runs; own_worker is its worker, flow_process the process of one of them
orders              what a server may order, and what is refused
no_pickles          what a server names is never unpickled or imported: called first by worker, flow runs and commands
registration        what is asked of a Prefect server: pool, deployments, automations
"""
