#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""take.py HELM SWAGGER.json CRD.yaml…: makes the schemas of this folder anew, after a manifest has got a field that
they do not have.

SWAGGER.json is kubernetes/swagger.json.unprocessed of github.com/kubernetes-client/python; the CRDs are those of
SOURCES. Of each only the fields that the manifests of contrib/ use are kept, so a field that the source does not have
is refused here, and one that is only not kept yet by the test. What the sources say in CEL (x-kubernetes-validations)
is left out. All sources are under the Apache License 2.0."""
import json
import pathlib
import sys
import tempfile

import yaml

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import manifests  # noqa: E402

CORE = "Kubernetes 1.36, kubernetes/swagger.json.unprocessed of github.com/kubernetes-client/python"
SOURCES = {
    "PyTorchJob": "manifests/base/crds/kubeflow.org_pytorchjobs.yaml of github.com/kubeflow/training-operator v1.9.0",
    "JobSet": "config/components/crd/bases/jobset.x-k8s.io_jobsets.yaml of github.com/kubernetes-sigs/jobset "
              "0.13.0-devel",
    "ServiceMonitor": "example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml of "
                      "github.com/prometheus-operator/prometheus-operator 0.93.0",
    "PrometheusRule": "example/prometheus-operator-crd/monitoring.coreos.com_prometheusrules.yaml of "
                      "github.com/prometheus-operator/prometheus-operator 0.93.0",
}
SAID = ("type", "enum", "pattern", "minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "required",
        "anyOf", "const")


class Source:
    """definitions: what "$ref" leads to in Kubernetes' own description; a CRD has everything in place."""

    def __init__(self, definitions):
        self.definitions = definitions

    def followed(self, schema):
        name = schema.get("$ref", "").rpartition("/")[2]
        if name.endswith("resource.Quantity"):
            return {"type": ["string", "number"]}
        if name.endswith("intstr.IntOrString"):
            return {"type": ["string", "integer"]}
        return self.followed(self.definitions[name]) if name else schema

    def kept(self, schema, values, where):
        """Of `schema`, what says something about `values`."""
        schema = self.followed(schema)
        kept = {key: schema[key] for key in SAID if key in schema}
        if "anyOf" in kept:
            kept.pop("type", None)
        if "properties" in schema:
            used = {name: [value[name] for value in values if name in value] for value in values for name in value}
            unknown = sorted(set(used) - set(schema["properties"]))
            if unknown:
                sys.exit(f"{where}: the source has no {', '.join(unknown)}")
            kept["properties"] = {name: self.kept(schema["properties"][name], used[name], f"{where}.{name}")
                                  for name in sorted(used)}
            kept["additionalProperties"] = False
        elif isinstance(schema.get("additionalProperties"), dict):
            inner = [item for value in values for item in value.values()]
            kept["additionalProperties"] = self.kept(schema["additionalProperties"], inner, f"{where}.*")
        if "items" in schema:
            kept["items"] = self.kept(schema["items"], [item for value in values for item in value], f"{where}[]")
        return kept


def of_kinds(swagger, crds):
    """(apiVersion, kind) → its source, its schema, the name of the source."""
    found = {}
    core = Source(swagger["definitions"])
    for schema in swagger["definitions"].values():
        for kind in schema.get("x-kubernetes-group-version-kind", []):
            found["/".join(filter(None, (kind["group"], kind["version"]))), kind["kind"]] = core, schema, CORE
    metadata = {"$ref": "#/definitions/" + next(name for name in swagger["definitions"]
                                                if name.endswith("meta.v1.ObjectMeta") or name == "v1.ObjectMeta")}
    for crd in crds:
        kind = crd["spec"]["names"]["kind"]
        for version in crd["spec"]["versions"]:
            schema = version["schema"]["openAPIV3Schema"]
            schema["properties"]["metadata"] = metadata
            found[f"{crd['spec']['group']}/{version['name']}", kind] = core, schema, SOURCES[kind]
    return found


def main():
    helm, swagger, *crds = sys.argv[1:]
    kinds = of_kinds(json.loads(pathlib.Path(swagger).read_text()),
                     [yaml.safe_load(pathlib.Path(crd).read_text()) for crd in crds])
    with tempfile.TemporaryDirectory() as folder:
        made = manifests.all_charted(manifests.Chart(helm, folder)) + [document
                                                                       for name in ("base", "monitoring", "example")
                                                                       for document in manifests.kustomized(name)]
    by_kind = {}
    for document in made:
        by_kind.setdefault((document["apiVersion"], document["kind"]), []).append(document)
    for (version, kind), values in by_kind.items():
        source, schema, name = kinds[version, kind]
        kept = source.kept(schema, values, kind)
        kept["required"] = sorted({*kept.get("required", []), "apiVersion", "kind", "metadata"})
        kept["properties"].update(apiVersion={"const": version}, kind={"const": kind})
        comment = f"Made by take.py of {name}, Apache License 2.0."
        (HERE / f"{kind}.json").write_text(json.dumps({"$comment": comment, **kept}, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
