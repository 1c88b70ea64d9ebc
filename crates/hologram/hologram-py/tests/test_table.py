"""One table of operations: each has its function in `hologram.ops`, and the stub of the native module says what is there."""

import ast
import inspect
from pathlib import Path

import pytest

import hologram
from hologram import _hologram as native
from hologram import ops

# Names of functions, by the instruction; `{}` is the name of the operation. Some are known by that name alone.
FUNCTIONS = {
    "gemm": ["gemm", "matvec"],
    "map": ["vector_{}"],
    "map2": ["vector_{}"],
    "reduce": ["reduce_{}"],
    "layer_norm": ["layer_norm"],
    "softmax": ["softmax", "softmax_rows"],
    "map_scalar": ["scalar_{}"],
    "clip": ["vector_clip"],
    "loss": ["{}_loss"],
}
SHORT = {"vector_sigmoid": "sigmoid", "vector_tanh": "tanh", "vector_gelu": "gelu"}
# A method of a buffer, and functions that are no whole-buffer operation.
METHODS = {"fill": hologram.Buffer.fill}
BESIDE = {"copy", "cast"}


def expected():
    names = set()
    for mnemonic, operations, _ in native.operations():
        if mnemonic in METHODS:
            continue
        for pattern in FUNCTIONS[mnemonic]:
            names |= {pattern.format(operation) for operation in operations or [mnemonic]}
    return {SHORT.get(name, name) for name in names}


def test_every_operation_has_its_function():
    table = native.operations()
    assert {mnemonic for mnemonic, _, _ in table} == set(FUNCTIONS) | set(METHODS)
    assert sum(len(operations) for _, operations, _ in table) > 30
    assert expected() | BESIDE == set(ops.__all__)
    public = {name for name, value in vars(ops).items() if inspect.isfunction(value) and not name.startswith("_")}
    assert public == set(ops.__all__)


@pytest.mark.parametrize("name", sorted(ops.__all__))
def test_every_function_is_typed_and_documented(name):
    function = getattr(ops, name)
    assert function.__doc__ and function.__doc__.strip().endswith(".")
    parameters = inspect.signature(function).parameters
    assert all(p.annotation is not p.empty for p in parameters.values())
    assert inspect.signature(function).return_annotation is not inspect.Signature.empty


# What the interpreter gives every class, and what no stub has to say again.
OF_EVERY_CLASS = set(dir(object)) | {"__module__", "__buffer__", "__release_buffer__", "__delitem__", "__weakref__"}


def stub():
    """Functions, and members of classes, as the stub has them."""
    path = Path(hologram.__file__).with_name("_hologram.pyi")
    functions, classes = {}, {}
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.FunctionDef):
            functions[node.name] = node
        elif isinstance(node, ast.ClassDef):
            members = {}
            for member in node.body:
                if isinstance(member, ast.FunctionDef):
                    members[member.name] = member
                elif isinstance(member, ast.AnnAssign):
                    members[member.target.id] = member
            classes[node.name] = members
    return functions, classes


def named(node):
    """Names of a function's parameters, without `self`, and which of them may be left out."""
    every = [*node.args.posonlyargs, *node.args.args, *([node.args.vararg] if node.args.vararg else [])]
    optional = {a.arg for a in every[len(every) - len(node.args.defaults) :]} if node.args.defaults else set()
    optional |= {a.arg for a, default in zip(node.args.kwonlyargs, node.args.kw_defaults) if default}
    every_name = (*every, *node.args.kwonlyargs, *([node.args.kwarg] if node.args.kwarg else []))
    names = [a.arg for a in every_name if a.arg not in ("self", "cls")]
    return names, optional


def agree(node, value, name):
    try:
        signature = inspect.signature(value)
    except ValueError:
        # Slots of the interpreter have none.
        assert name.split(".")[-1].startswith("__"), name
        return
    parameters = [p for p in signature.parameters.values() if p.name not in ("self", "cls")]
    if name.endswith(("__exit__", "__new__")) and any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return
    names, optional = named(node)
    assert [p.name for p in parameters] == names, name
    assert {p.name for p in parameters if p.default is not p.empty} == optional, name


def test_the_stub_has_what_is_there():
    functions, classes = stub()
    there = {name: value for name, value in vars(native).items() if not name.startswith("_")}
    assert {name for name, value in there.items() if inspect.isclass(value)} == set(classes)
    assert {name for name, value in there.items() if not inspect.isclass(value)} == set(functions)
    for name, node in functions.items():
        agree(node, there[name], name)


@pytest.mark.parametrize("name", sorted(stub()[1]))
def test_the_stub_has_the_members_of_classes(name):
    members, there = stub()[1][name], getattr(native, name)
    own = set(vars(there)) - OF_EVERY_CLASS
    stated = set(members) - OF_EVERY_CLASS
    assert own - stated == set()
    assert stated - set(dir(there)) == set()
    for key, node in members.items():
        if key in OF_EVERY_CLASS and not hasattr(there, key):
            continue
        if isinstance(node, ast.FunctionDef) and not any(isinstance(d, ast.Name) and d.id == "property" for d in node.decorator_list):
            agree(node, getattr(there, key), f"{name}.{key}")
