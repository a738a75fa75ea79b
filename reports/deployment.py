"""A release for registries of deployments: model, unit, parameters, accounting; in the sections of the OpenDP registry.

Only differential privacy itself gets the parameter `epsilon`. Its relaxations, whose promise says that it is not
differential privacy, state theirs under a name of their own, and the other models state k or t.
"""

from __future__ import annotations

import json
from typing import Any

from penstock.mechanisms.guarantee import Guarantee
from penstock.mechanisms.models import MODELS
from penstock.reports.described import Described

__all__ = ["deployment_record"]

_UNITS = {
    "row": "One record",
    "individual": "One individual, with all of their records that are used",
}
_POSTPROCESSING = {
    "any": "Any further processing keeps the promise.",
    "data_independent_only": "Processing that does not look at the confidential data again keeps the promise.",
}


def deployment_record(release: Described, guarantee: Guarantee) -> str:
    """Return the text of deployment.json, about one promise."""
    words = release.words
    model = MODELS[guarantee.model]
    variant, meaning = model.variant_of(guarantee.parameters)
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
            "dp_variant" if model.is_differential_privacy else "privacy_variant": {
                "variant_name": variant,
                "is_differential_privacy": model.is_differential_privacy,
                "variant_details": meaning,
                "data_domain": "The declared domains and categories of the columns, in codebook.xml.",
                "unprotected_quantities": list(guarantee.public),
            },
            "privacy_loss": {
                "privacy_unit": _UNITS[guarantee.unit],
                "adjacency": guarantee.adjacency,
                "privacy_parameters": model.stated(guarantee.parameters),
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
