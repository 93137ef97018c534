"""The only place that factorizes: the jitter policy, whitening and the Cholesky pullback.

A covariance K is kept as its *whitener* W = L^-1, where K = L L^T. Whitening by a
triangular product is two to three times faster than by a triangular solve at the sizes
of the inner loop, and W extends to more points as cheaply as L does.

Jitter is relative to a scale (the kernel variance): 0 first, then 1e-10 rising tenfold to 1e-4,
then `NumericalError`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dger, dtrmm
from scipy.linalg.lapack import dpotrf, dpotri, dtrtri
from threadpoolctl import ThreadpoolController

from innerloop.errors import NumericalError
from innerloop.types import Array

_JITTERS = (0.0, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4)
# A pivot this small, relative to the scale, is rounding error rather than information.
_SMALLEST_PIVOT = 1e-13
# Matrices with so many rows are worth a second thread.
_SHARED_FROM = 1000

# glibc returns freed memory to the system, and has it zeroed page by page on the next use, until
# it has once seen a block of this size freed. Without this line the temporaries of the inner
# loop cost three times their arithmetic; the block itself is never touched.
np.empty(4_000_000)


def cholesky(A: Array, scale: float) -> Array:
    """Lower Cholesky factors of a stack of symmetric matrices, each with the jitter it needs.

    Args:
        A: (..., q, q).
        scale: what jitter is relative to.

    Returns:
        L (..., q, q) with L L^T = A + jitter I.
    """
    try:
        L = _cholesky(A)
    except np.linalg.LinAlgError:
        return _jittered_cholesky(A, scale)
    if diagonals(L).min() ** 2 <= _SMALLEST_PIVOT * scale:
        return _jittered_cholesky(A, scale)
    return L


def _jittered_cholesky(A: Array, scale: float) -> Array:
    """Factors of a stack (..., q, q), with the least jitter that makes each positive definite."""
    size = A.shape[-1]
    try:
        smallest = np.linalg.eigvalsh(A)[..., 0]
    except np.linalg.LinAlgError as error:
        raise _not_positive_definite(A, scale) from error
    # Rounding error of the eigenvalues themselves is of the order of eps |A|.
    margin = _SMALLEST_PIVOT * max(scale, float(np.abs(A).max())) * size
    ladder = np.array(_JITTERS) * scale
    level = np.searchsorted(ladder, 2.0 * margin - smallest)
    if not np.isfinite(margin) or (level == ladder.size).any():
        raise _not_positive_definite(A, scale)
    return _cholesky(A + ladder[level][..., None, None] * np.eye(size))


def _cholesky(A: Array) -> Array:
    """Lower Cholesky factors of a stack (..., q, q), as they are."""
    return np.linalg.cholesky(A).astype(np.float64, copy=False)


def _not_positive_definite(A: Array, scale: float) -> NumericalError:
    """The error that says how far A (..., q, q) is from having a factor."""
    finite = bool(np.isfinite(A).all())
    worst = float(np.linalg.cond(A).max()) if finite else np.nan
    return NumericalError(
        f"a covariance of {A.shape[-1]} points could not be factorized with a jitter of "
        f"{_JITTERS[-1]:g} times its scale {scale:g} (condition {worst:.1e}"
        + (")" if finite else ", entries not all finite)")
    )


def root(A: Array) -> Array:
    """A square root of a symmetric matrix, singular or not: no jitter is needed.

    Args:
        A: (q, q), positive semi-definite but for rounding.

    Returns:
        R (q, q) with R R^T = A.
    """
    values, vectors = np.linalg.eigh(A)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))


def cholesky_pullback(L: Array, d_L: Array) -> Array:
    """Carry a gradient with respect to L = cholesky(A) back to the symmetric A (Murray 2016).

        d_A = sym(L^-T Phi(L^T d_L) L^-1)

    where Phi keeps the lower triangle and halves the diagonal.

    Args:
        L: (..., q, q).
        d_L: (..., q, q), of which only the lower triangle is read.

    Returns:
        d_A (..., q, q), symmetric.
    """
    q = L.shape[-1]
    if q == 1:
        return 0.5 * d_L / L
    lower, half = _triangles(q)
    inverse = np.linalg.inv(L)
    inner = L.swapaxes(-1, -2) @ (d_L * lower)
    inner *= half
    d_A = inverse.swapaxes(-1, -2) @ inner @ inverse
    symmetric: Array = d_A + d_A.swapaxes(-1, -2)
    return symmetric


@cache
def _triangles(q: int) -> tuple[Array, Array]:
    """Masks (q, q): the lower triangle, and half of it with a quarter of the diagonal.

    The second is Phi with the factor 1/2 of the symmetrization in it.
    """
    lower = np.tril(np.ones((q, q)))
    return lower, 0.5 * lower - 0.25 * np.eye(q)


def whitener(K: Array, scale: float) -> Array:
    """The inverse W = L^-1 of the Cholesky factor of a covariance K = L L^T.

    Args:
        K: (n, n).
        scale: what jitter is relative to.

    Returns:
        W (n, n), lower triangular, in Fortran order.
    """
    W: Array = dtrtri(_factor(K, scale), lower=1, overwrite_c=1)[0]
    return W


def extend_whitener(W: Array, features: Array, block: Array, scale: float) -> Array:
    """The whitener of n + p points from that of n, in O(p n^2).

        [W  0; -C F W  C],   C^-1 C^-T = block

    Args:
        W: (n, n), of the old points.
        features: F (p, n), the whitened covariance of the new points with the old.
        block: (p, p), the covariance of the new points given the old.
        scale: what jitter is relative to.

    Returns:
        The whitener, (n + p, n + p).
    """
    n, p = W.shape[0], block.shape[0]
    corner, _ = dtrtri(cholesky(block, scale), lower=1)
    extended = np.zeros((n + p, n + p), order="F")
    extended[:n, :n] = W
    extended[n:, :n] = -corner @ unwhiten_gradient(W, features.copy())
    extended[n:, n:] = np.tril(corner)
    return extended


def whiten(W: Array, k: Array) -> Array:
    """Rows of k whitened: k W^T.

    Args:
        W: (n, n), lower triangular.
        k: (M, n); its memory is reused for the result.

    Returns:
        k W^T, (M, n).
    """
    return dtrmm(1.0, W, k.T, lower=1, overwrite_b=1).T


def unwhiten_gradient(W: Array, d_features: Array) -> Array:
    """Carry a gradient with respect to `whiten(W, k)` back to k: d_features W.

    Args:
        W: (n, n), lower triangular.
        d_features: (M, n); its memory is reused for the result.

    Returns:
        The gradient with respect to k, (M, n).
    """
    return dtrmm(1.0, W, d_features.T, lower=1, trans_a=1, overwrite_b=1).T


def add_outer(A: Array, x: Array, y: Array) -> Array:
    """A + x y^T, in the memory of A.

    Args:
        A: (M, n).
        x: (M,).
        y: (n,).

    Returns:
        The sum, (M, n).
    """
    return dger(1.0, y, x, a=A.T, overwrite_a=1).T


def log_determinant_and_inverse(K: Array, scale: float) -> tuple[float, Array]:
    """Both log |K| and K^-1 of a covariance, from one factorization.

    Args:
        K: (n, n).
        scale: what jitter is relative to.

    Returns:
        log |K|, and the full K^-1 (n, n), symmetric.
    """
    L = _factor(K, scale)
    log_determinant = 2.0 * float(np.log(L.diagonal()).sum())
    lower: Array = dpotri(L, lower=1, overwrite_c=1)[0]
    inverse = lower + lower.T
    diagonals(inverse)[...] *= 0.5
    return log_determinant, inverse


def log_determinants_and_inverses(K: Array, scales: Array) -> tuple[Array, Array]:
    """Both log |K| and K^-1 of a stack of covariances.

    Args:
        K: (S, n, n).
        scales: (S,), what jitter is relative to.

    Returns:
        log |K| (S,) and K^-1 (S, n, n).
    """
    # One after the other: LAPACK inverts symmetric matrices twice as fast as NumPy a stack.
    inverses = np.empty_like(K)
    log_determinants = np.empty(len(K))
    for i, scale in enumerate(scales):
        log_determinants[i], inverses[i] = log_determinant_and_inverse(K[i], scale)
    return log_determinants, inverses


def log_determinants_and_forms(pairs: Array, noise: Array, B: Array) -> tuple[Array, Array]:
    """Both log |K| and B K^-1 B^T for a stack of correlations with noise.

    One factorization of each K, bordered by B and by a multiple of the identity that keeps it
    positive definite, and no solution: the Schur complement of K holds the forms.

    Args:
        pairs: (S, n (n - 1) / 2), what is below the diagonal of K, row by row.
        noise: (S, n), above 0, in addition to the 1 on the diagonal.
        B: (k, n).

    Returns:
        log |K| (S,) and B K^-1 B^T (S, k, k).
    """
    S, n, k = len(noise), B.shape[1], len(B)
    corner = 2.0 * (1.0 + np.vdot(B, B) / noise.min(axis=1))
    bordered = np.zeros((S, n + k, n + k))
    # Only what is below the diagonal is read.
    bordered.reshape(S, -1)[:, _below(n, n + k)] = pairs
    bordered[:, n:, :n] = B
    diagonal = diagonals(bordered)
    diagonal[:, :n] = 1.0 + noise
    diagonal[:, n:] = corner[:, None]
    L = _cholesky(bordered)
    rest = L[:, n:, n:]
    forms = corner[:, None, None] * np.eye(k) - rest @ rest.swapaxes(-1, -2)
    return 2.0 * np.log(diagonals(L)[:, :n]).sum(axis=-1), forms


@cache
def _below(n: int, width: int) -> NDArray[np.intp]:
    """Where entries below the diagonal of an (n, n) matrix are in one that is so wide."""
    rows, columns = np.tril_indices(n, -1)
    return np.asarray(rows * width + columns)


def _factor(K: Array, scale: float) -> Array:
    """Cholesky factor of a matrix (n, n), with the least jitter that makes its pivots sound."""
    for jitter in _JITTERS:
        shifted = K if jitter == 0.0 else K + jitter * scale * np.eye(K.shape[0])
        L: Array
        L, info = dpotrf(shifted, lower=1, clean=1)
        if info == 0 and L.diagonal().min() ** 2 > _SMALLEST_PIVOT * scale:
            return L
    raise _not_positive_definite(K, scale)


def diagonals(A: Array) -> Array:
    """A writable view of the diagonals of a stack of matrices.

    Args:
        A: (..., q, q).

    Returns:
        The diagonals, (..., q).
    """
    view: Array = np.einsum("...ii->...i", A)
    return view


@cache
def _controller() -> ThreadpoolController:
    """What knows the thread pools of the BLAS libraries that are loaded."""
    return ThreadpoolController()


@cache
def _given_threads() -> int:
    """How many threads BLAS had before anything here limited them."""
    pools = [pool for pool in _controller().info() if pool["user_api"] == "blas"]
    return max((pool["num_threads"] for pool in pools), default=1)


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Hold BLAS to one thread: the matrices of the inner loop are too small to share."""
    with blas_threads_for(1):
        yield


@contextmanager
def blas_threads_for(size: int) -> Iterator[None]:
    """Hold BLAS to one thread, or to two where matrices of a size are worth sharing.

    Args:
        size: how many rows the matrices have.
    """
    given = _given_threads()  # has to be known before the first limit
    threads = min(given, 2) if size >= _SHARED_FROM else 1
    with _controller().limit(limits=threads, user_api="blas"):
        yield
