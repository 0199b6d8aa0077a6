# SPDX-License-Identifier: Apache-2.0
"""The commands `fit`, `predict`, `inspect`, `demo`: results on standard output, remarks on standard error."""

from __future__ import annotations

import contextlib
import csv
import datetime
import difflib
import functools
import gzip
import itertools
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click
import numpy as np
import polars as pl
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import Progress

import tadaboost
from tadaboost import columns, outcome, terminal
from tadaboost.aside import write_aside
from tadaboost.evaluate import Estimate, cross_validate
from tadaboost.group import main
from tadaboost.reader import DataError, Table, read_table, shown
from tadaboost.report import render_report
from tadaboost.target import mean_over_rows

Command = TypeVar("Command", bound=Callable[..., Any])

# Parameters that have an option of their own.
_OPTION_OF = {"t": "--t", "n_jobs": "--jobs", "random_state": "--seed"}
# Parameters that name columns, which only the data can tell right from wrong, and words that are no names.
_ABOUT_COLUMNS: dict[str, tuple[str, ...]] = {
    "categorical_features": ("from_dtype",),
    "monotonic_cst": (),
    "interaction_cst": ("pairwise", "no_interactions"),
}
_MEANINGS = {".tada": "models", ".gz": "compressed files", ".parquet": "Parquet files"}
_READERS: tuple[Callable[[str], object], ...] = (
    int,
    float,
    {"true": True, "false": False, "none": None}.__getitem__,
)


@dataclass(frozen=True)
class Settings:
    """The options that `fit` and `demo` share."""

    parameters: dict[str, Any]
    folds: int
    seed: int
    model: Path
    report: Path
    as_json: bool

    def files(self) -> dict[str, Path]:
        """Give what will be written, by the option that names it."""
        files = {"--model": self.model, "--report": self.report}
        if self.parameters.get("checkpoint") is not None:
            files["checkpoint"] = Path(self.parameters["checkpoint"])
        return files


@contextlib.contextmanager
def one_line_errors() -> Iterator[None]:
    """Turn a fault of data, model file or disk into one line and exit code 1; ours keep their traceback."""
    try:
        yield
    except BrokenPipeError:
        raise
    except (DataError, tadaboost.ModelFileError, UnicodeError) as error:
        raise click.ClickException(" ".join(str(error).split())) from None
    except OSError as error:
        # Standard output is the one file that we did not open by name.
        where = "standard output" if error.filename is None else error.filename or "''"
        raise click.ClickException(f"{where}: {error.strerror or error}") from None
    except MemoryError:
        raise click.ClickException("not enough memory for this data") from None


def named(_context: click.Context, _option: click.Parameter, value: str | None) -> str | None:
    """Refuse an empty text as the name of a file."""
    if value is not None and not value.strip():
        raise click.BadParameter("is empty; name a file, or leave the option out")
    return value


def _fit_options(command: Command) -> Command:
    options = [
        click.option(
            "--t",
            default="0.5",
            metavar="FLOAT",
            show_default=True,
            help="Temperature, below 2; 1 is AdaBoost.",
        ),
        click.option(
            "--set",
            "pairs",
            multiple=True,
            metavar="NAME=VALUE",
            help="A parameter of TAdaBoostClassifier: max_leaf_nodes=31, monotonic_cst=age:1,debt:-1, "
            '"interaction_cst=age,income;town". May be said again.',
        ),
        click.option(
            "--folds",
            default=10,
            type=click.IntRange(min=0),
            show_default=True,
            help="Parts of the cross-validation; 0: no estimate.",
        ),
        click.option(
            "--seed",
            default=0,
            type=click.IntRange(0, 2**32 - 1),
            show_default=True,
            help="Of the folds and the model.",
        ),
        click.option("--jobs", type=click.IntRange(min=1), help="Threads; as a rule every CPU there is."),
        click.option(
            "--model",
            metavar="M.tada",
            callback=named,
            help="Where to write the model; DATA.tada if not said.",
        ),
        click.option(
            "--report",
            metavar="R.html",
            callback=named,
            help="Where to write the report; DATA.html if not said.",
        ),
        click.option("--json", "as_json", is_flag=True, help="Print the result as JSON."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


@main.command()
@click.argument("data")
@click.option("--target", "target_name", required=True, metavar="COL", help="The column to predict.")
@click.option(
    "--positive",
    metavar="RULE",
    help="Which values are class 1: VALUE, '>=6' (also >, <=, <), or in:a,b. Others are class 0. "
    "Without it every value is a class.",
)
@click.option(
    "--drop", multiple=True, metavar="COL", help="A column to leave out; may be given several times."
)
@click.option("--weight", metavar="COL", help="A column of weights: a row of weight 3 counts as three rows.")
@_fit_options
def fit(
    data: str,
    target_name: str,
    positive: str | None,
    drop: tuple[str, ...],
    weight: str | None,
    **options: Any,
) -> None:
    """Fit a model to DATA and estimate its error.

    Writes the model and a report, in place of files that exist. DATA is a CSV file (also .gz), a Parquet
    file, or - for CSV from standard input.
    """
    stem = "model" if data == "-" else Path(Path(data).name.removesuffix(".gz")).stem or "model"
    settings = _settings(stem, **options)
    if target_name in drop or target_name == weight:
        raise click.UsageError(
            f"{shown(target_name)} is the target; it can be neither dropped nor the weight"
        )
    with one_line_errors():
        for path in settings.files().values():
            _refuse_to_destroy(path, {data: "the data"})
        _check_places(settings)
        _fit(read_table(data), target_name, positive, drop, weight, settings)


@main.command()
@_fit_options
def demo(**options: Any) -> None:
    """Fit a model to the breast cancer data of scikit-learn.

    Writes demo.tada and demo.html. The data are those of Wisconsin: 569 rows, 30 columns.
    """
    from sklearn.datasets import load_breast_cancer

    settings = _settings("demo", **options)
    bunch = load_breast_cancer()
    frame = pl.DataFrame(bunch.data, schema=[str(name) for name in bunch.feature_names])
    diagnosis = pl.Series("diagnosis", bunch.target_names[bunch.target].tolist())
    with one_line_errors():
        _check_places(settings)
        _fit(
            Table("Wisconsin breast cancer data", frame.with_columns(diagnosis), None),
            "diagnosis",
            None,
            (),
            None,
            settings,
        )


@main.command()
@click.argument("model_path", metavar="MODEL.tada")
@click.argument("data")
@click.option(
    "--output",
    metavar="P.csv",
    callback=named,
    help="CSV file to write, compressed if its name ends with .gz; as a rule standard output.",
)
@click.option("--proba", is_flag=True, help="Write a probability for each class, too.")
def predict(model_path: str, data: str, output: str | None, proba: bool) -> None:
    """Predict every row of DATA with the model in MODEL.tada.

    Columns are matched by name; others, the target too, are ignored.
    """
    zipped = output is not None and output.lower().endswith(".gz")
    with one_line_errors():
        if output is not None and output != "-":
            _refuse_to_destroy(Path(output), {data: "the data", model_path: "the model"})
            _refuse_name(Path(output), "predictions are CSV", ".csv", zipped)
        model = _load(model_path)
        table = read_table(data)
        X, remarks = columns.features(table, model.table_["columns"], model=Path(model_path).name)
        remarks += columns.unknown_levels(X, model._schema, table, Path(model_path).name)
        for remark in remarks:
            click.echo(remark, err=True)
        with _data_errors(table.name):
            result = {"prediction": model.predict(X)}
            if proba:
                shares = model.predict_proba(X)
                result |= {f"proba_{label}": shares[:, k] for k, label in enumerate(model.classes_)}
        text = pl.DataFrame(result).write_csv().encode()
        if output is None or output == "-":
            click.echo(text, nl=False)  # bytes: UTF-8 whatever the terminal speaks
        else:
            content = gzip.compress(text, mtime=0) if zipped else text
            write_aside(Path(output), lambda path: path.write_bytes(content))


@main.command()
@click.argument("model_path", metavar="MODEL.tada")
@click.option(
    "--tree",
    metavar="INDEX",
    type=click.IntRange(0),
    help="Print that tree instead; 0 is the first, as in `trees_`.",
)
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def inspect(model_path: str, tree: int | None, as_json: bool) -> None:
    """Say what MODEL.tada is: data, error, importances, settings."""
    if as_json and tree is not None:
        raise click.UsageError("--tree prints text; leave out --json")
    with one_line_errors():
        model = _load(model_path)
        if tree is not None:
            terminal.show_tree(model, tree)
        elif as_json:
            terminal.echo_json(terminal.described(model))
        else:
            terminal.show(model)


def _settings(
    stem: str,
    *,
    t: str,
    pairs: Sequence[str],
    folds: int,
    seed: int,
    jobs: int | None,
    model: str | None,
    report: str | None,
    as_json: bool,
) -> Settings:
    if folds == 1:
        raise click.UsageError("--folds 1 leaves nothing to fit to; take 2 or more, or 0 for no estimate")
    try:
        temperature = float(t)
    except ValueError:
        raise click.UsageError(f"--t {t}: is not a number") from None
    parameters = {"t": temperature, "n_jobs": jobs, "random_state": seed} | _parse_pairs(pairs)
    of_data = {*_ABOUT_COLUMNS, "checkpoint"}
    plain = {name: value for name, value in parameters.items() if name not in of_data}
    try:  # four rows tell a wrong parameter before the data is read
        with warnings.catch_warnings(action="ignore"):
            tadaboost.TAdaBoostClassifier(**plain).fit(np.arange(4.0)[:, None], np.array([0, 1, 0, 1]))
    except (ValueError, TypeError) as error:
        raise click.UsageError(" ".join(str(error).split())) from None
    settings = Settings(
        parameters, folds, seed, Path(model or f"{stem}.tada"), Path(report or f"{stem}.html"), as_json
    )
    for option, path in settings.files().items():
        if str(path) == "-":
            raise click.UsageError(f"{option} -: standard output holds what is printed; name a file")
    for (one, path), (other, other_path) in itertools.combinations(settings.files().items(), 2):
        if path.resolve() == other_path.resolve():
            raise click.UsageError(f"{one} and {other} are both {path}")
    return settings


def _parse_pairs(pairs: Sequence[str]) -> dict[str, Any]:
    """Read NAME=VALUE settings; a value is an integer, a number, true, false, none or else text."""
    known = tadaboost.TAdaBoostClassifier().get_params()
    del known["estimator"]  # an object, and a file could not hold its model
    parsed: dict[str, Any] = {}
    for pair in pairs:
        name, equals, text = (part.strip() for part in pair.partition("="))
        if not equals:
            raise click.UsageError(f"--set {pair}: must be NAME=VALUE")
        if name in _OPTION_OF:
            raise click.UsageError(f"--set {pair}: use {_OPTION_OF[name]} {text}")
        if name not in known:
            close = difflib.get_close_matches(name, known, n=3)
            hint = f"did you mean {' or '.join(close)}?" if close else f"there are {', '.join(sorted(known))}"
            raise click.UsageError(f"--set {pair}: no such parameter; {hint}")
        parsed[name] = _value(text)
        if name == "checkpoint" and parsed[name] is not None:
            parsed[name] = text  # a file may have a number as its name
        if name in _ABOUT_COLUMNS and parsed[name] is not None and text not in _ABOUT_COLUMNS[name]:
            try:
                parsed[name] = _about_columns(name, text)
            except ValueError as error:
                raise click.UsageError(f"--set {pair}: {error}") from None
    return parsed


def _about_columns(name: str, text: str) -> Any:
    """Read names of columns: A,B; or, for monotonic_cst, A:1,B:-1; or groups of them, A,B;C,D."""
    cells = next(csv.reader([text], skipinitialspace=True), [])
    if name == "categorical_features":
        return cells
    if name == "interaction_cst":
        return [next(csv.reader([group], skipinitialspace=True), []) for group in text.split(";")]
    directions = {column: sign for column, _, sign in (cell.rpartition(":") for cell in cells)}
    if not directions or not all(column and sign in ("-1", "0", "1") for column, sign in directions.items()):
        raise ValueError("must be COLUMN:1 (rising) or COLUMN:-1 (falling), several with commas between them")
    return {column: int(sign) for column, sign in directions.items()}


def _value(text: str) -> object:
    for read in _READERS:
        with contextlib.suppress(ValueError, KeyError):
            return read(text.lower())
    return text


def _refuse_to_destroy(path: Path, read: dict[str, str]) -> None:
    """Raise DataError if `path`, to be written, is one of the files that are read: name and what it is."""
    for name, what in read.items():
        if path.is_file() and Path(name).exists() and path.samefile(name):  # `-` is no file but in name
            raise DataError(f"{path} is {what}; writing there would destroy it, so name another file")


def _refuse_name(path: Path, what: str, suffix: str, zipped: bool = False) -> None:
    """Raise DataError where a file would have the name of something else, a model say, or take its place."""
    found = (path.with_suffix("") if zipped else path).suffix.lower()
    if found in _MEANINGS and found != suffix:
        raise DataError(f"{path}: {what}, and {found} is for {_MEANINGS[found]}; name it {suffix}")


def _check_places(settings: Settings) -> None:
    """Find out before a long fit, not after it, that a file cannot be written where it is to go."""
    _refuse_name(settings.report, "a report is a page", ".html")
    _refuse_name(settings.model, "a model is a kind of its own", ".tada")
    for path in settings.files().values():
        if path.is_dir():
            raise DataError(f"{path}: is a folder; name a file")
        if not path.parent.is_dir():
            raise DataError(f"{path}: there is no folder {path.parent}")
        if not os.access(path.parent, os.W_OK):
            raise DataError(f"{path}: cannot be written: no permission")


def _fit(
    table: Table, name: str, positive: str | None, drop: Sequence[str], weight: str | None, settings: Settings
) -> None:
    rows = None
    if weight is not None:
        rows = outcome.weights(table, weight)
        table, rows = table.keep(rows > 0), rows[rows > 0]  # weight 0 is a row that is not there
    y = outcome.labels(table, name, positive)
    if remark := outcome.alike(y):
        click.echo(f"{table.name}: target {shown(name)}: {remark}", err=True)
    found = columns.recognise(table, apart={name, weight or name}, drop=drop)
    for remark in found.remarks:
        click.echo(remark, err=True)
    for out in found.left_out:
        click.echo(f"{table.name}: column {shown(out['name'])} is left out: {out['reason']}", err=True)
    X, _ = columns.features(table, found.rules)

    estimate, model = _train(table.name, X, y, rows, settings)
    model.table_ = {
        "file": table.name,
        "rows": table.frame.height,
        "columns": found.rules,
        "left_out": found.left_out,
        "target": {"name": name, "positive": positive},
        "weight": weight,
        "estimate": estimate.as_dict() if estimate else None,
    }
    today = datetime.date.today().isoformat()
    errors = None
    if len(model.classes_) > 2:
        errors = np.array([mean_over_rows(stage != y, rows) for stage in model.staged_predict(X)])
    page = render_report(model, estimate, y, sample_weight=rows, train_error=errors, date=today)
    write_aside(settings.model, lambda path: tadaboost.save(model, path))
    write_aside(settings.report, lambda path: path.write_text(page, "utf-8"))
    if settings.as_json:
        said = {name: value for name, value in terminal.described(model).items() if name != "rounds"}
        terminal.echo_json({"model": str(settings.model), "report": str(settings.report)} | said)
    else:
        terminal.tell(model, y, rows, (settings.model, settings.report))


def _train(
    name: str, X: pl.DataFrame, y: NDArray[np.generic], rows: NDArray[np.float64] | None, settings: Settings
) -> tuple[Estimate | None, Any]:
    """Cross-validate, then fit to all rows; progress on a terminal, warnings of the last fit as lines."""

    def make_model(**other: Any) -> Any:
        """Build a model of these settings, some of them changed; nothing is fitted."""
        return tadaboost.TAdaBoostClassifier(**(settings.parameters | other))

    estimate = None
    with (
        _data_errors(name),
        warnings.catch_warnings(record=True, action="always") as caught,
        Progress(console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()) as progress,
    ):
        task = progress.add_task("fitting", total=settings.folds + 1)
        if settings.folds:
            estimate = cross_validate(
                functools.partial(make_model, checkpoint=None),  # it is of the fit to all rows
                X,
                y,
                sample_weight=rows,
                folds=settings.folds,
                seed=settings.seed,
                on_progress=lambda: progress.advance(task),
            )
        caught.clear()  # the folds' models warn of the same, with other numbers
        model = make_model().fit(X, y, rows)
    for warning in caught:
        click.echo(f"{name}: {' '.join(str(warning.message).split())}", err=True)
    return estimate, model


@contextlib.contextmanager
def _data_errors(name: str) -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        raise DataError(f"{name}: {error}") from None


def _load(path: str) -> Any:
    model = tadaboost.load(path)
    if getattr(model, "table_", None) is None:
        raise DataError(
            f"{Path(path).name}: was not made by `tadaboost fit`, so it lacks the rules for a file's columns"
        )
    if not _is_whole(model):
        raise DataError(f"{Path(path).name}: damaged model file (table cannot be right)")
    return model


def _is_whole(model: Any) -> bool:
    """Say whether what `fit` noted about its data has the form in which it is read."""
    table = model.table_
    try:
        target, estimate = table["target"], table["estimate"]
        names = [rule["name"] for rule in table["columns"]]
        figures = [estimate[name] for name in ("error", "log_loss", "auc")] if estimate else []
        texts = [table["file"], target["name"], *names]
        texts += [out[part] for out in table["left_out"] for part in ("name", "reason")]
        counts = [table["rows"], estimate["folds"]] if estimate else [table["rows"]]
        return (
            names == model.feature_names_in_.tolist()
            and all(map(columns.is_rule, table["columns"]))
            and all(isinstance(text, str) for text in texts)
            and all(isinstance(text, str | None) for text in (target["positive"], table["weight"]))
            and all(isinstance(count, int) for count in counts)
            and all(isinstance(figure[part], int | float) for figure in figures for part in ("mean", "se"))
        )
    except (LookupError, TypeError, AttributeError):
        return False
