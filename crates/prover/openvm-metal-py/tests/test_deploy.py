"""The files under `deploy/`: Ray accepts the one, the other names what it should; nothing listens in public."""

import json
import pathlib
import re

import pytest

ray = pytest.importorskip("ray")
scripts = pytest.importorskip("ray.scripts.scripts")
yaml = pytest.importorskip("yaml")
jsonschema = pytest.importorskip("jsonschema")

DEPLOY = pathlib.Path(__file__).parents[4] / "deploy"


def test_ray_accepts_the_cluster_file():
    schema = json.loads((pathlib.Path(ray.__file__).parent / "autoscaler" / "ray-schema.json").read_text())
    config = yaml.safe_load((DEPLOY / "ray-up.yaml").read_text())
    jsonschema.validate(config, schema)
    head = " ".join(config["head_start_ray_commands"])
    assert "--dashboard-host=127.0.0.1" in head and f"--node-ip-address={config['provider']['head_ip']}" in head
    starts = config["head_start_ray_commands"][-1:] + config["worker_start_ray_commands"][-1:]
    assert all("RAY_AUTH_MODE=token" in command and "RAY_USAGE_STATS_ENABLED=0" in command for command in starts)


def test_the_manifest_stays_inside_of_its_cluster():
    cluster, policy = yaml.safe_load_all((DEPLOY / "kuberay.yaml").read_text())
    assert (cluster["kind"], policy["kind"]) == ("RayCluster", "NetworkPolicy")
    spec = cluster["spec"]
    assert spec["authOptions"]["mode"] == "token"
    assert spec["headGroupSpec"]["serviceType"] == "ClusterIP"
    (group,) = spec["workerGroupSpecs"]
    pods = [spec["headGroupSpec"]["template"]["spec"], group["template"]["spec"]]
    for pod in pods:
        (container,) = pod["containers"]
        assert {"name": "RAY_USAGE_STATS_ENABLED", "value": "0"} in container["env"]
        assert container["resources"]["requests"] == container["resources"]["limits"]
        # Whoever applies it as it is gets no image of somebody else.
        assert re.fullmatch(r"registry\.example/openvm-metal-ray@sha256:[A-Z-]+", container["image"])
    assert pods[1]["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] == "1"
    name = cluster["metadata"]["name"]
    assert policy["spec"]["podSelector"]["matchLabels"] == {"ray.io/cluster": name}


def test_the_policy_names_who_reaches_which_ports():
    cluster, policy = yaml.safe_load_all((DEPLOY / "kuberay.yaml").read_text())
    own, operator = policy["spec"]["ingress"]
    assert own["from"] == [{"podSelector": policy["spec"]["podSelector"]}]
    (source,) = operator["from"]
    assert source["namespaceSelector"]["matchLabels"] == {"kubernetes.io/metadata.name": "kuberay-operator"} and source["podSelector"]["matchLabels"]
    assert [port["port"] for port in operator["ports"]] == [8265]
    *single, workers = own["ports"]
    open_to = [port["port"] for port in single], workers["port"], workers["endPort"]
    spec = cluster["spec"]
    head, (group,) = spec["headGroupSpec"]["rayStartParams"], spec["workerGroupSpecs"]
    known = {option for parameter in scripts.start.params for option in parameter.opts}
    for given in (head, group["rayStartParams"]):
        assert all(f"--{name}" in known for name in given), "options of `ray start`"
        ports = [6379, int(given["node-manager-port"]), int(given["object-manager-port"])]
        assert (ports, int(given["min-worker-port"]), int(given["max-worker-port"])) == open_to
    assert head["port"] == "6379"


def test_all_files_have_one_version_of_ray():
    version = yaml.safe_load_all((DEPLOY / "kuberay.yaml").read_text()).__next__()["spec"]["rayVersion"]
    assert f"ray[default]=={version}" in (DEPLOY / "ray-up.yaml").read_text()
    assert f"ARG RAY={version}" in (DEPLOY / "Containerfile").read_text()
    assert f"\nray=={version}\n" in (DEPLOY / "constraints.txt").read_text()


def test_what_is_installed_is_named_by_version():
    lines = [line for line in (DEPLOY / "constraints.txt").read_text().splitlines() if not line.startswith("#")]
    assert len(lines) > 20 and all(re.fullmatch(r"[a-z0-9-]+==[0-9][\w.]*", line) for line in lines)
    for file in (DEPLOY / "Containerfile", DEPLOY.parent / "docker" / "Dockerfile"):
        images = re.findall(r"^FROM (\S+)", file.read_text(), re.M)
        assert images and all(re.search(r":\d+\.\d+\.\d+-[a-z-]+\Z", image) for image in images)


def test_images_have_a_compiler_that_makes_kernels_for_nvidia():
    for file in (DEPLOY / "Containerfile", DEPLOY.parent / "docker" / "Dockerfile"):
        versions = [int(version) for version in re.findall(r"\bclang-(\d+)", file.read_text())]
        assert versions and min(versions) >= 17, file
