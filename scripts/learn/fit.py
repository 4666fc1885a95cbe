"""The three small convex problems of learning: order by softmax over candidates, order of fields, probability.

All are fitted by L-BFGS with an L2 penalty on standardised features, so the outcome depends on the data alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit, logsumexp

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Lists:
    """Lists of candidates laid out as a block: (lists, longest, features), with how much each candidate is wanted."""

    values: Floats
    held: NDArray[np.bool_]
    wanted: Floats
    """(lists, longest) sums to 1 over each list"""
    weights: Floats
    """(lists,) sums to 1"""


def lists_of(values: Sequence[NDArray[np.floating]], wanted: Sequence[Floats], weights: Floats) -> Lists:
    longest, width = max(len(each) for each in values), values[0].shape[1]
    block = np.zeros((len(values), longest, width))
    held = np.zeros((len(values), longest), bool)
    shares = np.zeros((len(values), longest))
    for row, (each, right) in enumerate(zip(values, wanted, strict=True)):
        block[row, : len(each)] = each
        held[row, : len(each)] = True
        shares[row, : len(each)] = right / right.sum()
    return Lists(block, held, shares, weights / weights.sum())


def fit_order(lists: Lists, *, penalty: float, fixed: Floats | None = None) -> Floats:
    """Weights that make the wanted candidates the likeliest of their lists (softmax cross entropy).

    `fixed`: (lists, longest) scores of features whose weights are set by hand, added as they are.
    """
    scale = lists.values[lists.held].std(axis=0)
    used = scale > 1e-9
    values = lists.values[..., used] / scale[used]
    given = np.zeros(lists.held.shape) if fixed is None else fixed

    def loss(weights: Floats) -> tuple[float, Floats]:
        scores = np.where(lists.held, values @ weights + given, -1e9)
        total = logsumexp(scores, axis=1)
        likely = np.exp(scores - total[:, None])
        missed = total - (lists.wanted * np.where(lists.held, scores, 0)).sum(axis=1)
        slope = np.einsum("n,nk,nkd->d", lists.weights, likely - lists.wanted, values)
        return float((lists.weights * missed).sum() + penalty * weights @ weights), slope + 2 * penalty * weights

    start = np.zeros(int(used.sum()))
    found = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 500})
    weights = np.zeros(len(scale))
    weights[used] = found.x / scale[used]
    return weights


def fit_probability(signs: Floats, true: NDArray[np.bool_], weights: Floats, *, penalty: float) -> tuple[Floats, float]:
    """Logistic regression: (weights, bias)."""
    mean, scale = signs.mean(axis=0), signs.std(axis=0)
    used = scale > 1e-9
    values = (signs[:, used] - mean[used]) / scale[used]
    share = weights / weights.sum()

    def loss(at: Floats) -> tuple[float, Floats]:
        scores = values @ at[:-1] + at[-1]
        likely = expit(scores)
        missed = np.logaddexp(0, scores) - true * scores
        slope = share * (likely - true)
        gradient = np.append(values.T @ slope + 2 * penalty * at[:-1], slope.sum())
        return float((share * missed).sum() + penalty * at[:-1] @ at[:-1]), gradient

    found = minimize(loss, np.zeros(int(used.sum()) + 1), jac=True, method="L-BFGS-B", options={"maxiter": 500})
    fitted = np.zeros(len(scale))
    fitted[used] = found.x[:-1] / scale[used]
    return fitted, float(found.x[-1] - fitted @ mean)


def as_mapping(names: Sequence[str], weights: Floats) -> Mapping[str, float]:
    return {name: round(float(weight), 4) for name, weight in zip(names, weights, strict=True) if abs(weight) > 1e-6}
