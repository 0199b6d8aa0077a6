# SPDX-License-Identifier: Apache-2.0
"""`.tada` files: one zip of `model.json` and `.npy` members, all stored uncompressed.

Reading runs no code and trusts nothing: members are read with their expected type and shape only (so a small
file cannot ask for much memory), and every tree index is checked before the core sees it. Arrays are fixed
width, little-endian; the same model gives the same bytes. `FORMAT` grows when an older reader would misread.

    model.json   format, version, class, parameters, temperature, clip_at, classes, names, levels,
                 n_features, stop_reason or loss, seed (of what was drawn), table (what the command line knows
                 about the columns' files), checkpoint (see checkpoint.py)
    <field>.npy  the fields of forest.FlatTrees, and estimator_weights, rounds, weights where there are any
"""

from __future__ import annotations

import contextlib
import io
import json
import math
import os
import re
import secrets
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

import tadaboost
from tadaboost import forest, rounds
from tadaboost.classifier import TAdaBoostClassifier
from tadaboost.single import TemperedTreeClassifier

FORMAT = 2  # 2: more than two classes; a file of fewer is still of format 1
Model: TypeAlias = TAdaBoostClassifier | TemperedTreeClassifier
_CLASSES: dict[str, type[Model]] = {
    kind.__name__: kind for kind in (TAdaBoostClassifier, TemperedTreeClassifier)
}
# What zipfile, json, numpy, our parameter checks and the core raise on bytes that were tampered with.
_UNREADABLE = (
    zipfile.BadZipFile,
    NotImplementedError,
    ValueError,
    TypeError,
    LookupError,
    ArithmeticError,
    AttributeError,
    RecursionError,
    EOFError,
    struct.error,
)
_ZIP_MAGIC = b"PK\x03\x04"
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest a zip can say


class ModelFileError(ValueError):
    """A file is no model, is damaged, or was written by a newer version; one line says which.

    Examples
    --------
    >>> from tadaboost import ModelFileError, load
    >>> try:
    ...     load(__file__)
    ... except ModelFileError as error:
    ...     print(str(error).replace(__file__, "model.tada"))
    model.tada: not a tadaboost model
    """


class _Damage(Exception):
    """What is wrong with the content of a file, without its name."""


def save(model: Model, path: str | os.PathLike[str]) -> None:
    """Write a fitted model to a `.tada` file.

    Parameters
    ----------
    model : fitted TAdaBoostClassifier or TemperedTreeClassifier
    path : path-like
        Replaced as a whole or not at all; a device or pipe is written to, never replaced.

    Raises
    ------
    sklearn.exceptions.NotFittedError
        If the model is not fitted.
    TypeError
        If labels, a parameter, or the weak learners of `estimator` are of a type that the file cannot hold.
    OSError
        If the folder is missing or cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> from tadaboost import TAdaBoostClassifier, load, save
    >>> model = TAdaBoostClassifier(n_estimators=3).fit([[0.0], [1.0]] * 10, ["no", "yes"] * 10)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(model, folder + "/model.tada")
    ...     load(folder + "/model.tada").predict([[1.0]]).tolist()
    ['yes']
    """
    content = content_of(model)
    path = Path(path)
    if path.exists() and not path.is_file():
        path.write_bytes(content)  # renaming over it would leave an ordinary file in the place of /dev/null
        return
    write(content, path, path.with_name(f".tadaboost-{secrets.token_hex(8)}"))


def load(path: str | os.PathLike[str]) -> Model:
    """Read a model from a `.tada` file.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    TAdaBoostClassifier or TemperedTreeClassifier
        Fitted; predicts exactly as the model that was saved.

    Raises
    ------
    ModelFileError
        If the file is not a model, is damaged, or needs a newer version. It is a ValueError.
    OSError
        If the file is missing or cannot be read.

    Examples
    --------
    >>> load(__file__)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    tadaboost.persist.ModelFileError: ...persist.py: not a tadaboost model
    """
    return read(path)[0]


def read(path: str | os.PathLike[str]) -> tuple[Model, dict[str, Any]]:
    """Read a model as `load` does; give what its `model.json` says, too."""
    with open(path, "rb") as file:
        head = file.read(len(_ZIP_MAGIC))
        content = head + file.read() if head == _ZIP_MAGIC else b""
    if not content:
        raise ModelFileError(f"{os.fspath(path)}: not a tadaboost model")
    about: dict[str, Any] = {}
    try:
        members = _members(content)
        about = _about(members)
        return _model(members, about), about
    except _Damage as damage:
        reason = str(damage)
    except _UNREADABLE as error:
        # zipfile quotes whatever stands where a name should be
        reason = (
            f"damaged model file ({str(error).splitlines()[0][:120]})" if str(error) else "damaged model file"
        )
    version = str(about.get("version", tadaboost.__version__))
    if (
        version != tadaboost.__version__
        and re.fullmatch(r"[\w.+-]{1,20}", version)
        and "upgrade" not in reason
    ):
        reason = f"{reason}, or tadaboost {version}, which wrote it, is needed"
    raise ModelFileError(f"{os.fspath(path)}: {reason}")


# Writing


def write(content: bytes, path: Path, aside: Path) -> None:
    """Write a file as `aside`, in the same folder, and rename it when it is whole and on the disk."""
    try:
        with open(aside, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(aside, path)
    except OSError as error:
        raise OSError(error.errno, error.strerror, os.fspath(path)) from None  # the path that was asked for
    finally:
        with contextlib.suppress(OSError):  # which would hide the one above
            aside.unlink(missing_ok=True)


def content_of(model: Any, **more: Any) -> bytes:
    """Build the bytes of the file; `more` goes into its `model.json`."""
    kind = type(model).__name__
    if _CLASSES.get(kind) is not type(model):
        raise TypeError(f"{kind} cannot be saved; {' and '.join(_CLASSES)} can")
    if getattr(model, "estimators_", None):
        raise TypeError(
            f"a model of estimator={model._learner_name()} cannot be saved to a .tada file, which holds "
            "trees; pickle it"
        )
    trees, _ = model._checked_fit()
    about = {
        "format": FORMAT if len(model.classes_) > 2 else 1,
        "version": tadaboost.__version__,
        "class": kind,
        "parameters": {name: plain(f"parameter {name}", value) for name, value in model.get_params().items()},
        "temperature": model._temperature,
        "clip_at": None if math.isinf(model._clip_at) else model._clip_at,
        "classes": labels_out(model.classes_),
        "names": model.feature_names_in_.tolist() if hasattr(model, "feature_names_in_") else None,
        "levels": model._schema,
        "n_features": model.n_features_in_,
    }
    arrays: dict[str, NDArray[Any]] = dict(forest.flatten(trees)._asdict())
    if isinstance(model, TAdaBoostClassifier):
        about |= {"stop_reason": model.stop_reason_, "seed": model._seed}
        arrays |= {"estimator_weights": model.estimator_weights_, "rounds": model.rounds_}
        if hasattr(model, "weights_"):
            arrays["weights"] = model.weights_
    else:
        about["loss"] = np.atleast_1d(model.loss_).tolist()
    if hasattr(model, "table_"):
        about["table"] = model.table_
    about |= more

    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        text = json.dumps(about, indent=1, sort_keys=True, allow_nan=False)
        archive.writestr(zipfile.ZipInfo("model.json", _EPOCH), text)
        for name, array in arrays.items():
            archive.writestr(zipfile.ZipInfo(f"{name}.npy", _EPOCH), _npy(array))
    return buffer.getvalue()


def _npy(array: NDArray[Any]) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, np.ascontiguousarray(array.astype(_little_endian(array.dtype))), allow_pickle=False)
    return buffer.getvalue()


def _little_endian(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return dtype.newbyteorder("<")


def plain(name: str, value: Any) -> Any:
    """Turn a parameter into JSON; dicts become lists of pairs, because their keys may be numbers."""
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if isinstance(value, dict):
        return {"pairs": [[plain(name, key), plain(name, item)] for key, item in value.items()]}
    if isinstance(value, set | frozenset):
        value = sorted(value, key=repr)  # the same model gives the same bytes
    if isinstance(value, list | tuple):
        return [plain(name, item) for item in value]
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if hasattr(value, "__array__"):  # a mask or names held in a Series
        return plain(name, np.asarray(value))
    raise TypeError(f"{name} is a {type(value).__name__}, which a .tada file cannot hold; use plain values")


def labels_out(classes: NDArray[Any]) -> dict[str, Any]:
    """Turn classes into JSON."""
    if classes.dtype.kind not in "biufU" and not all(isinstance(label, str) for label in classes):
        raise TypeError(
            f"labels of dtype {classes.dtype} cannot be saved; strings, booleans, integers and floats can"
        )
    if classes.dtype.kind == "f" and classes.dtype.itemsize > 8:
        raise TypeError(f"labels of dtype {classes.dtype} cannot be saved; use float64")
    values = classes.tolist()
    if classes.dtype.kind == "O":
        return {"dtype": "object", "values": values}
    # Of text the width that the classes need: that of y may be of longer labels which no row had.
    dtype = np.array(values).dtype if classes.dtype.kind == "U" else classes.dtype
    return {"dtype": _little_endian(dtype).str, "values": values}


# Reading


def _about(members: dict[str, bytes]) -> dict[str, Any]:
    if "model.json" not in members:
        raise _Damage("not a tadaboost model")
    about = json.loads(members["model.json"].decode(), parse_constant=_no_constant)
    if not isinstance(about, dict) or type(about.get("format")) is not int:
        raise _Damage("not a tadaboost model")
    if about["format"] > FORMAT:
        raise _Damage(
            f"written by tadaboost {about.get('version')}, format {about['format']}; upgrade tadaboost"
        )
    _require(about["format"] in (1, FORMAT), "the format number")
    return about


def _model(members: dict[str, bytes], about: dict[str, Any]) -> Model:
    _require(about["class"] in _CLASSES, "the class")
    kind, parameters = _CLASSES[about["class"]], _parameters(about["parameters"])
    for name in sorted(parameters.keys() - kind().get_params()):
        _require(about.get("version") != tadaboost.__version__, f"the parameter {name!r}")
        raise _Damage(
            f"written by tadaboost {about.get('version')}, whose parameter {name!r} is not known here; "
            "upgrade tadaboost"
        )
    model = kind(**parameters)
    model._validate_params()
    n_features = about["n_features"]
    _require(type(n_features) is int and 1 <= n_features < 2**31, "n_features")
    model.n_features_in_ = n_features
    model._schema = _schema(about["levels"], n_features)
    model.classes_ = _classes(about["classes"])
    model._temperature = _number(about["temperature"], "the temperature")
    _require(model._temperature < 2, "the temperature")
    model._clip_at = math.inf if about["clip_at"] is None else _number(about["clip_at"], "clip_at")
    _require(model._clip_at > 0, "clip_at")
    if about["names"] is not None:
        model.feature_names_in_ = _names(about["names"], n_features)
    if "table" in about:
        _require(isinstance(about["table"], dict), "table")
        model.table_ = about["table"]

    flat = _trees(members, model._schema)
    trees = forest.unflatten(flat)
    if isinstance(model, TAdaBoostClassifier):
        _require(isinstance(about["stop_reason"], str), "stop_reason")
        model.stop_reason_ = about["stop_reason"]
        seed = about.get("seed", 0)  # files of the first format may lack it
        _require(type(seed) is int and 0 <= seed < 2**32, "seed")
        model._seed = seed
        _booster_arrays(model, members, trees)
    else:
        n = model._n_scores()
        _require(len(trees) == n, "the number of trees")
        model.tree_ = trees[0] if n == 1 else tuple(trees)
        _require(isinstance(about["loss"], list) and len(about["loss"]) == n, "the loss")
        loss = [_number(of_class, "the loss") for of_class in about["loss"]]
        model.loss_ = loss[0] if n == 1 else np.array(loss)
    largest = np.maximum.reduceat(np.abs(flat.value), flat.tree_start[:-1])
    with np.errstate(over="ignore", invalid="ignore"):
        _require(bool(np.isfinite(np.abs(model._fitted()[1]) @ largest)), "the size of the leaf values")
    model._forests()
    return model


def _booster_arrays(model: TAdaBoostClassifier, members: dict[str, bytes], trees: list[Any]) -> None:
    n = model._n_scores()
    n_rounds, rest = divmod(len(trees), n)
    _require(rest == 0, "the number of trees")
    by_class = () if n == 1 else (n,)
    model.trees_ = trees if n == 1 else [tuple(trees[j * n : (j + 1) * n]) for j in range(n_rounds)]
    model.n_iter_ = n_rounds
    shape = (n_rounds, *by_class)
    model.estimator_weights_ = _array(members, "estimator_weights", np.dtype(np.float64), shape)
    _require(bool(np.isfinite(model.estimator_weights_).all()), "estimator_weights")
    model.rounds_ = _array(members, "rounds", rounds.ROUND, shape)
    if "weights.npy" in members:
        model.weights_ = _array(members, "weights", np.dtype(np.float64), (n_rounds + 1, None, *by_class))
        _require(bool((model.weights_ >= 0).all() and np.isfinite(model.weights_).all()), "weights")


def _members(content: bytes) -> dict[str, bytes]:
    """Read every member; only stored ones, so that together they are no larger than the file."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        infos = archive.infolist()
        for info in infos:
            stored = info.compress_type == zipfile.ZIP_STORED and info.file_size == info.compress_size
            _require(stored and not info.flag_bits & 0x1, f"{info.filename!r}, which is packed,")
        _require(len({info.filename for info in infos}) == len(infos), "the list of members")
        _require(sum(info.file_size for info in infos) <= len(content), "the list of members")
        return {info.filename: archive.read(info) for info in infos}


def _array(
    members: dict[str, bytes], name: str, dtype: np.dtype[Any], shape: tuple[int | None, ...]
) -> NDArray[Any]:
    """Read an array of exactly this type and shape (None: any length); checked before any memory is taken."""
    if f"{name}.npy" not in members:
        raise _Damage(f"damaged model file ({name} is missing)")
    data = members[f"{name}.npy"]
    # The header is matched, not evaluated: numpy writes it in this one form.
    descr = re.escape(repr(np.lib.format.dtype_to_descr(_little_endian(dtype))))
    form = rf"\{{'descr': {descr}, 'fortran_order': False, 'shape': \(([0-9, ]*)\), \}} *\n"
    end = 10 + int.from_bytes(data[8:10], "little")
    header = re.fullmatch(form, data[10:end].decode("latin1"))
    if not data.startswith(b"\x93NUMPY\x01\x00") or header is None:
        raise _Damage(f"damaged model file ({name} is not an array of {dtype})")
    found = tuple(int(length) for length in header[1].split(",") if length.strip())
    matches = len(found) == len(shape) and all(w in (None, f) for f, w in zip(found, shape, strict=True))
    _require(matches, f"the shape of {name}")
    _require(len(data) - end == math.prod(found) * dtype.itemsize, f"the length of {name}")
    body = np.frombuffer(memoryview(data)[end:], _little_endian(dtype))
    return body.reshape(found).astype(dtype)  # a copy: aligned, writable


def _trees(members: dict[str, bytes], schema: list[Any]) -> forest.FlatTrees:
    """Read all trees and check what the core does not know: levels, and numbers it does not use."""
    start = _array(members, "tree_start", np.dtype(np.int64), (None,))
    _require(len(start) >= 2 and start[-1] >= 1, "tree_start")
    n = int(start[-1])
    category_start = _array(members, "category_start", np.dtype(np.int64), (n + 1,))
    lengths = {"tree_start": len(start), "category_start": n + 1, "categories": int(category_start[-1])}
    fields = {
        name: _array(members, name, dtype, (lengths.get(name, n),)) for name, dtype in forest.DTYPES.items()
    }
    flat = forest.FlatTrees(**fields)
    forest.compiled(flat, len(schema))  # offsets, columns, children, finite values

    for name in ("threshold", "mass", "gain"):
        _require(bool(np.isfinite(fields[name]).all()), name)
    for name in ("missing_left", "is_categorical"):
        _require(bool((fields[name].view(np.uint8) <= 1).all()), name)
    leaf = flat.feature == -1
    for name in ("left", "right"):
        _require(bool((fields[name][leaf] == -1).all()), name)
    n_levels = np.array([-1 if levels is None else len(levels) for levels in schema])
    asked = np.where(
        leaf, -1, n_levels[np.maximum(flat.feature, 0)]
    )  # levels of the node's column, -1: numbers
    _require(bool((flat.is_categorical == (asked >= 0)).all()), "is_categorical")
    _require(bool((flat.categories < np.repeat(asked, np.diff(category_start))).all()), "categories")
    return flat


def _require(condition: bool, what: str) -> None:
    if not condition:
        raise _Damage(f"damaged model file ({what} cannot be right)")


def _no_constant(name: str) -> Any:
    raise _Damage(f"damaged model file ({name} in model.json)")


def _number(value: Any, what: str) -> float:
    _require(type(value) in (int, float) and math.isfinite(value), what)
    return float(value)


def _parameters(stored: Any) -> dict[str, Any]:
    _require(isinstance(stored, dict), "parameters")

    def value_of(value: Any) -> Any:
        """Turn JSON back into what `plain` was given."""
        if isinstance(value, list):
            return [value_of(item) for item in value]
        return dict(value["pairs"]) if isinstance(value, dict) else value

    return {name: value_of(value) for name, value in stored.items()}


def _schema(levels: Any, n_features: int) -> list[Any]:
    _require(isinstance(levels, list) and len(levels) == n_features, "levels")
    for of_column in levels:
        if of_column is None:
            continue
        _require(isinstance(of_column, list), "levels")
        _require(all(isinstance(level, str | bool | int | float) for level in of_column), "levels")
        _require(len(set(of_column)) == len(of_column), "levels")
    return list(levels)


def _names(names: Any, n_features: int) -> NDArray[Any]:
    _require(isinstance(names, list) and all(isinstance(name, str) for name in names), "names")
    _require(len(set(names)) == len(names) == n_features, "names")
    return np.array(names, dtype=object)


_LABEL_OF_KIND: dict[str, Callable[[Any], bool]] = {
    "b": lambda v: isinstance(v, bool),
    "i": lambda v: type(v) is int,
    "u": lambda v: type(v) is int,
    "f": lambda v: type(v) is float and math.isfinite(v),
    "U": lambda v: isinstance(v, str),
    "O": lambda v: isinstance(v, str),
}


def _classes(stored: Any) -> NDArray[Any]:
    _require(isinstance(stored, dict) and isinstance(stored["values"], list), "classes")
    values = stored["values"]
    _require(isinstance(stored["dtype"], str) and len(stored["dtype"]) < 16, "classes")
    dtype = np.dtype(object) if stored["dtype"] == "object" else np.dtype(stored["dtype"])
    _require(dtype.kind in _LABEL_OF_KIND and len(values) >= 1, "classes")
    _require(all(map(_LABEL_OF_KIND[dtype.kind], values)), "classes")
    if dtype.kind == "U":
        _require(dtype.itemsize == 4 * max(1, *map(len, values)), "classes")
    classes = np.array(values, dtype=dtype.newbyteorder("="))
    _require(classes.tolist() == values and sorted(set(values)) == values, "classes")
    return classes
