"""An ordinary program, which `mypy --strict` reads and `test_typed.py` runs."""

import numpy as np

import hologram
from hologram import Array
from hologram import array as hp


def softmax(x: Array) -> Array:
    y = hp.exp(x - hp.max(x, axis=-1, keepdims=True))
    return y / hp.sum(y, axis=-1, keepdims=True)


def layer(x: Array, w: Array, b: Array) -> Array:
    return hp.maximum(x @ w + b, 0.0)


def kmeans(points: Array, k: int, steps: int) -> tuple[Array, Array]:
    centres = points[:k].copy()
    labels = hp.zeros(points.shape[0], dtype=hp.int64)
    for _ in range(steps):
        distances = hp.sum((points[:, None, :] - centres[None, :, :]) ** 2, axis=-1)
        labels = hp.argmin(distances, axis=1)
        for i in range(k):
            chosen = points[labels == i]
            if len(chosen) > 0:
                centres[i] = hp.mean(chosen, axis=0)
    return centres, labels


def main() -> None:
    generator = hologram.random.Generator(7)
    x = generator.normal((100, 8))
    w, b = generator.uniform((8, 4)), hologram.zeros(4, dtype="float32")
    y = softmax(layer(x, w, b))
    y[0, :] = 0.25
    y[y > 0.9] = 0.9
    y += 1
    y -= hologram.ones(4, dtype=hologram.float32)
    total: float = float(y.sum())
    first: int = int(hp.argmax(y[0]))
    print(f"{total:.3f} {first} {y.mean():.2f} {y.std(axis=0)} {round(y[0, 0], 2)}")
    z = y.T.astype("float64").reshape(-1)
    for part in z[:3]:
        print(part.item(), -part, abs(part), part == 0, 2 * part, part**2, 1 - part)
    back: np.ndarray[tuple[int, ...], np.dtype[np.float64]] = np.asarray(z)
    print(back.shape, z.shape, z.dtype, z.device, z.ndim, hp.isdtype(z.dtype, "real floating"))
    u, s, vh = hp.linalg.svd(x, full_matrices=False)
    print(u.shape, s.shape, vh.shape, hp.linalg.eigh(w.mT @ w).eigenvalues, hp.fft.fft(z).real)
    values, counts = hp.unique_counts(hp.asarray([1, 2, 2]))
    print(values.tolist(), counts.tolist(), 2 in values, hp.where(values > 1, values, 0), divmod(values, 2))
    centres, labels = kmeans(x, 3, 2)
    print(centres.shape, labels.dtype == hp.int64, hologram.exp(centres).shape, hologram.allclose(centres, centres))
    with hologram.device("cpu"):
        print(hp.arange(10)[2::3] @ hp.ones(3, dtype="int64"), hologram.default_device())


if __name__ == "__main__":
    main()
