# SPDX-License-Identifier: Apache-2.0
"""Open roads of the paper, in numbers: corrective steps, margins, the entropy-regularised trade-off.

Prints Markdown tables. All hypotheses are stumps on scikit-learn's breast cancer data, at the deciles of each
column; each round takes the one of largest mean edge on the current weights. The last table tries what the
library leaves out: min over the co-simplex of the largest edge plus D_t / eta.
"""

import argparse
import time

import numpy as np
from scipy.optimize import linprog, minimize, nnls
from sklearn.datasets import load_breast_cancer

from tadaboost.boosting import State, boost
from tadaboost.measures import relative_entropy

TEMPERATURES = (0.0, 0.5, 0.8, 1.0)


def stumps(X: np.ndarray) -> np.ndarray:
    """Outputs of all stumps at deciles, a line each, without repetitions."""
    cuts = np.quantile(X, np.linspace(0.1, 0.9, 9), axis=0)
    return np.unique(np.concatenate([np.where(cut[:, None] < X.T, 1.0, -1.0) for cut in cuts]), axis=0)


def greedy(U: np.ndarray, t: float, rule: str, margin: float, rounds: int) -> dict[str, float]:
    """Boost over the pool U, largest edge first; what came of it."""
    state = State(t, np.full(U.shape[1], 1 / U.shape[1]), U.shape[1], margin=margin)
    used, alpha, loss, bound, start = [], [], 1.0, 1.0, time.process_time()
    for _ in range(rounds):
        q = state.omega * np.exp(state.log_e - np.max(state.log_e))
        best = int(np.argmax(np.abs(U @ q)))
        if abs(U[best] @ q) <= (margin + 1e-10) * np.sum(q):
            break
        round_ = state.step(U[best], rule)
        used.append(best)
        alpha, loss, bound = [*alpha, round_.alpha], round_.loss, round_.bound
        if loss == 0.0:
            break
    alpha = state.coefficients if rule == "corrective" else np.array(alpha)
    S = alpha @ U[used]
    return {
        "rounds": len(used),
        "different": len(set(used)),
        "loss": loss,
        "bound": bound,
        "error": float(np.mean(S <= 0)),
        "margin": float(np.min(S) / np.sum(np.abs(alpha))),
        "seconds": time.process_time() - start,
    }


def largest_margin(U: np.ndarray) -> float:
    """Largest smallest margin of a combination of |coefficients| that sum to 1: a linear program."""
    k, m = U.shape
    signed = np.concatenate([U, -U])
    found = linprog(
        np.append(np.zeros(2 * k), -1.0),
        A_ub=np.column_stack([-signed.T, np.ones(m)]),
        b_ub=np.zeros(m),
        A_eq=[np.append(np.ones(2 * k), 0.0)],
        b_eq=[1.0],
        bounds=[(0, None)] * (2 * k) + [(None, None)],
    )
    return -float(found.fun)


def corrective_table(U: np.ndarray, rounds: int) -> None:
    """Losses and errors of the three step rules after equally many rounds, labels in part wrong."""
    print("| t | step | rounds | loss | bound (12) | train error | CPU s |\n|---|---|---|---|---|---|---|")
    for t in TEMPERATURES:
        for rule in ("closed", "exact", "corrective"):
            run = greedy(U, t, rule, 0.0, rounds)
            print(
                f"| {t} | {rule} | {run['rounds']} | {run['loss']:.3f} | {run['bound']:.3f} | "
                f"{run['error']:.3f} | {run['seconds']:.2f} |"
            )


def order_table(seeds: int) -> None:
    """Against single exact steps that go round and round over the same hypotheses."""
    print("| t | games where a row went off | largest excess of loss, others | with a row off |")
    print("|---|---|---|---|")
    for t in TEMPERATURES:
        plain, off = [0.0], [0.0]
        for seed in range(seeds):
            rng = np.random.default_rng(seed)
            H, y = rng.normal(size=(4, 20)), rng.choice([-1, 1], 20)
            once = boost(H, y, t, leveraging="corrective")
            cyclic = boost(np.tile(H, (60, 1)), y, t, leveraging="exact")
            (off if cyclic.off.any() else plain).append(cyclic.loss[-1] - once.loss[-1])
        print(f"| {t} | {len(off) - 1} of {seeds} | {max(plain):.1e} | {max(off):.1e} |")


def margin_table(U: np.ndarray, rounds: int) -> None:
    """Smallest normalised margin reached, against the largest possible one."""
    best = largest_margin(U)
    print(f"Largest possible smallest margin: {best:.4f}. Smallest margin over it (rounds):\n")
    shares = (0.0, 0.5, 0.9, 0.98)
    print("| t | step |" + "".join(f" margin {share} of it |" for share in shares))
    print("|---|---|" + "---|" * len(shares))
    for t in TEMPERATURES:
        for rule in ("closed", "exact", "corrective"):
            runs = [greedy(U, t, rule, share * best, rounds) for share in shares]
            print(f"| {t} | {rule} |" + "".join(f" {r['margin'] / best:.3f} ({r['rounds']}) |" for r in runs))


def trade_off(U: np.ndarray, t: float, eta: float, start: np.ndarray) -> tuple[float, float, bool]:
    """Objective of a local minimum on the co-simplex, smallest margin of its multipliers, and convergence."""
    m = U.shape[1]
    first = np.full(m, m ** (-1 / (2 - t)))

    def value(x: np.ndarray) -> float:
        return float(x[m] + relative_entropy(np.maximum(x[:m], 0.0), first, t) / eta)

    found = minimize(
        value,
        np.append(start, np.max(U @ start)),
        method="SLSQP",
        bounds=[(0.0, 1.0)] * m + [(None, None)],
        constraints=[
            {"type": "eq", "fun": lambda x: np.sum(np.maximum(x[:m], 0.0) ** (2 - t)) - 1},
            {"type": "ineq", "fun": lambda x: x[m] - U @ x[:m]},
        ],
        options={"maxiter": 2000, "ftol": 1e-12},
    )
    # The model that belongs to a point: the weights w >= 0, sum 1, on hypotheses of largest edge under which
    # sum_k w_k u_k + pull / eta - level grip = 0 on the rows that are on.
    q = np.maximum(found.x[:m], 0.0)
    active, on = U @ q > found.x[m] - 1e-5, q > 1e-6
    grip = q[on] ** (1 - t)
    pull = np.log(q[on] / first[on]) if t == 1 else (grip - first[on] ** (1 - t)) / (1 - t)
    rows = np.column_stack([U[active][:, on].T, -grip, grip])
    total = np.append(np.ones(np.sum(active)), [0.0, 0.0])
    fit, left = nnls(np.vstack([rows, 1e3 * total]), np.append(-pull / eta, 1e3))
    return float(found.fun), float(np.min(fit[:-2] @ U[active])), bool(found.success and left < 1e-3)


def trade_off_table(games: int, starts: int) -> None:
    """Local minima, and the margin of the model against the best one."""
    print("| t | eta | games with several minima | smallest margin over the best possible: median | least |")
    print("|---|---|---|---|---|")
    for t in TEMPERATURES:
        for eta in (1.0, 10.0, 1000.0):
            several, shares = 0, []
            for seed in range(games):
                rng = np.random.default_rng(seed)
                U = np.tanh(0.5 * rng.normal(size=(4, 10)) + 0.5)
                best = largest_margin_positive(U)
                if best < 0.02:
                    continue
                found = []
                for _ in range(starts):
                    q = rng.dirichlet(np.ones(10)) ** (1 / (2 - t))
                    found.append(trade_off(U, t, eta, q))
                done = [run for run in found if run[2]]
                if done:
                    several += max(done)[0] - min(done)[0] > 1e-4
                    shares.append(min(done)[1] / best)
            margins = f"{np.median(shares):.3f} | {min(shares):.3f}"
            print(f"| {t} | {eta:g} | {several} of {len(shares)} | {margins} |")


def largest_margin_positive(U: np.ndarray) -> float:
    """`largest_margin` of coefficients >= 0, as the trade-off has them."""
    k, m = U.shape
    found = linprog(
        np.append(np.zeros(k), -1.0),
        A_ub=np.column_stack([-U.T, np.ones(m)]),
        b_ub=np.zeros(m),
        A_eq=[np.append(np.ones(k), 0.0)],
        b_eq=[1.0],
        bounds=[(0, None)] * k + [(None, None)],
    )
    return -float(found.fun)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--margin-rounds", type=int, default=500)
    options = parser.parse_args()
    X, target = load_breast_cancer(return_X_y=True)
    y = np.where(target == 1, 1.0, -1.0)
    H = stumps(X)
    noisy = np.where(np.random.default_rng(0).random(len(y)) < 0.1, -y, y)
    print(f"{len(H)} stumps, {len(y)} rows\n\n## Corrective steps, 10% of the labels turned\n")
    corrective_table(H * noisy, options.rounds)
    print("\n## One solution against 240 exact steps, round and round the same four hypotheses\n")
    order_table(40)
    print("\n## Margins, first 150 rows\n")
    margin_table(H[:, :150] * y[:150], options.margin_rounds)
    print("\n## Entropy-regularised trade-off on the co-simplex (not in the library)\n")
    trade_off_table(12, 4)


if __name__ == "__main__":
    main()
