"""A release for registries of deployments: model, unit, parameters, accounting; in the sections of the OpenDP registry.

Only differential privacy itself gets the parameter `epsilon`. Its relaxations, whose promise says that it is not
differential privacy, state theirs under a name of their own, and the other models state k or t.
"""

from __future__ import annotations

import json
from typing import Any

from penstock.mechanisms.guarantee import Guarantee, Model
from penstock.reports.described import Described

__all__ = ["deployment_record"]

_NOT_DP = "This is not differential privacy."
_VARIANTS: dict[Model, tuple[str, str]] = {
    "dp": ("Pure DP", "Differential privacy, without delta."),
    "bdp": ("Bootstrap DP", f"A relaxation of differential privacy, given a secret size of the noise. {_NOT_DP}"),
    "idp": ("Individual DP", f"A relaxation of differential privacy, given a secret size of the noise. {_NOT_DP}"),
    "prob_k": ("Probabilistic k-anonymity", f"A bound on the probability of a right guess. {_NOT_DP}"),
    "t_close": ("t-closeness as a ratio of shares", f"A bound on what is believed of anybody's bucket. {_NOT_DP}"),
    "k_anon": ("k-anonymity", f"A smallest number of records that look alike. {_NOT_DP}"),
}
_RELAXED: dict[Model, str] = {"bdp": "bootstrap_epsilon", "idp": "individual_epsilon"}
_UNITS = {
    "row": "One record",
    "individual": "One individual, with all of their records that are used",
}
_POSTPROCESSING = {
    "any": "Any further processing keeps the promise.",
    "data_independent_only": "Processing that does not look at the confidential data again keeps the promise.",
}


def deployment_record(release: Described) -> str:
    """The text of deployment.json."""
    guarantee, words = release.guarantee, release.words
    name, meaning = _VARIANTS[guarantee.model]
    basic: dict[str, Any] = {
        "name": release.title,
        "release": release.identifier,
        "description": f"{release.rows:,} {release.output.rows}.",
        "data_product_type": release.output.product,
    }
    if "publisher" in words:
        basic["data_curators"] = [{"data_curator_name": words["publisher"]}]
    if not release.reviewed:
        basic["publication_date"] = release.created.date().isoformat()
    record = {
        "deployment": {
            "basic": basic,
            "dp_variant" if guarantee.model == "dp" else "privacy_variant": {
                "variant_name": name,
                "is_differential_privacy": guarantee.model == "dp",
                "variant_details": meaning,
                "data_domain": "The declared domains and categories of the columns, in codebook.xml.",
                "unprotected_quantities": list(guarantee.public),
            },
            "privacy_loss": {
                "privacy_unit": _UNITS[guarantee.unit],
                "adjacency": guarantee.adjacency,
                "privacy_parameters": _parameters(guarantee),
                "privacy_parameters_details": guarantee.statement,
            },
            "deployment_model": {
                "model_name": "Central",
                "trust_assumptions": list(guarantee.assumptions),
                "release_type": "One release",
                "access_type": "Non-interactive",
            },
            "implementation": {
                "mechanisms": release.mechanism,
                "software": release.software,
                "columns": {
                    column["name"]: column["treatment"] for sheet in release.sheets for column in sheet.columns
                },
                "composition": guarantee.composes_with,
                "post_processing": _POSTPROCESSING[guarantee.postprocessing],
                "not_promised": list(guarantee.not_promised),
            },
        }
    }
    return json.dumps(record, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _parameters(guarantee: Guarantee) -> dict[str, str]:
    """The numbers of the promise, as exact text."""
    stated = guarantee.parameters
    if guarantee.model == "dp":
        return {"epsilon": str(stated["epsilon"]), "delta": "0"}
    if guarantee.model in _RELAXED:
        return {_RELAXED[guarantee.model]: str(stated["epsilon"])}
    return {name: str(stated[name]) for name in ("k", "t") if stated.get(name) is not None}
