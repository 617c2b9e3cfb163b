#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""kubernetes.py BUILD: what contrib/kubernetes and the Helm chart become is what the APIs take (schemas/), switches
rankwatch on in every kind of job that they name, at the place where that kind keeps its pods, and has no right but
those that are named here. BUILD may have a helm (get_helm)."""
import copy
import json
import pathlib
import shutil
import sys
import tempfile

try:
    import jsonschema
    import yaml

    import manifests
    from manifests import RefusedError
except ImportError as missing:
    print(f"skipped: {missing.name} of Python is not installed (python3-yaml, python3-jsonschema)")
    sys.exit(77)

SCHEMAS = pathlib.Path(__file__).resolve().parent / "schemas"
RULES, DASHBOARD = (manifests.CONTRIB / "prometheus" / "rankwatch.rules.yml",
                    manifests.CONTRIB / "prometheus" / "grafana-dashboard.json")
RIGHTS = {"BPF", "PERFMON", "SYSLOG", "SETUID", "SETGID", "SETPCAP"}
OURS = ["/rankwatch/bin/rankwatch", "run", "--"]
NATS = "natsUrl=nats://nats.default:4222"
HARD_JOB = """
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: hard, labels: {team: a}}
spec:
  runPolicy: {activeDeadlineSeconds: 12096000}
  pytorchReplicaSpecs:
    Master: &pods
      replicas: 1
      template:
        spec:
          initContainers: [{name: data, image: data}]
          volumes: [{name: shm, emptyDir: {medium: Memory, sizeLimit: 64Gi}}]
          containers:
            - name: pytorch
              image: train
              command: [python, train.py]
              args: [--all]
              env: [{name: RANKWATCH_JOB, value: other}, {name: NCCL_DEBUG, value: WARN}]
              volumeMounts: [{name: shm, mountPath: /dev/shm/}]
            - {name: sidecar, image: sidecar}
    Worker: *pods
"""


def check_schema(document):
    schema = json.loads((SCHEMAS / f"{document['kind']}.json").read_text())
    for error in jsonschema.Draft7Validator(schema).iter_errors(document):
        where = ".".join(map(str, error.absolute_path))
        raise AssertionError(f"{document['kind']} {document['metadata']['name']}, {where}: {error.message}")


def check_schemas(documents):
    for document in documents:
        check_schema(document)


def one(documents, kind):
    found = [document for document in documents if document["kind"] == kind]
    assert len(found) == 1, f"{len(found)} of kind {kind}: {[document['kind'] for document in documents]}"
    return found[0]


def pods(job):
    """The pod specifications of a job, by the path at which its kind keeps them."""
    spec = job["spec"]
    templates = {"Job": lambda: [spec["template"]],
                 "PyTorchJob": lambda: [replica["template"] for replica in spec["pytorchReplicaSpecs"].values()],
                 "JobSet": lambda: [part["template"]["spec"]["template"] for part in spec["replicatedJobs"]]}
    return [template["spec"] for template in templates[job["kind"]]()]


def check_watched(job):
    for pod in pods(job):
        container, brings = pod["containers"][0], pod["initContainers"][-1]
        volumes = {volume["name"]: volume for volume in pod["volumes"]}
        mounts = {mount["mountPath"].rstrip("/"): volumes[mount["name"]] for mount in container["volumeMounts"]}
        assert brings["args"] == ["copy-to", "/rankwatch"] and brings["image"].startswith("rankwatch:"), brings
        assert brings["volumeMounts"][0]["name"] == mounts["/rankwatch"]["name"]
        assert brings["securityContext"]["capabilities"] == {"drop": ["ALL"]}
        assert mounts["/dev/shm"]["emptyDir"]["medium"] == "Memory", mounts
        assert container["command"][:3] == OURS and OURS[0] not in container["command"][1:], container["command"]


def check_node(daemons):
    """Least rights: of the whole machine it has the process ids, a socket's folder and six capabilities."""
    pod = daemons["spec"]["template"]["spec"]
    rights = pod["containers"][0]["securityContext"]
    assert set(rights["capabilities"]["add"]) == RIGHTS and rights["capabilities"]["drop"] == ["ALL"], rights
    assert "privileged" not in rights and rights["readOnlyRootFilesystem"], rights
    assert not rights["allowPrivilegeEscalation"], rights
    assert pod["hostPID"] and not {"hostNetwork", "hostIPC"} & set(pod) and not pod["automountServiceAccountToken"], pod
    assert [volume["hostPath"]["path"] for volume in pod["volumes"]] == ["/run/rankwatchd"], pod["volumes"]


def check_judge(documents):
    judge, service = one(documents, "Deployment"), one(documents, "Service")
    pod = judge["spec"]["template"]["spec"]
    assert judge["spec"]["replicas"] == 1
    assert pod["securityContext"]["runAsNonRoot"] and not pod["automountServiceAccountToken"]
    for container in pod["containers"]:
        assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}, container
        assert container["securityContext"]["readOnlyRootFilesystem"], container
    labels = judge["spec"]["template"]["metadata"]["labels"]
    assert service["spec"]["selector"].items() <= labels.items()
    return service


def check_monitored(service, monitor):
    """The operator looks for labels of the service, and for its port by name."""
    assert monitor["spec"]["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
    assert [end["port"] for end in monitor["spec"]["endpoints"]] == [port["name"] for port in service["spec"]["ports"]]


def check_prometheus(documents):
    rules = one(documents, "PrometheusRule")["spec"]
    assert rules == yaml.safe_load(RULES.read_text()), "the alerts are not those of rankwatch.rules.yml"
    boards = [document for document in documents
              if document["metadata"].get("labels", {}).get("grafana_dashboard") == "1"]
    assert [json.loads(board["data"]["rankwatch.json"])
            for board in boards] == [json.loads(DASHBOARD.read_text())], "the dashboard is another one"


def check_kustomized():
    jobs, base, monitoring = (manifests.kustomized(name) for name in ("example", "base", "monitoring"))
    check_schemas(jobs + base + monitoring)
    assert {job["kind"] for job in jobs} == {"Job", "PyTorchJob", "JobSet"}
    for job in jobs:
        check_watched(job)
    assert {document["kind"] for document in base} == {"Namespace", "ConfigMap", "Service", "Deployment", "DaemonSet"}
    check_node(one(base, "DaemonSet"))
    check_monitored(check_judge(monitoring), one(monitoring, "ServiceMonitor"))
    check_prometheus(monitoring)


def check_listed():
    """Without kubectl: the files as they are."""
    documents = manifests.listed("base") + manifests.listed("monitoring") + manifests.listed("example")
    check_schemas(documents)
    check_node(one(documents, "DaemonSet"))
    check_monitored(check_judge(documents), one(documents, "ServiceMonitor"))


def check_cluster(chart):
    """Without a job: what a cluster has once. The operator's objects only where they are asked for: its kinds may be
    unknown."""
    bare = chart.release("rankwatch")
    assert [document["kind"] for document in bare] == ["DaemonSet"]
    check_node(bare[0])
    everything = chart.release("rankwatch", "monitoring.enabled=true", "dashboard.enabled=true", "nats.enabled=true")
    assert {document["kind"] for document in everything} == {"DaemonSet", "PrometheusRule", "ConfigMap", "Service"}
    check_prometheus(everything)


def check_switch(chart, text):
    """The switch brings rankwatch into the job and a judge beside it; off, the job is the one that came."""
    given = yaml.safe_load(text)
    off = chart.release("train", "watched=false", NATS, job=text)
    assert off == [given], off
    alone = chart.release("train", job=text)
    assert [document["kind"] for document in alone] == [given["kind"]]
    judged = chart.release("train", NATS, "monitoring.enabled=true", "dashboard.enabled=true", job=text)
    job = one(judged, given["kind"])
    check_watched(job)
    assert len(judged) == 4, [document["kind"] for document in judged]
    check_monitored(check_judge(judged), one(judged, "ServiceMonitor"))
    name = {"name": "RANKWATCH_JOB", "value": given["metadata"]["name"]}
    for container in [pod["containers"][0]
                      for pod in pods(job)] + [one(judged, "Deployment")["spec"]["template"]["spec"]["containers"][0]]:
        names = [variable["name"] for variable in container["env"]]
        assert name in container["env"] and "RANKWATCH_NATS" in names, container["env"]
        assert len(set(names)) == len(names), container["env"]


def check_kept(chart):
    """What a job has of its own is still there, and nothing else was added."""
    job = one(chart.release("train", NATS, job=HARD_JOB), "PyTorchJob")
    wanted = copy.deepcopy(yaml.safe_load(HARD_JOB))
    for pod, was in zip(pods(job), pods(wanted)):
        assert pod["initContainers"].pop()["name"] == "rankwatch"
        assert pod["volumes"].pop()["name"] == "rankwatch"
        container = pod["containers"][0]
        assert container["volumeMounts"].pop()["mountPath"] == "/rankwatch"
        assert container["command"] == OURS + was["containers"][0]["command"]
        assert {"name": "NCCL_DEBUG", "value": "WARN"} in container["env"]
        container["command"], container["env"] = was["containers"][0]["command"], was["containers"][0]["env"]
    assert json.dumps(job, sort_keys=True) == json.dumps(wanted, sort_keys=True)


def check_own_start(chart):
    """A job that starts rankwatch by itself stays as it is, also where its image has no shell for the launcher."""
    for program in ("rankwatch", "rankwatch.bin"):
        command = [f"/rankwatch/bin/{program}", "run", "--save", "/boxes", "--", "python", "train.py"]
        job = one(chart.release("train", job=HARD_JOB.replace("[python, train.py]", json.dumps(command))), "PyTorchJob")
        assert pods(job)[0]["containers"][0]["command"] == command, job


def check_refused(chart):
    def refused(words, *settings, job=None):
        try:
            chart.release("train", *settings, job=job)
        except RefusedError as error:
            assert words in str(error), error
        else:
            raise AssertionError(f"it is rendered: {settings} {job}")

    refused("has no command, in front of which", job=HARD_JOB.replace("command: [python, train.py]", ""))
    refused("a Pod is none of Job, PyTorchJob and JobSet", job="{apiVersion: v1, kind: Pod, metadata: {name: a}}")
    refused("it has no kind", job="not: a job")
    refused("watch", "watch=true")
    refused("natsUrl", "natsUrl=nats.default:4222")


def check_charted(helm):
    with tempfile.TemporaryDirectory() as folder:
        chart = manifests.Chart(helm, folder)
        check_schemas(manifests.all_charted(chart))
        check_cluster(chart)
        for file in sorted(manifests.JOBS.glob("*job*.yaml")):
            check_switch(chart, file.read_text())
        check_kept(chart)
        check_own_start(chart)
        check_refused(chart)
        own = chart.release("train", "nats.enabled=true", job=HARD_JOB)
        assert {"name": "RANKWATCH_NATS",
                "value": "nats://train-nats.jobs:4222"} in pods(one(own, "PyTorchJob"))[0]["containers"][0]["env"]


def main():
    helm = manifests.find_helm(sys.argv[1])
    if shutil.which("kubectl"):
        check_kustomized()
    else:
        print("no kubectl: the files of contrib/kubernetes were checked, and not what they become")
        check_listed()
    if helm:
        check_charted(helm)
    else:
        print("no helm: the chart was not rendered")
    return 0


if __name__ == "__main__":
    sys.exit(main())
