"""`penstock serve`: the processes that it starts, and the gateway through which people reach them.

serve               bind, start, register, stay; serve_command is its command line
server_process      Prefect's API for the worker, and the gateway for people
worker_process      takes flow runs; flow_process is the process of one of them
no_pickles          what a server names is never unpickled: called first by worker, flow runs and commands
registration        what is asked of a Prefect server: pool, deployments, automations
"""
