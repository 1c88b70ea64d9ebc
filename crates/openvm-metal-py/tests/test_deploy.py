"""The files under `deploy/`: Ray accepts the one, the other names what it should; nothing listens in public."""

import json
import pathlib
import re

import pytest

ray = pytest.importorskip("ray")
yaml = pytest.importorskip("yaml")
jsonschema = pytest.importorskip("jsonschema")

DEPLOY = pathlib.Path(__file__).parents[3] / "deploy"


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
    assert pods[1]["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] == "1"
    name = cluster["metadata"]["name"]
    assert policy["spec"]["podSelector"]["matchLabels"] == {"ray.io/cluster": name}


def test_all_files_have_one_version_of_ray():
    version = yaml.safe_load_all((DEPLOY / "kuberay.yaml").read_text()).__next__()["spec"]["rayVersion"]
    assert f"ray[default]=={version}" in (DEPLOY / "ray-up.yaml").read_text()
    assert f"ARG RAY={version}" in (DEPLOY / "Containerfile").read_text()


def test_images_have_a_compiler_that_makes_kernels_for_nvidia():
    for file in (DEPLOY / "Containerfile", DEPLOY.parent / "docker" / "Dockerfile"):
        versions = [int(version) for version in re.findall(r"\bclang-(\d+)", file.read_text())]
        assert versions and min(versions) >= 17, file
