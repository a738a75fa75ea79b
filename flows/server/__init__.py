"""`penstock serve`: the processes that it starts, and the gateway through which people reach them.

serve               bind, start, register, stay; serve_command is its command line
server_process      Prefect's API for the worker, and the gateway for people
worker_process      takes flow runs; own_worker is its worker, flow_process the process of one of them
orders              what a server may order, and what is refused; unread_results: nothing that a state names is imported
registration        what is asked of a Prefect server: pool, deployments, automations
"""
