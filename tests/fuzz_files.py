# SPDX-License-Identifier: Apache-2.0
"""Damage model files in every way we can think of; each is refused in one line or is a sound model.

`python tests/fuzz_files.py SEED COUNT` is a process of its own, so that the test sees one that dies. Before
it reads a file it prints the number, the kind of damage and the model, which is what to look at then.
"""

import io
import json
import resource
import sys
import tempfile
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd

from tadaboost import ModelFileError, load, save

MODELS = sorted(Path(__file__).with_name("models").glob("*.tada"))
MOST_MEMORY = 2**30  # bytes more than at the start: no file of ours has a hundredth of that

NASTY = [
    None,
    True,
    -1,
    0,
    1,
    2,
    2**31,
    2**63,
    2**80,
    0.5,
    -0.0,
    1e308,
    5e-324,
    "",
    "a",
    "\0",
    "\ud800",
    "<U9",
    "|O",
]
NASTY += [[], {}, [[]], [None], {"pairs": [[1]]}, {"pairs": [[[], 1]]}, ["a", 1], "x" * 10**4, [0] * 10**4]
NUMBERS = [
    0,
    1,
    -1,
    2,
    7,
    2**31 - 1,
    -(2**31),
    2**40,
    2**62,
    np.nan,
    np.inf,
    -np.inf,
    1e308,
    -1e308,
    5e-324,
    0.5,
]


def write(members):
    buffer = io.BytesIO()
    with (
        zipfile.ZipFile(buffer, "w") as archive,
        warnings.catch_warnings(action="ignore"),
    ):  # of repeated names
        for name, data in members:
            archive.writestr(name, data)
    return buffer.getvalue()


def npy(array):
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def pick(rng, items):
    return items[int(rng.integers(len(items)))]


def with_bytes(rng, data):
    """A few bytes changed, cut out, put in or swapped."""
    data = bytearray(data)
    for _ in range(rng.integers(1, 4)):
        at, n = int(rng.integers(0, len(data) or 1)), int(rng.integers(1, 9))
        kind = rng.integers(0, 5)
        if kind == 0:
            data[at : at + 1] = rng.bytes(1)
        elif kind == 1 and data:
            data[at] ^= 1 << int(rng.integers(0, 8))
        elif kind == 2:
            del data[at : at + n]
        elif kind == 3:
            data[at:at] = rng.bytes(n)
        else:
            other = int(rng.integers(0, len(data) or 1))
            data[at : at + n], data[other : other + n] = data[other : other + n], data[at : at + n]
    return bytes(data)


def places(value, found=None):
    """Every (container, key) of a JSON value."""
    found = [] if found is None else found
    for key in list(value) if isinstance(value, dict) else range(len(value)):
        found.append((value, key))
        if isinstance(value[key], dict | list):
            places(value[key], found)
    return found


# The kinds of damage: from the members of a file, as (name, data), to the bytes of another.


def bytes_of_the_file(rng, members):
    return with_bytes(rng, write(members))


def end_cut_off(rng, members):
    content = write(members)
    return content[: int(rng.integers(0, len(content)))]


def bytes_of_a_member(rng, members):
    i = int(rng.integers(len(members)))
    members[i] = (members[i][0], with_bytes(rng, members[i][1]))
    return write(members)


def bytes_of_a_header(rng, members):
    arrays = [i for i, (name, _) in enumerate(members) if name.endswith(".npy")]
    i = pick(rng, arrays)
    name, data = members[i]
    members[i] = (name, with_bytes(rng, data[:128]) + data[128:])
    return write(members)


def members_swapped(rng, members):
    i, j = rng.integers(0, len(members), 2)
    members[i], members[j] = (members[i][0], members[j][1]), (members[j][0], members[i][1])
    return write(members)


def members_lost_or_repeated(rng, members):
    i = int(rng.integers(len(members)))
    members[i : i + 1] = [[], [members[i]] * 2, [(members[i][0] + "x", members[i][1])]][rng.integers(3)]
    return write(members)


def words_of_the_description(rng, members):
    i = next(i for i, (name, _) in enumerate(members) if name == "model.json")
    about = json.loads(members[i][1])
    for _ in range(rng.integers(1, 3)):
        held, key = pick(rng, places(about))
        kind = rng.integers(0, 4)
        if kind == 0:
            del held[key]
        elif kind == 1:
            other, other_key = pick(rng, places(about))
            held[key] = json.loads(json.dumps(other[other_key]))
        else:
            held[key] = pick(rng, NASTY)
    members[i] = ("model.json", json.dumps(about).encode())
    return write(members)


def numbers_of_an_array(rng, members):
    arrays = [i for i, (name, _) in enumerate(members) if name.endswith(".npy")]
    i = pick(rng, arrays)
    array = np.load(io.BytesIO(members[i][1]))
    part = array[pick(rng, array.dtype.names)] if array.dtype.names else array
    kind = rng.integers(0, 5)
    if kind < 3 and part.size:
        at = tuple(int(rng.integers(length)) for length in part.shape)
        value = pick(rng, [*NUMBERS, part[tuple(int(rng.integers(length)) for length in part.shape)]])
        with np.errstate(all="ignore"):
            part[at] = np.array([value]).astype(part.dtype)[0]
    elif kind == 3:
        array = array[:-1] if rng.integers(2) else np.concatenate([array, array[-1:]])
    else:
        array = np.roll(array, 1, axis=0) if rng.integers(2) else array[::-1]
    members[i] = (members[i][0], npy(array))
    return write(members)


KINDS = [
    bytes_of_the_file,
    end_cut_off,
    bytes_of_a_member,
    bytes_of_a_header,
    members_swapped,
    members_lost_or_repeated,
    words_of_the_description,
    numbers_of_an_array,
]


def table(model):
    """Rows of the kind that the model says it was fitted to: levels, missing cells, any numbers."""
    columns = []
    for levels in model._schema:
        if levels is None:
            columns.append(pd.Series([0.0, -1e300, 1e300, np.nan, 1.0, 2.5, 30.0, 5e-324] * 2))
            continue
        kind = type(levels[0]) if levels else str
        known = [level for level in levels if type(level) is kind][:8]
        columns.append(pd.Series([*known, *[None] * (16 - len(known))], dtype=object))
    X = pd.concat(columns, axis=1)
    names = getattr(model, "feature_names_in_", None)
    return X.to_numpy() if names is None else X.set_axis(pd.Index(names, dtype=object), axis=1)


def check(path, again):
    """Return whether the file is a model, which then is a sound one."""
    try:
        model = load(path)
    except ModelFileError as error:
        if "\n" in str(error):
            raise
        return False
    X = table(model)
    score, share = model.decision_function(X), model.predict_proba(X)
    assert np.isfinite(score).all()
    assert ((share >= 0) & (share <= 1)).all()
    np.testing.assert_allclose(share.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_array_equal(model.predict(X), model.classes_[share.argmax(axis=1)])
    assert np.isfinite(model.feature_importances_).all()
    if hasattr(model, "trees_"):
        *_, last = model.staged_decision_function(X)
        np.testing.assert_array_equal(last, score)
        assert model.apply(X).shape[:2] == (len(X), model.n_iter_)
    save(model, again)
    np.testing.assert_array_equal(load(again).decision_function(X), score)
    return True


def main(seed, count):
    warnings.simplefilter("error")
    originals = []
    for path in MODELS:
        with zipfile.ZipFile(path) as archive:
            originals.append([(name, archive.read(name)) for name in archive.namelist()])
    sound = dict.fromkeys((kind.__name__ for kind in KINDS), 0)
    with tempfile.TemporaryDirectory() as folder:
        path, again = Path(folder) / "m.tada", Path(folder) / "again.tada"
        for members in originals:
            path.write_bytes(write(members))
            assert check(path, again)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for i in range(count):
            rng, kind = np.random.default_rng([seed, i]), KINDS[i % len(KINDS)]
            which = int(rng.integers(len(originals)))
            print(i, kind.__name__, MODELS[which].name, flush=True)
            path.write_bytes(kind(rng, list(originals[which])))
            sound[kind.__name__] += check(path, again)
        memory = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
        assert memory < MOST_MEMORY, f"{memory / 2**20:.0f} MiB for files of some kB"
    print(json.dumps(sound))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
