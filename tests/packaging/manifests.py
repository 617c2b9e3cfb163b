# SPDX-License-Identifier: MIT
"""What contrib/kubernetes and contrib/helm become: objects, as kubectl and helm render them."""
import os
import pathlib
import shutil
import subprocess

import yaml

CONTRIB = pathlib.Path(__file__).resolve().parents[2] / "contrib"
JOBS = CONTRIB / "kubernetes" / "example"
NATS = {"Chart.yaml": "apiVersion: v2\nname: nats\nversion: 2.14.0\n",
        "templates/_name.tpl": '{{ define "nats.fullname" }}{{ .Release.Name }}-nats{{ end }}\n',
        "templates/service.yaml": "apiVersion: v1\nkind: Service\nmetadata: {name: '{{ include \"nats.fullname\" . "
                                  "}}'}\nspec: {ports: [{name: nats, port: 4222}]}\n"}


class RefusedError(Exception):
    """It was not rendered: the message is what helm or kubectl said."""


def documents(text):
    return [document for document in yaml.safe_load_all(text) if document]


def render(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RefusedError(done.stderr)
    return documents(done.stdout)


def find_helm(build):
    """The one on PATH, or the one that tests/packaging/get_helm has put into the build's folder; None: neither."""
    own = pathlib.Path(build) / "helm"
    return shutil.which("helm") or (str(own) if os.access(own, os.X_OK) else None)


def kustomized(name):
    return render("kubectl", "kustomize", CONTRIB / "kubernetes" / name)


def listed(name):
    """The files that a kustomization names, without what kubectl would make of them."""
    folder = CONTRIB / "kubernetes" / name
    found = []
    for entry in yaml.safe_load((folder / "kustomization.yaml").read_text())["resources"]:
        path = (folder / entry).resolve()
        assert path.exists(), f"{folder}/kustomization.yaml names {entry}, which is not there"
        found += documents(path.read_text()) if path.is_file() else []
    return found


class Chart:
    """The chart as a package, with a stand-in for the chart of nats.io, which would have to be downloaded."""

    def __init__(self, helm, folder):
        self.helm, self.folder = helm, pathlib.Path(folder)
        for part in ("helm", "prometheus"):
            shutil.copytree(CONTRIB / part, self.folder / part, symlinks=True)
        chart = self.folder / "helm" / "rankwatch"
        shutil.rmtree(chart / "charts", ignore_errors=True)
        (chart / "Chart.lock").unlink(missing_ok=True)
        for name, text in NATS.items():
            file = chart / "charts" / "nats" / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        subprocess.run([helm, "package", chart, "--destination", folder], check=True, capture_output=True)
        self.package = next(self.folder.glob("rankwatch-*.tgz"))

    def release(self, name, *settings, job=None):
        """job: a manifest as text."""
        arguments = [argument for setting in settings for argument in ("--set", setting)]
        if job is not None:
            file = self.folder / "job.yaml"
            file.write_text(job)
            arguments += ["--set-file", f"job={file}"]
        return render(self.helm, "template", name, self.package, "--namespace", "jobs", *arguments)


def all_charted(chart):
    """Every object that the chart can make."""
    made = chart.release("rankwatch", "monitoring.enabled=true", "monitoring.labels.release=prometheus",
                         "dashboard.enabled=true")
    for file in sorted(JOBS.glob("*job*.yaml")):
        made += chart.release("train", "natsUrl=nats://nats.default:4222", "monitoring.enabled=true",
                              "image.pullSecrets[0].name=registry", job=file.read_text())
    return made
