# SPDX-License-Identifier: Apache-2.0
"""A fit that was killed goes on from its checkpoint, to the bits of one that was not."""

import os
import re
import signal
import subprocess
import sys
import zipfile

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from sklearn.linear_model import LogisticRegression

import tadaboost
from tadaboost import TAdaBoostClassifier, TemperedTreeClassifier, checkpoint, paper_settings, persist
from tadaboost.group import main

from .reports import AtEnd, ends_round
from .reports import mixed_data as data

RULES = [
    {},
    {"t": 1.3, "leveraging": "exact", "class_weight": {0: 1.0, 1: 2.5, 2: 1.0}},
    {key: value for key, value in paper_settings(t=0.6).items() if key != "n_estimators"},
    {"early_stopping": True, "n_iter_no_change": 6, "learning_rate": 0.5},
    {"early_stopping": True, "scoring": "accuracy", "validation_fraction": None, "random_state": 3},
]


class Interrupted(Exception):
    """What stands for the end of a process."""


def fail_at(n):
    """A callback that ends the fit after n rounds, as nothing in `fit` expects."""

    def act(context, _):
        if ends_round(context, n):
            raise Interrupted

    return AtEnd(act)


@pytest.fixture(autouse=True)
def _write_every_round(monkeypatch):
    monkeypatch.setattr(checkpoint, "INTERVAL", 0.0)
    monkeypatch.setattr(checkpoint, "SHARE", np.inf)


@pytest.fixture
def grown(monkeypatch):
    """An entry for each tree that is grown."""
    trees = []
    grow = tadaboost.rounds.Run._grow
    monkeypatch.setattr(
        tadaboost.rounds.Run, "_grow", lambda run, *draws: trees.append(1) or grow(run, *draws)
    )
    return trees


@pytest.fixture
def path(tmp_path):
    return tmp_path / "fit.checkpoint"


def content(model):
    """Everything that a file of the model would hold, wherever its checkpoint was."""
    plain = model.get_params()
    return persist.content_of(model.set_params(checkpoint=None)), model.set_params(**plain)


def assert_same(model, other):
    assert content(model)[0] == content(other)[0]


def interrupted(n, rules, path, X, y, *weight, **validation):
    model = TAdaBoostClassifier(**{"n_estimators": 12, **rules}, checkpoint=path)
    with pytest.raises(Interrupted):
        model.set_callbacks(fail_at(n)).fit(X, y, *weight, **validation)
    return model


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("rules", RULES)
def test_a_fit_that_was_interrupted_twice_is_one_that_was_not(path, rules, n_classes):
    X, y = data(n_classes)
    rules = {"record_weights": True, **rules}
    weight = np.random.default_rng(1).integers(0, 3, len(y))
    for n in (3, 6):
        interrupted(n, rules, path, X, y, weight)
        assert tadaboost.load(path).n_iter_ == n - 1  # that of the round itself was not yet written
    model = TAdaBoostClassifier(n_estimators=12, **rules, checkpoint=path).fit(X, y, weight)
    if rules.get("early_stopping"):
        rules["random_state"] = model._seed
    one = TAdaBoostClassifier(n_estimators=12, **rules).fit(X, y, weight)
    assert_same(model.set_params(random_state=one.random_state), one)


def test_the_found_rounds_are_taken_and_not_grown_again(path, grown):
    X, y = data()
    interrupted(9, {"record_weights": True}, path, X, y)
    assert not hasattr(tadaboost.load(path), "weights_")  # rows times rounds, and they come again
    grown.clear()
    TAdaBoostClassifier(n_estimators=12, checkpoint=path).fit(X, y)
    assert len(grown) == 12 - 8


KILLED = """
import os, signal, sys
import numpy as np
import tadaboost
from tadaboost import TAdaBoostClassifier, checkpoint, persist

path = sys.argv[1]
checkpoint.INTERVAL, checkpoint.SHARE = 0.0, np.inf
write, calls = persist.write, []
moments = [("half written", 1), ("after the rename", 4), ("half written", 6), ("before the rename", 3)]
for moment, count in [*moments, ("", 0)]:  # a process each, forked before there are rounds or threads
    if not os.fork():
        break
    print(os.waitstatus_to_exitcode(os.wait()[1]), len(os.listdir(os.path.dirname(path))))
else:
    sys.exit()

def die():
    os.kill(os.getpid(), signal.SIGKILL)

def killed_write(content, place, aside):
    calls.append(1)
    if len(calls) == count and moment == "half written":
        with open(aside, "wb") as file:
            file.write(content[: len(content) // 2])
            file.flush()
            die()
    if len(calls) == count and moment == "before the rename":
        os.replace = lambda *_: die()
    write(content, place, aside)
    if len(calls) == count and moment == "after the rename":
        die()

if moment:
    persist.write = killed_write
rng = np.random.default_rng(0)
X = rng.normal(size=(300, 4))
y = np.digitize(X[:, 0] + rng.normal(size=300), [-0.5, 0.5])
model = TAdaBoostClassifier(n_estimators=30, early_stopping=True, n_jobs=1 + count % 2, checkpoint=path)
model.fit(X, y, rng.integers(0, 3, 300))
tadaboost.save(model.set_params(checkpoint=None, n_jobs=None), path + ".tada")
"""


@pytest.mark.skipif(os.name != "posix", reason="forks")
def test_a_fit_killed_at_several_moments_saves_the_same_bytes(path):
    done = subprocess.run([sys.executable, "-c", KILLED, path], capture_output=True, text=True, check=True)
    codes, files = zip(*(map(int, line.split()) for line in done.stdout.splitlines()), strict=True)
    assert codes == (*[-signal.SIGKILL] * 4, 0)
    assert max(files) <= 2  # the checkpoint, and one that was not whole
    assert sorted(os.listdir(path.parent)) == [path.name, f"{path.name}.tada"]
    # The seed was drawn by the first process; another draw would hold out other rows.
    seed = tadaboost.load(path)._seed
    saved = tadaboost.load(f"{path}.tada")
    assert saved._seed == seed
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    y = np.digitize(X[:, 0] + rng.normal(size=300), [-0.5, 0.5])
    one = TAdaBoostClassifier(n_estimators=30, early_stopping=True, random_state=seed)
    one.fit(X, y, rng.integers(0, 3, 300)).set_params(random_state=None)
    assert persist.content_of(one) == (path.parent / f"{path.name}.tada").read_bytes()


def test_a_finished_fit_leaves_its_file_for_a_longer_one(path):
    X, y = data()
    short = TAdaBoostClassifier(n_estimators=5, checkpoint=path).fit(X, y)
    assert_same(tadaboost.load(path), short)
    longer = TAdaBoostClassifier(n_estimators=9, checkpoint=str(path)).fit(X, y)
    assert_same(longer, TAdaBoostClassifier(n_estimators=9).fit(X, y))
    assert tadaboost.load(path).n_iter_ == 9
    assert_same(TAdaBoostClassifier(n_estimators=5, checkpoint=path).fit(X, y), short)
    assert tadaboost.load(path).n_iter_ == 9  # rounds are not thrown away for a shorter fit
    assert os.listdir(path.parent) == [path.name]


def test_a_run_that_ended_early_stays_over(path):
    X = np.repeat(np.arange(4.0), 20)[:, None]
    for y in (np.zeros(80, int), np.repeat([0, 1, 2, 2], 20), np.arange(80) % 2):
        path.unlink(missing_ok=True)
        rules = {"learning_rate": 1.0, "min_samples_leaf": 1, "leaf_ridge": 0.0}
        one = TAdaBoostClassifier(**rules).fit(X, y)
        for _ in range(2):
            assert_same(TAdaBoostClassifier(**rules, checkpoint=path).fit(X, y), one)


def test_given_validation_rows_are_part_of_the_fit(path):
    X, y = data()
    given = {"X_val": X[1::2], "y_val": y[1::2], "sample_weight_val": np.ones(100)}
    interrupted(4, {}, path, X[::2], y[::2], **given)
    model = TAdaBoostClassifier(n_estimators=12, checkpoint=path).fit(X[::2], y[::2], **given)
    one = TAdaBoostClassifier(n_estimators=12).fit(X[::2], y[::2], **given)
    assert_same(model, one)
    for change in ({"X_val": X[:100]}, {"y_val": 1 - y[1::2]}, {"sample_weight_val": np.full(100, 2.0)}):
        with pytest.raises(
            ValueError, match="is of a fit with other rows, labels, weights or validation rows"
        ):
            model.fit(X[::2], y[::2], **(given | change))


def test_a_warm_start_goes_on_with_what_is_longer(path):
    X, y = data()
    one = TAdaBoostClassifier(n_estimators=12, warm_start=True).fit(X, y)
    model = TAdaBoostClassifier(n_estimators=4, warm_start=True, checkpoint=path).fit(X, y)
    tadaboost.save(model, path.with_name("4.tada"))
    with pytest.raises(Interrupted):
        model.set_params(n_estimators=12).set_callbacks(fail_at(8)).fit(X, y)
    assert tadaboost.load(path).n_iter_ == 7
    # In a new process: from what was saved, or from nothing.
    saved = tadaboost.load(path.with_name("4.tada")).set_params(n_estimators=12)
    assert_same(saved.fit(X, y), one)
    assert_same(TAdaBoostClassifier(n_estimators=12, warm_start=True, checkpoint=path).fit(X, y), one)
    # A model that is ahead of the file.
    path.unlink()
    TAdaBoostClassifier(n_estimators=3, checkpoint=path).fit(X, y)
    saved = tadaboost.load(path.with_name("4.tada")).set_params(n_estimators=12)
    assert_same(saved.fit(X, y), one)


def goes_on_slower(n, path=None, **more):
    """A model of n rounds at a learning rate of 1, set to go on at 0.1."""
    X, y = data()
    model = TAdaBoostClassifier(n_estimators=n, learning_rate=1.0, warm_start=True).fit(X, y)
    return model.set_params(n_estimators=9, learning_rate=0.1, checkpoint=path, **more)


def test_a_warm_start_with_another_parameter_is_no_checkpoint_of_another_fit(path, grown):
    X, y = data()
    one = goes_on_slower(3).fit(X, y)
    with pytest.raises(Interrupted):
        goes_on_slower(3, path).set_callbacks(fail_at(6)).fit(X, y)
    plain = TAdaBoostClassifier(n_estimators=9, learning_rate=0.1, checkpoint=path)
    for other in (plain, goes_on_slower(2, path)):
        with pytest.raises(
            ValueError, match=r"is of a fit with other first rounds \(warm_start\); name another"
        ):
            other.fit(X, y)
    again = goes_on_slower(3, path)
    grown.clear()
    assert_same(again.fit(X, y), one)
    assert len(grown) == 9 - 5


def test_a_warm_start_that_is_ahead_of_the_file_keeps_its_own_rounds(path):
    X, y = data()
    kept = TAdaBoostClassifier(n_estimators=2, learning_rate=0.1, checkpoint=path).fit(X, y)

    def ahead(path):
        model = TAdaBoostClassifier(n_estimators=2, learning_rate=0.1, warm_start=True).fit(X, y)
        model.set_params(n_estimators=4, learning_rate=1.0).fit(X, y)
        return model.set_params(n_estimators=9, learning_rate=0.1, checkpoint=path)

    model = ahead(path).fit(X, y)
    assert_same(model, ahead(None).fit(X, y))
    with pytest.raises(ValueError, match="is of a fit with other first rounds"):
        kept.set_params(n_estimators=9).fit(X, y)


@pytest.mark.parametrize(
    ("rules", "what"),
    [
        ({"learning_rate": 0.2}, "another learning_rate"),
        ({"max_bins": 9, "class_weight": {0: 1, 1: 2}}, "another class_weight and another max_bins"),
        ({"random_state": 5}, "another random_state"),
    ],
)
def test_another_parameter_is_refused_by_name(path, rules, what):
    X, y = data()
    TAdaBoostClassifier(n_estimators=3, checkpoint=path, class_weight={0: 1, 1: 1}).fit(X, y)
    before = path.read_bytes()
    rules = {"class_weight": {0: 1, 1: 1}, **rules}
    told = f"^checkpoint {path} is of a fit with {what}; name another file, or remove this one to begin anew$"
    with pytest.raises(ValueError, match=told):
        TAdaBoostClassifier(n_estimators=3, checkpoint=path, **rules).fit(X, y)
    assert path.read_bytes() == before


def test_other_rows_are_refused_and_other_containers_are_not(path):
    rng = np.random.default_rng(0)
    X, y, weight = rng.normal(size=(90, 3)), rng.integers(0, 2, 90), rng.integers(1, 4, 90)
    model = TAdaBoostClassifier(n_estimators=3, checkpoint=path).fit(X, y, weight)
    again = [
        (np.asfortranarray(X), y, weight.astype(float)),
        (X.tolist(), y.tolist(), weight.tolist()),
        (X[::-1][::-1], pd.Series(y), weight),
    ]
    for other in again:
        assert_same(model.fit(*other), TAdaBoostClassifier(n_estimators=3).fit(X, y, weight))
    X_other = X.copy()
    X_other[17, 2] = np.nextafter(X_other[17, 2], np.inf)
    labels = np.where(np.arange(90) == 3, 1 - y, y)
    renamed = pd.DataFrame(X, columns=list("abc"))
    for rows in ((X_other, y, weight), (X, labels, weight), (X, y, weight * 2), (X, y), (renamed, y, weight)):
        with pytest.raises(
            ValueError, match="is of a fit with other rows, labels, weights or validation rows"
        ):
            model.fit(*rows)


def test_what_is_no_checkpoint_is_refused_and_left_alone(path, tmp_path):
    X, y = data()
    model = TAdaBoostClassifier(n_estimators=2, checkpoint=path)
    tree = TemperedTreeClassifier().fit(X, y)
    plain = TAdaBoostClassifier(n_estimators=2).fit(X, y)
    damaged = persist.content_of(plain, checkpoint={"data": "", "after": ""})[:-40]
    for found, reason in (
        (b"a,b\n1,2\n", ": not a tadaboost model"),
        (persist.content_of(plain), " is a model, not a checkpoint"),
        (persist.content_of(plain, checkpoint=3), " is a model, not a checkpoint"),
        (persist.content_of(tree, checkpoint={"data": "", "after": ""}), " is a model, not a checkpoint"),
        (damaged, ": damaged model file"),
    ):
        path.write_bytes(found)
        with pytest.raises(ValueError, match=rf"^checkpoint {path}{reason}[^\n]*; name another file"):
            model.fit(X, y)
        assert path.read_bytes() == found
    with pytest.raises(ValueError, match=r"^checkpoint \S+ is no ordinary file; name another one$"):
        model.set_params(checkpoint=tmp_path).fit(X, y)


def test_another_version_is_refused(path, monkeypatch):
    X, y = data()
    model = TAdaBoostClassifier(n_estimators=2, checkpoint=path).fit(X, y)
    monkeypatch.setattr(tadaboost, "__version__", "99.0")
    with pytest.raises(ValueError, match=r"another version of tadaboost, 0\.\d+\.\d+; name another file, or"):
        model.fit(X, y)


def test_a_place_that_cannot_be_written_is_told_before_the_first_round(tmp_path, monkeypatch):
    X, y = data()
    monkeypatch.setattr(tadaboost.rounds.Run, "step", lambda _: pytest.fail("a round was done"))
    place = tmp_path / "nowhere" / "c"
    with pytest.raises(OSError, match=rf"checkpoint cannot be written: No such file[^:]*: '{place}'$"):
        TAdaBoostClassifier(checkpoint=place).fit(X, y)
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="checkpoint cannot be written: Not a directory"):
        TAdaBoostClassifier(checkpoint=tmp_path / "file" / "c").fit(X, y)


def test_what_a_file_cannot_hold_is_told_before_the_first_round(path, monkeypatch):
    X, y = data()
    monkeypatch.setattr(tadaboost.rounds.Run, "step", lambda _: pytest.fail("a round was done"))
    with pytest.raises(
        ValueError, match=r"^checkpoint keeps trees only, and estimator is given; leave one of"
    ):
        TAdaBoostClassifier(checkpoint=path, estimator=LogisticRegression()).fit(X, y)
    with pytest.raises(
        TypeError, match=r"^parameter random_state is a RandomState, which a \.tada file cannot"
    ):
        TAdaBoostClassifier(checkpoint=path, random_state=np.random.RandomState(0)).fit(X, y)
    with pytest.raises(ValueError, match="The 'checkpoint' parameter of TAdaBoostClassifier must be"):
        TAdaBoostClassifier(checkpoint=1).fit(X, y)
    assert os.listdir(path.parent) == []


def test_a_disk_that_fills_up_is_a_warning_and_the_fit_goes_on(path, monkeypatch):
    X, y = data()

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.warns(
        UserWarning, match="^checkpoint .* cannot be written: No space left on device; the fit goes"
    ):
        model = TAdaBoostClassifier(n_estimators=3, checkpoint=path).fit(X, y)
    assert_same(model, TAdaBoostClassifier(n_estimators=3).fit(X, y))
    assert os.listdir(path.parent) == []


def test_writing_takes_a_small_share_of_the_time(path, monkeypatch):
    X, y = data()
    clock, writes = [0.0], []

    def slow(content, place, aside):
        writes.append(clock[0])
        clock[0] += 1.0

    monkeypatch.setattr(checkpoint, "INTERVAL", 5.0)
    monkeypatch.setattr(checkpoint, "SHARE", 0.02)
    monkeypatch.setattr(checkpoint.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(persist, "write", slow)
    step = tadaboost.rounds.Run.step

    def second(run):
        clock[0] += 1.0
        step(run)

    monkeypatch.setattr(tadaboost.rounds.Run, "step", second)
    TAdaBoostClassifier(n_estimators=120, checkpoint=path).fit(X, y)
    assert writes == [5.0, 56.0, 107.0, 123.0]  # the first, each 1 second in 50 later, and the last


def test_a_link_stays_a_link_and_a_leftover_goes(path, tmp_path):
    X, y = data()
    (tmp_path / "there").mkdir()
    path.symlink_to(tmp_path / "there" / "c")
    (tmp_path / "there" / ".c.123.part").write_text("half")
    TAdaBoostClassifier(n_estimators=2, checkpoint=path).fit(X, y)
    assert path.is_symlink()
    assert os.listdir(tmp_path / "there") == ["c"]


def test_a_model_with_a_checkpoint_can_be_saved(path, tmp_path):
    X, y = data()
    model = TAdaBoostClassifier(n_estimators=2, checkpoint=path).fit(X, y)
    tadaboost.save(model, tmp_path / "m.tada")
    assert tadaboost.load(tmp_path / "m.tada").checkpoint == str(path)
    with zipfile.ZipFile(tmp_path / "m.tada") as archive:
        assert not re.search(rb'"after"', archive.read("model.json"))


def test_the_command_line_goes_on_with_the_fit_to_all_rows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y = data()
    X.assign(y=y).to_csv("data.csv", index=False)

    def run(*options):
        result = CliRunner().invoke(main, ["fit", "data.csv", "--target", "y", *options])
        return result.exit_code, result.stderr.splitlines()[-1:]

    kept = ("--folds", "2", "--set", "checkpoint=7", "--model", "m.tada")
    assert run(*kept, "--set", "n_estimators=4") == (0, [])
    assert tadaboost.load("7").n_iter_ == 4
    assert run(*kept, "--set", "n_estimators=6") == (0, [])
    assert run("--folds", "0", "--set", "n_estimators=6") == (0, [])
    assert tadaboost.load("m.tada").rounds_.tobytes() == tadaboost.load("data.tada").rounds_.tobytes()
    told = (
        "Error: data.csv: checkpoint 7 is of a fit with another max_bins; name another file, or remove this"
    )
    assert run(*kept, "--set", "max_bins=9") == (1, [f"{told} one to begin anew"])
    assert run(*kept, "--set", "checkpoint=no/c") == (1, ["Error: no/c: there is no folder no"])
    assert run(*kept, "--set", "checkpoint=m.tada") == (2, ["Error: --model and checkpoint are both m.tada"])


@pytest.mark.parametrize("path", ["", "a\0b"])
def test_what_is_no_path_is_refused_by_name(path):
    with pytest.raises(ValueError, match=r"checkpoint is '.*', which is no path; name a file"):
        TAdaBoostClassifier(checkpoint=path).fit([[0.0], [1.0]], [0, 1])
