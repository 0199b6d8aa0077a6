# SPDX-License-Identifier: Apache-2.0
"""The file of a fit under way: a `.tada` file of the rounds so far that also says which fit it is of.

A fit takes the rounds it finds in the file as a warm start takes those of an earlier fit (`Run.resume`): it
does them again without looking for splits, to the same bits. `model.json` has an entry `checkpoint` more:

    data    a hash of rows, labels, weights and validation rows
    after   a hash of the rounds of an earlier fit that `warm_start` put in front, "" without one
"""

from __future__ import annotations

import glob
import hashlib
import json
import os
import time
import warnings
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import tadaboost
from tadaboost import forest, frame, persist, target, warmstart
from tadaboost.classifier import TAdaBoostClassifier
from tadaboost.tree import Tree
from tadaboost.validation import Rows
from tadaboost.warmstart import Earlier

__all__ = ["Checkpoint"]

INTERVAL = 5.0  # seconds from one writing to the next, at least
SHARE = 0.02  # of the time that the fit may spend on writing

UNDER_WAY = "checkpoint"  # the stop reason in a file of a fit that was not over

# What does not touch the rounds, or (the last) is compared as the seed that came of it.
_FREE = {"n_estimators", "n_jobs", "checkpoint", "warm_start", "record_weights", "random_state"}
_CHUNK = 1 << 16  # rows hashed together
_ADVICE = "name another file, or remove this one to begin anew"


class Checkpoint:
    """The file in which a fit keeps its rounds.

    Parameters
    ----------
    model : TAdaBoostClassifier
        About to be fitted, with `checkpoint`.

    Attributes
    ----------
    seed : int or None
        That of the fit in the file; None if there is no file yet.

    Raises
    ------
    ValueError
        If the file is none of ours or damaged, or weak learners are not trees.
    TypeError
        If a parameter is of a type that a file cannot hold.
    OSError
        If the file cannot be written.
    """

    def __init__(self, model: TAdaBoostClassifier) -> None:
        if model.estimator is not None:
            raise ValueError("checkpoint keeps trees only, and estimator is given; leave one of them None")
        for name, value in model.get_params().items():
            persist.plain(f"parameter {name}", value)
        self._model, self._shown = model, os.fspath(model.checkpoint or "")
        if not self._shown or "\0" in self._shown:
            raise ValueError(f"checkpoint is {self._shown!r}, which is no path; name a file")
        self._path = Path(self._shown).resolve()  # a link stays a link
        self._aside = self._path.with_name(f".{self._path.name}.{os.getpid()}.part")
        self._found: tuple[Any, dict[str, Any]] | None = None
        if self._path.is_file():
            self._found = self._read()
        elif self._path.exists():
            raise ValueError(f"checkpoint {self._shown} is no ordinary file; name another one")
        self._check_place()
        self.seed: int | None = None if self._found is None else self._found[0]._seed
        self._n_found = 0 if self._found is None else self._found[0].n_iter_
        self._due = time.monotonic() + INTERVAL

    def go_on(self, earlier: Earlier | None, train: Rows, held_out: Rows | None) -> Earlier | None:
        """Give the rounds to begin with: those in the file, or those of a warm start where they are more.

        Parameters
        ----------
        earlier : Earlier or None
            The rounds of a warm start.
        train, held_out : Rows
            Of this fit, whose classes and columns the model knows by now.

        Raises
        ------
        ValueError
            If the file is of another fit; the message says what differs.
        """
        after = "" if earlier is None else _fingerprint(earlier, len(earlier.weak))
        self._entry = {"data": _digest(self._model, train, held_out), "after": after}
        if self._found is None:
            return earlier
        model, about = self._found
        entry = about["checkpoint"]
        self._refuse_other(model, about)
        kept = Earlier(model.trees_, model.rounds_, model.stop_reason_, warmstart.kind(self._model, True))
        if entry["after"] == after:
            return kept
        # A fit without `after` has had these parameters all along, and so has what agrees with it.
        common = 0 if earlier is None else min(len(kept.weak), len(earlier.weak))
        if earlier is None or entry["after"] or _fingerprint(kept, common) != _fingerprint(earlier, common):
            self._refuse("other first rounds (warm_start)")
        elif len(kept.weak) >= len(earlier.weak):
            self._entry["after"] = ""
            return kept
        return earlier

    def keep(self, run: Any, fitted: Callable[[], dict[str, Any]]) -> None:
        """Write the rounds so far if it is time or the run is over; a disk that is full is a warning.

        Parameters
        ----------
        run : rounds.Run or multiclass.ClassRuns
        fitted : callable
            Gives what a fitted model is after the rounds so far.
        """
        over = run.stop_reason is not None
        began = time.monotonic()
        # What is in the file may be more than this fit does: the rounds of a larger n_estimators.
        if run.n_rounds < self._n_found or not (over or began >= self._due):
            return
        model = object.__new__(type(self._model))
        model.__dict__ = vars(self._model) | fitted() | ({} if over else {"stop_reason_": UNDER_WAY})
        model.__dict__.pop("weights_", None)  # large, and they come again
        try:
            persist.write(persist.content_of(model, checkpoint=self._entry), self._path, self._aside)
        except OSError as error:
            warnings.warn(
                f"checkpoint {self._shown} cannot be written: {error.strerror}; the fit goes on without",
                UserWarning,
                stacklevel=5,
            )
        took = time.monotonic() - began
        self._due = began + took + max(INTERVAL, took / SHARE)

    def _read(self) -> tuple[Any, dict[str, Any]]:
        try:
            model, about = persist.read(self._path)
        except persist.ModelFileError as error:
            reason = str(error).removeprefix(f"{self._path}: ")
            raise ValueError(f"checkpoint {self._shown}: {reason}; {_ADVICE}") from None
        entry = about.get("checkpoint")
        ours = isinstance(entry, dict) and {"data", "after"} <= set(entry)
        if not ours or not isinstance(model, TAdaBoostClassifier):
            raise ValueError(f"checkpoint {self._shown} is a model, not a checkpoint; {_ADVICE}")
        return model, about

    def _check_place(self) -> None:
        """Find out before a long fit that the file cannot be written; remove what a killed one left."""
        try:
            for left in glob.glob(glob.escape(f".{self._path.name}.") + "*.part", root_dir=self._path.parent):
                self._path.with_name(left).unlink(missing_ok=True)
            self._aside.touch()
            self._aside.unlink()
        except OSError as error:
            reason = f"checkpoint cannot be written: {error.strerror}"
            raise OSError(error.errno, reason, self._shown) from None

    def _refuse_other(self, model: Any, about: dict[str, Any]) -> None:
        """Raise ValueError unless the file is of this fit as far as data and parameters say."""
        if about["version"] != tadaboost.__version__:
            self._refuse(f"another version of tadaboost, {about['version']}")
        old, new = model.get_params(), self._model.get_params()
        others = [
            name
            for name in new.keys() - _FREE
            if persist.plain("", new[name]) != persist.plain("", old[name])
        ]
        if model._seed != self._model._seed:
            others.append("random_state")
        if others:
            self._refuse(f"another {' and another '.join(sorted(others))}")
        if about["checkpoint"]["data"] != self._entry["data"]:
            self._refuse("other rows, labels, weights or validation rows")

    def _refuse(self, what: str) -> None:
        raise ValueError(f"checkpoint {self._shown} is of a fit with {what}; {_ADVICE}")


def _digest(model: Any, train: Rows, held_out: Rows | None) -> str:
    """Hash everything about the rows that a fit sees, as the fit sees it."""
    names = getattr(model, "feature_names_in_", np.empty(0, object)).tolist()
    digest = hashlib.sha256(json.dumps([persist.labels_out(model.classes_), names, model._schema]).encode())
    for rows in (train, held_out):
        if rows is None:
            continue
        labels = target.check_labels(rows.y)
        weight = target.weigh(labels, rows.weight, None)
        for array in (
            frame.to_matrix(frame.open_table(rows.X), model._schema),
            labels.astype(str) if labels.dtype == object else labels,
            np.empty(0) if weight is None else weight,
        ):
            _add(digest, array)
    return digest.hexdigest()


def _fingerprint(rounds: Earlier, n: int) -> str:
    """Hash the trees and coefficients of the first n rounds."""
    trees = chain.from_iterable([w] if isinstance(w, Tree) else w for w in rounds.weak[:n])
    digest = hashlib.sha256()
    for array in (*forest.flatten(list(trees)), np.ascontiguousarray(rounds.rounds["alpha"][:n])):
        _add(digest, array)
    return digest.hexdigest()


def _add(digest: Any, array: NDArray[Any]) -> None:
    digest.update(f"{array.dtype.str}{array.shape}".encode())
    for first in range(0, len(array), _CHUNK):
        digest.update(np.ascontiguousarray(array[first : first + _CHUNK]).view(np.uint8).data)
