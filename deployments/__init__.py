"""Where Penstock runs: prefect.yaml and its settings for rehearsal and production, automations, systemd units, example
specs, and examples for other platforms. Data only."""
