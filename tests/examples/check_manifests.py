#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the hipbroker authors
"""What can be told of the manifests in docs/examples without a cluster: the fields each kind must have, that
names agree with each other, that mounts lead where the daemon serves, and that nothing asks for more rights
than docs/containers.md says it needs.

With --selftest: every rule finds what it is there for."""

import copy
import json
import pathlib
import sys

import yaml

REQUIRED = {
    "Namespace": ["apiVersion=v1", "metadata.name"],
    "DaemonSet": ["apiVersion=apps/v1", "metadata.name", "metadata.namespace", "spec.selector.matchLabels",
                  "spec.template.metadata.labels", "spec.template.spec.containers"],
    "Pod": ["apiVersion=v1", "metadata.name", "metadata.namespace", "spec.containers"],
    "PersistentVolume": ["apiVersion=v1", "metadata.name", "spec.capacity.storage", "spec.accessModes",
                         "spec.hostPath.path"],
    "PersistentVolumeClaim": ["apiVersion=v1", "metadata.name", "metadata.namespace", "spec.accessModes",
                              "spec.resources.requests.storage"],
}
SOCKET_DIRECTORY = "/run/hipbroker"
SCOPES = SOCKET_DIRECTORY + "/scopes/"
HOST_NAMESPACES = ("hostNetwork", "hostPID", "hostIPC", "hostUsers")
RESTRICTED_VOLUMES = {"configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim",
                      "projected", "secret"}


def at(value, path):
    for key in path.split("."):
        value = value.get(key) if isinstance(value, dict) else None
    return value


def fields(document):
    kind = document.get("kind")
    if kind not in REQUIRED:
        yield f"kind {kind} is not known here"
        return
    for path in REQUIRED[kind]:
        path, _, expected = path.partition("=")
        found = at(document, path)
        if found in (None, "", [], {}):
            yield f"{path} is missing"
        elif expected and found != expected:
            yield f"{path} is {found}, expected {expected}"


def pod_spec(document):
    if document.get("kind") == "Pod":
        return document["spec"]
    return at(document, "spec.template.spec")


def pods(document, restricted):
    spec = pod_spec(document)
    if spec is None:
        return
    for name in HOST_NAMESPACES:
        if name in spec:
            yield f"{name} is set; nothing here needs it"
    volumes = {volume["name"]: volume for volume in spec.get("volumes", [])}
    mounted = set()
    for container in spec.get("initContainers", []) + spec["containers"]:
        where = f"container {container.get('name')}"
        if not container.get("name") or not container.get("image"):
            yield f"{where} has no name or no image"
        for mount in container.get("volumeMounts", []):
            mounted.add(mount["name"])
            if mount["name"] not in volumes:
                yield f"{where} mounts {mount['name']}, which is no volume of the pod"
            if mount["mountPath"] != SOCKET_DIRECTORY:
                yield f"{where} mounts at {mount['mountPath']}; the library looks in {SOCKET_DIRECTORY}"
            if "subPath" in mount:
                yield f"{where} mounts a subPath: a new socket would not be seen"
        context = {**spec.get("securityContext", {}), **container.get("securityContext", {})}
        if context.get("privileged"):
            yield f"{where} is privileged"
        if context.get("allowPrivilegeEscalation") is not False:
            yield f"{where} does not say allowPrivilegeEscalation: false"
        if at(context, "capabilities.drop") != ["ALL"]:
            yield f"{where} does not drop ALL capabilities"
        added = at(context, "capabilities.add") or []
        is_init = container in spec.get("initContainers", [])
        if added and not (is_init and added == ["CHOWN"]):
            yield f"{where} adds capabilities {added}"
        if not is_init or restricted:
            if context.get("runAsNonRoot") is not True or not context.get("runAsUser"):
                yield f"{where} may run as root"
            if at(context, "seccompProfile.type") != "RuntimeDefault":
                yield f"{where} has no seccompProfile RuntimeDefault"
    for name in volumes:
        if name not in mounted:
            yield f"volume {name} is mounted nowhere"
    for name, volume in volumes.items():
        kinds = set(volume) - {"name"}
        if restricted and not kinds <= RESTRICTED_VOLUMES:
            yield f"volume {name} is of {sorted(kinds)}, which the restricted pod security refuses"
        path = at(volume, "hostPath.path")
        if path is not None and path != SOCKET_DIRECTORY:
            yield f"volume {name} is {path}, the daemon's directory is {SOCKET_DIRECTORY}"


def selector(document):
    if document.get("kind") != "DaemonSet":
        return
    wanted = document["spec"]["selector"]["matchLabels"]
    labels = document["spec"]["template"]["metadata"]["labels"]
    if any(labels.get(key) != value for key, value in wanted.items()):
        yield "spec.selector does not select its own pods"


def together(documents):
    """Rules over all manifests: claims, volumes and namespaces name each other."""
    of_kind = {}
    for document in documents:
        of_kind.setdefault(document.get("kind"), []).append(document)
    namespaces = {d["metadata"]["name"] for d in of_kind.get("Namespace", [])} | {"default"}
    for document in documents:
        namespace = document["metadata"].get("namespace")
        if namespace is not None and namespace not in namespaces:
            yield f"namespace {namespace} is made nowhere"
    volumes = {d["metadata"]["name"]: d for d in of_kind.get("PersistentVolume", [])}
    claims = {(d["metadata"]["namespace"], d["metadata"]["name"]): d
              for d in of_kind.get("PersistentVolumeClaim", [])}
    for (namespace, name), claim in claims.items():
        volume = volumes.get(claim["spec"].get("volumeName"))
        if volume is None:
            yield f"claim {name} is of a volume that is not there"
            continue
        if volume["spec"].get("claimRef") != {"namespace": namespace, "name": name}:
            yield f"volume {volume['metadata']['name']} is not kept for claim {name}"
        if claim["spec"].get("storageClassName") != "" or volume["spec"].get("storageClassName") != "":
            yield f"claim {name}: without storageClassName \"\" on both a default class takes it"
    for volume in volumes.values():
        path = volume["spec"]["hostPath"]["path"]
        if not path.startswith(SCOPES) or "/" in path[len(SCOPES):]:
            yield f"volume {volume['metadata']['name']} is {path}, not the directory of a scope"
    for document in documents:
        for volume in (pod_spec(document) or {}).get("volumes", []):
            claim = at(volume, "persistentVolumeClaim.claimName")
            if claim is not None and (document["metadata"]["namespace"], claim) not in claims:
                yield f"pod {document['metadata']['name']} asks for claim {claim}, which is not there"


def restricted_namespaces(documents):
    label = "pod-security.kubernetes.io/enforce"
    return {d["metadata"]["name"] for d in documents
            if d.get("kind") == "Namespace" and d["metadata"].get("labels", {}).get(label) == "restricted"}


def check_documents(documents):
    out = []
    restricted = restricted_namespaces(documents)
    for document in documents:
        missing = list(fields(document))
        name = f"{document.get('kind')} {at(document, 'metadata.name')}"
        out += [f"{name}: {text}" for text in missing]
        if missing:
            continue
        is_restricted = document["metadata"].get("namespace") in restricted
        out += [f"{name}: {text}" for text in pods(document, is_restricted)]
        out += [f"{name}: {text}" for text in selector(document)]
    return out if out else list(together(documents))


def check_cdi(spec):
    for key in ("cdiVersion", "kind", "devices"):
        if not spec.get(key):
            yield f"{key} is missing"
    vendor, _, device_class = spec.get("kind", "").partition("/")
    if "." not in vendor or not device_class:
        yield f"kind is {spec.get('kind')}, expected VENDOR.DOMAIN/CLASS"
    for device in spec.get("devices", []):
        if not device.get("name"):
            yield "a device has no name"
        edits = device.get("containerEdits", {})
        if set(edits) != {"mounts"}:
            yield f"device {device.get('name')} edits {sorted(edits)}; a mount is all it takes"
        for mount in edits.get("mounts", []):
            if not mount.get("hostPath", "").startswith(SCOPES):
                yield f"device {device.get('name')} mounts {mount.get('hostPath')}, not a scope"
            if mount.get("containerPath") != SOCKET_DIRECTORY:
                yield f"device {device.get('name')} is at {mount.get('containerPath')}"


def load(examples):
    documents = []
    for path in sorted((examples / "k8s").glob("*.yaml")):
        documents += [d for d in yaml.safe_load_all(path.read_text()) if d is not None]
    return documents, json.loads((examples / "cdi" / "hipbroker.json").read_text())


def selftest(documents, cdi):
    """Each change is one that the rules must find."""
    def of(changed, kind, name=None):
        return next(d for d in changed if d["kind"] == kind and name in (None, d["metadata"]["name"]))

    def pod(changed):
        return of(changed, "Pod", "engine")["spec"]

    def daemon(changed):
        return of(changed, "DaemonSet")["spec"]["template"]["spec"]

    changes = [
        lambda c: pod(c).update(hostPID=True),
        lambda c: pod(c).update(hostIPC=True),
        lambda c: pod(c)["containers"][0]["securityContext"].update(privileged=True),
        lambda c: pod(c)["containers"][0]["securityContext"]["capabilities"].update(add=["SYS_PTRACE"]),
        lambda c: pod(c)["containers"][0]["volumeMounts"][0].update(name="elsewhere"),
        lambda c: pod(c)["containers"][0]["volumeMounts"][0].update(mountPath="/sock"),
        lambda c: pod(c)["containers"][0]["volumeMounts"][0].update(subPath="broker.sock"),
        lambda c: pod(c)["containers"][0].pop("image"),
        lambda c: pod(c)["securityContext"].pop("runAsNonRoot"),
        lambda c: pod(c)["securityContext"].pop("seccompProfile"),
        lambda c: pod(c)["volumes"][0].update(persistentVolumeClaim={"claimName": "other"}),
        lambda c: pod(c)["volumes"].append({"name": "hipbroker2", "hostPath": {"path": SOCKET_DIRECTORY}}),
        lambda c: pod(c).pop("containers"),
        lambda c: daemon(c).update(hostNetwork=True),
        lambda c: daemon(c)["containers"][0]["securityContext"].update(runAsUser=0),
        lambda c: daemon(c)["volumes"][0]["hostPath"].update(path="/run"),
        lambda c: of(c, "DaemonSet")["spec"]["selector"]["matchLabels"].update(app="x"),
        lambda c: of(c, "DaemonSet").update(apiVersion="v1"),
        lambda c: of(c, "PersistentVolume")["spec"]["hostPath"].update(path="/run/hipbroker"),
        lambda c: of(c, "PersistentVolume")["spec"]["claimRef"].update(namespace="other"),
        lambda c: of(c, "PersistentVolumeClaim")["spec"].pop("storageClassName"),
        lambda c: of(c, "PersistentVolumeClaim")["metadata"].update(namespace="nowhere"),
    ]
    missed = []
    for number, change in enumerate(changes):
        changed = copy.deepcopy(documents)
        change(changed)
        if not check_documents(changed):
            missed.append(f"planted mistake {number} was not found")
    for key, value in (("kind", "scope"), ("devices", [{"name": "a", "containerEdits": {"deviceNodes": []}}])):
        if not list(check_cdi({**cdi, key: value})):
            missed.append(f"a CDI specification with {key} = {value} was not refused")
    return missed


def main(arguments):
    examples = pathlib.Path(arguments[0])
    documents, cdi = load(examples)
    problems = check_documents(documents) + list(check_cdi(cdi))
    if not documents:
        problems.append("no manifests were found")
    if "--selftest" in arguments:
        problems += selftest(documents, cdi)
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
