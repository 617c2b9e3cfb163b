#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A rank of a real job is stopped. A real Prometheus scrapes `rankwatch metrics`, evaluates the rules of
contrib/prometheus, and a real Alertmanager hands the alert to a web hook, with the rank in it. Both come from PATH, or
are fetched from the distribution's packages without being installed: their services would start."""

import http.server
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import urllib.request

import stage
import unpacked

RULES = pathlib.Path(__file__).resolve().parents[2] / "contrib" / "prometheus"
PROGRAMS = {"prometheus": "prometheus", "promtool": "prometheus", "prometheus-alertmanager": "prometheus-alertmanager"}
FOUND_S = 60
WORKLOAD = ("--ranks=4", "--steps=100000", "--step-ms=100", "--elements=1024", "--fault=stop", "--fault-rank=2",
            "--fault-step=10")


def fetched(directory):
    """How each is started, by name."""
    path = f"{directory}/usr/bin:{os.environ['PATH']}"
    missing = {package for program, package in PROGRAMS.items() if not shutil.which(program)}
    if "prometheus-alertmanager" in missing:
        stage.need_mount_namespace()
    if missing:
        unpacked.unpack(missing, directory)
    programs = {program: [shutil.which(program, path=path)] for program in PROGRAMS}
    if "prometheus-alertmanager" in missing:
        # It reads a template where its package would have put it: it gets an /usr/share of its own.
        share = f"mount --bind {directory}/usr/share /usr/share && exec \"$@\""
        programs["prometheus-alertmanager"] = ["unshare", "--mount", "--propagation", "private", "sh", "-c", share,
                                               "sh", *programs["prometheus-alertmanager"]]
    return programs


def check_rules(failures, programs, directory):
    def promtool(*arguments):
        done = subprocess.run([*programs["promtool"], *arguments], capture_output=True, text=True)
        return done.returncode == 0, done.stdout + done.stderr

    failures.check(*promtool("test", "rules", RULES / "rules_test.yml"), always=True)
    # The dashboard's queries as rules: so promtool reads them.
    board = json.loads((RULES / "grafana-dashboard.json").read_text())
    queries = [target["expr"].replace("$instance", ".*").replace("$job", ".*") for panel in board["panels"]
               for target in panel["targets"]]
    rules = [{"record": f"query:{number}", "expr": query} for number, query in enumerate(queries)]
    file = directory / "queries.json"
    file.write_text(json.dumps({"groups": [{"name": "queries", "rules": rules}]}))
    failures.check(len(queries) > 5, f"{len(queries)} queries of the dashboard")
    failures.check(*promtool("check", "rules", str(file)), always=True)


class Hook(http.server.BaseHTTPRequestHandler):
    alerts = []

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        Hook.alerts += body["alerts"]
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_):
        pass


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def start_servers(play, programs, metrics_port):
    hook = http.server.HTTPServer(("127.0.0.1", 0), Hook)
    threading.Thread(target=hook.serve_forever, daemon=True).start()
    alerts_port, prometheus_port = free_port(), free_port()
    config, receivers = play.dir / "prometheus.json", play.dir / "alertmanager.json"
    receivers.write_text(json.dumps({
        "route": {"receiver": "hook", "group_wait": "0s", "group_interval": "1s"},
        "receivers": [{"name": "hook", "webhook_configs": [{"url": f"http://127.0.0.1:{hook.server_port}/"}]}]}))
    config.write_text(json.dumps({
        "global": {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"},
        "rule_files": [str(RULES / "rankwatch.rules.yml")],
        "scrape_configs": [{"job_name": "rankwatch", "static_configs": [{"targets": [f"127.0.0.1:{metrics_port}"]}]}],
        "alerting": {"alertmanagers": [{"static_configs": [{"targets": [f"127.0.0.1:{alerts_port}"]}]}]}}))
    play.start(*programs["prometheus-alertmanager"], f"--config.file={receivers}", f"--storage.path={play.dir}/alerts",
               f"--web.listen-address=127.0.0.1:{alerts_port}", "--cluster.listen-address=")
    play.start(*programs["prometheus"], f"--config.file={config}", f"--storage.tsdb.path={play.dir}/tsdb",
               f"--web.listen-address=127.0.0.1:{prometheus_port}")


def page(port, accept):
    request = urllib.request.Request(f"http://127.0.0.1:{port}/metrics", headers={"Accept": accept})
    with urllib.request.urlopen(request, timeout=5) as answer:
        return answer.headers["Content-Type"], answer.read().decode()


def answers(port):
    try:
        return page(port, "text/plain")
    except OSError:
        return None


def is_our_alert(alert):
    labels = alert["labels"]
    return labels["alertname"] == "RankwatchCritical" and labels.get("rank") == "2"


def play_job(failures, programs):
    with stage.Stage() as play:
        port = free_port()
        exporter = play.start(stage.RANKWATCH, "metrics", "--listen", port)
        failures.check(stage.wait_until(lambda: answers(port), 10), "rankwatch metrics answers without a job")
        start_servers(play, programs, port)
        job = play.start(stage.RANKWATCH, "run", "--", *stage.workload(*WORKLOAD))
        stage.wait_until(lambda: any(is_our_alert(alert) for alert in Hook.alerts) or job.popen.poll() is not None,
                         FOUND_S)
        # Root's exporter sees the jobs of all users, those of other tests too.
        alerts = [alert["labels"] for alert in Hook.alerts if alert["labels"].get("job_id") == play.dir.name]
        failures.check(any(is_our_alert(alert) for alert in Hook.alerts), f"Alertmanager tells of rank 2: {alerts}")
        # Where the scan's budget left out the first bad input, an inconclusive finding of the job comes before that of
        # the rank, and accuses nobody.
        accused = {labels["rank"] for labels in alerts
                   if labels["alertname"] in ("RankwatchCritical", "RankwatchWarning") and "rank" in labels}
        failures.check(accused <= {"2"}, f"and of nobody else: {accused}", always=True)
        kind, text = page(port, "application/openmetrics-text;version=1.0.0")
        failures.check(kind.startswith("application/openmetrics-text") and text.endswith("# EOF\n"),
                       f"as OpenMetrics: {kind}")
        costs = [float(line.rsplit(" ", 1)[1]) for line in text.splitlines()
                 if line.startswith(f'rankwatch_rank_callback_seconds_total{{job_id="{play.dir.name}"')]
        failures.check(len(costs) == 4 and all(0 < cost < 1 for cost in costs),
                       f"what the plugin's callbacks took of each rank: {costs}")
        checked = subprocess.run([*programs["promtool"], "check", "metrics"], input=page(port, "")[1], text=True,
                                 capture_output=True)
        failures.check(checked.returncode == 0, f"promtool has nothing to say: {checked.stdout}{checked.stderr}",
                       always=True)
        exporter.popen.send_signal(signal.SIGTERM)
        failures.check(exporter.wait(5) == 0, "rankwatch metrics ends at SIGTERM with 0")


def main():
    failures = stage.Failures()
    with tempfile.TemporaryDirectory(prefix="rankwatch-prometheus.") as directory:
        programs = fetched(directory)
        check_rules(failures, programs, pathlib.Path(directory))
        play_job(failures, programs)
    failures.end()


if __name__ == "__main__":
    main()
