{{- define "rankwatch.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- define "rankwatch.nats" -}}
{{- if .Values.natsUrl }}{{ .Values.natsUrl }}
{{- else if .Values.nats.enabled }}nats://{{ include "nats.fullname" .Subcharts.nats }}.{{ .Release.Namespace }}:4222
{{- end }}
{{- end }}

{{- /* The job as YAML, read. */}}
{{- define "rankwatch.job" -}}
{{- $job := fromYaml .Values.job }}
{{- if $job.Error }}{{ fail (printf "job: %s" $job.Error) }}{{ end }}
{{- if not $job.kind }}{{ fail "job: it has no kind; give a file: --set-file job=pretrain.yaml" }}{{ end }}
{{- toYaml $job }}
{{- end }}

{{- define "rankwatch.jobName" -}}
{{- .Values.jobName | default (include "rankwatch.job" . | fromYaml).metadata.name | required "the job has no metadata.name: set jobName" }}
{{- end }}

{{- define "rankwatch.judged" -}}
{{- if and .Values.job .Values.watched .Values.judge.enabled (include "rankwatch.nats" .) }}yes{{ end }}
{{- end }}

{{- define "rankwatch.labels" -}}
app.kubernetes.io/name: {{ .name }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
{{- end }}

{{- define "rankwatch.env" -}}
- {name: RANKWATCH_JOB, value: {{ include "rankwatch.jobName" . | quote }}}
- {name: NODE_NAME, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}
{{- with include "rankwatch.nats" . }}
- {name: RANKWATCH_NATS, value: {{ . | quote }}}
{{- end }}
{{- with .Values.env }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "rankwatch.initContainer" -}}
name: rankwatch
image: {{ include "rankwatch.image" . }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
args: [copy-to, /rankwatch]
resources: {requests: {cpu: 10m, memory: 32Mi}, limits: {cpu: "1", memory: 64Mi}}
securityContext: {allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: {drop: [ALL]}}
volumeMounts: [{name: rankwatch, mountPath: /rankwatch}]
{{- end }}

{{- /*
Brings rankwatch into one pod template, in place: dict "pod" (the template) "root" (the chart). What the pod has stays as it is, also its own
memory at /dev/shm; only variables that the chart sets take the place of those of the same name.
*/}}
{{- define "rankwatch.watch" }}
{{- $spec := .pod.spec }}
{{- $container := first $spec.containers }}
{{- if not $container.command }}
{{- fail (printf "container %s has no command, in front of which rankwatch could be put: write the one of its image into the job" $container.name) }}
{{- end }}
{{- $mounts := list (dict "name" "rankwatch" "mountPath" "/rankwatch" "readOnly" true) }}
{{- $volumes := list (dict "name" "rankwatch" "emptyDir" (dict "sizeLimit" "32Mi")) }}
{{- $memory := true }}
{{- range $container.volumeMounts }}{{ if eq (clean .mountPath) "/dev/shm" }}{{ $memory = false }}{{ end }}{{ end }}
{{- if $memory }}
{{- $mounts = append $mounts (dict "name" "rankwatch-memory" "mountPath" "/dev/shm") }}
{{- $volumes = append $volumes (dict "name" "rankwatch-memory" "emptyDir" (dict "medium" "Memory")) }}
{{- end }}
{{- if not (has (base (first $container.command)) (list "rankwatch" "rankwatch.bin")) }}
{{- $_ := set $container "command" (concat (list "/rankwatch/bin/rankwatch" "run" "--") $container.command) }}
{{- end }}
{{- $env := include "rankwatch.env" .root | fromYamlArray }}
{{- $names := list }}
{{- range $env }}{{ $names = append $names .name }}{{ end }}
{{- range $container.env }}{{ if not (has .name $names) }}{{ $env = append $env . }}{{ end }}{{ end }}
{{- $_ := set $container "env" $env }}
{{- $_ := set $container "volumeMounts" (concat ($container.volumeMounts | default list) $mounts) }}
{{- $_ := set $spec "volumes" (concat ($spec.volumes | default list) $volumes) }}
{{- $_ := set $spec "initContainers" (append ($spec.initContainers | default list) (include "rankwatch.initContainer" .root | fromYaml)) }}
{{- with .root.Values.image.pullSecrets }}{{ $_ := set $spec "imagePullSecrets" (concat ($spec.imagePullSecrets | default list) .) }}{{ end }}
{{- end }}
