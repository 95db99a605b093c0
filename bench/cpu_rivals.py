"""Libraries that multiply matrices on this processor, as far as they are installed.

In: arrays of a product. Out: callables. Not its job: measuring, our own code.

All compute C[j, i] = sum over p of A[i, p] * B[j, p] with A and B stored as DeepBench's flags say:
NumPy's OpenBLAS, BLIS, MKL and oneDNN (both through torch), LIBXSMM (cpu_xsmm.c). Weights are A.
Packed forms take A packed ahead, whose time does not count. Of BLIS, its code for AVX-512 takes
part where it chose other code by itself: 0.9 knows a few Xeons by name and runs AVX2 on the rest.
"""

import ctypes
import importlib
import importlib.util
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from ctypes import c_float, c_int64, c_void_p
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from cpu_limit import has_avx512, is_limited

from isamap.processor import this_processor

Run = Callable[[], object]
BLIS_SKX = "0", "skx"  # BLIS_ARCH_TYPE for it in 0.9, and what the library says then
SKX = ("avx512f", "avx512cd", "avx512bw", "avx512dq", "avx512vl")
XSMM_TILES = ((48, 16, 512), (16, 16, 512), (32, 12, 512), (64, 16, 256), (48, 48, 512))


@dataclass(frozen=True, slots=True)
class Product:
    """Arrays of one product: `a` is [m, k] and `b` [n, k] as views on what is stored, `c` [n, m].

    Types: f32; bf16 (a and b as f32 values that bf16 holds); i8 (a i8, b u8, c i32).
    """

    types: str
    a: np.ndarray
    b: np.ndarray
    c: np.ndarray


@dataclass(frozen=True, slots=True)
class Rival:
    """A library's way to compute a product; `is_packed`: with A packed ahead."""

    name: str
    is_packed: bool
    run: Run


def rivals(product: Product) -> Iterator[Rival]:
    """Every way that is installed and takes these types and this storage."""
    makers = {
        "f32": (openblas, blis, mkl, mkl_packed, onednn, onednn_packed, xsmm),
        "bf16": (torch_bf16, onednn_bf16, onednn_bf16_packed) if _is_wide() else (),
        "i8": (torch_i8, onednn_i8_packed),
    }
    for make in makers[product.types]:
        found = make(product)
        if found is not None:
            yield found


def _is_wide() -> bool:
    """Do libraries use AVX-512?"""
    return has_avx512() and not is_limited()


def missing() -> list[str]:
    """Libraries that are not here, and how they are installed."""
    lines = []
    if find_torch() is None:
        lines.append("MKL, oneDNN: pip install torch")
    if not find_blis():
        wide = ", of a version that BLIS_ARCH_TYPE keeps to AVX2" if is_limited() else ""
        lines.append(f"BLIS: apt-get install libblis-dev{wide}")
    if not _is_wide():
        lines.append("torch and oneDNN in bf16: without AVX-512 they have reference code only")
    if find_xsmm() is None:
        lines.append("LIBXSMM: apt-get install libxsmm-dev, and gcc")
    if find_dnnl() is None:
        lines.append("oneDNN's layers: apt-get install libdnnl-dev (2.x), and gcc")
    return lines


class Found:
    """Libraries that were looked for, once each."""

    torch: Any = None
    blis: tuple[ctypes.CDLL, ...] = ()
    xsmm: ctypes.CDLL | None = None
    dnnl: ctypes.CDLL | None = None
    looked: set[str] = set()


def find_torch() -> Any:
    """The module with one thread, or None."""
    if "torch" not in Found.looked:
        Found.looked.add("torch")
        if importlib.util.find_spec("torch") is not None:
            Found.torch = importlib.import_module("torch")
            Found.torch.set_num_threads(1)
            Found.torch.set_grad_enabled(False)
    return Found.torch


def find_blis() -> tuple[ctypes.CDLL, ...]:
    """The library, the one without threads first, and once more with its code for AVX-512 where the
    processor has that and it does not choose it; none if it is not here."""
    if "blis" not in Found.looked:
        Found.looked.add("blis")
        folder = "/usr/lib/x86_64-linux-gnu/blis-serial/"
        for name in (f"{folder}libblis.so.4", f"{folder}libblis.so", "libblis.so.4", "libblis.so"):
            try:
                found = ctypes.CDLL(name)
            except OSError:
                continue
            Found.blis = _with_wider(found)
            break
    return Found.blis


def _with_wider(own: ctypes.CDLL) -> tuple[ctypes.CDLL, ...]:
    chosen = _core_of(own)
    if is_limited():
        return (own,) if chosen == "haswell" else ()
    if chosen == BLIS_SKX[1] or not set(SKX) <= set(this_processor()[1]):
        return (own,)
    wider = _again(own, {"BLIS_ARCH_TYPE": BLIS_SKX[0]})
    return (own, wider) if _core_of(wider) == BLIS_SKX[1] else (own,)


def _again(library: ctypes.CDLL, variables: dict[str, str]) -> ctypes.CDLL:
    """The same library loaded from a file of its own, so that it reads variables anew, which it
    does in `_core_of` at the latest: they stay set."""
    name = Path(library._name).name
    lines = Path("/proc/self/maps").read_text().splitlines()
    path = next(x.split(maxsplit=5)[5] for x in lines if f"/{name}" in x)
    os.environ.update(variables)
    with tempfile.TemporaryDirectory(prefix="isamap-rival-") as folder:
        return ctypes.CDLL(str(shutil.copy(path, Path(folder, "again.so"))))


def _core_of(blis: ctypes.CDLL) -> str:
    """The processor whose code it runs."""
    blis.bli_init()
    blis.bli_arch_string.restype = ctypes.c_char_p
    return str(blis.bli_arch_string(blis.bli_arch_query_id()).decode())


def find_xsmm() -> ctypes.CDLL | None:
    """cpu_xsmm.c compiled with LIBXSMM, or None where it is not installed."""
    if "xsmm" not in Found.looked:
        Found.looked.add("xsmm")
        libraries = ("-lxsmm", "-lxsmmnoblas", "-lm", "-lpthread", "-ldl", "-lrt")
        Found.xsmm = _compiled("cpu_xsmm.c", libraries)
    return Found.xsmm


def find_dnnl() -> ctypes.CDLL | None:
    """cpu_dnnl.c compiled with oneDNN's own library, or None where it is not installed."""
    if "dnnl" not in Found.looked:
        Found.looked.add("dnnl")
        Found.dnnl = _compiled("cpu_dnnl.c", ("-ldnnl",))
    return Found.dnnl


def _compiled(name: str, libraries: tuple[str, ...]) -> ctypes.CDLL | None:
    """A C file beside this one as a library; None if it does not compile here."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        return None
    with tempfile.TemporaryDirectory(prefix="isamap-rival-") as folder:
        target = Path(folder, "rival.so")
        command = [compiler, "-O2", "-shared", "-fPIC", str(Path(__file__).with_name(name)), "-o"]
        done = subprocess.run([*command, str(target), *libraries], capture_output=True, check=False)
        return ctypes.CDLL(str(target)) if done.returncode == 0 else None


def openblas(product: Product) -> Rival:
    """NumPy's product: OpenBLAS in its wheels."""
    return Rival("OpenBLAS", False, lambda: np.matmul(product.b, product.a.T, out=product.c))


def blis(product: Product) -> Rival | None:
    """BLIS's own interface, which takes any strides."""
    calls = [_blis_call(library, product) for library in find_blis()]
    return Rival("BLIS", False, _fastest(calls)) if calls else None


def _blis_call(library: ctypes.CDLL, product: Product) -> Run:
    (n, k), m = product.b.shape, product.a.shape[0]
    one, zero = c_float(1), c_float(0)
    steps = [tuple(c_int64(s // 4) for s in x.strides) for x in (product.b, product.a, product.c)]
    (rb, cb), (ra, ca), (rc, cc) = steps
    b, a, c = (c_void_p(x.ctypes.data) for x in (product.b, product.a, product.c))
    none, sizes = ctypes.c_int(0), (c_int64(n), c_int64(m), c_int64(k))
    call = library.bli_sgemm
    call.restype = None
    return lambda: call(
        none, none, *sizes, ctypes.byref(one), b, rb, cb, a, ca, ra, ctypes.byref(zero), c, rc, cc
    )


def _fastest(runs: Sequence[Run]) -> Run:
    """Of ways to do the same, each once to get warm and twice in turn."""
    if len(runs) == 1:
        return runs[0]
    best = [float("inf")] * len(runs)
    for round_ in range(3):
        for number, run in enumerate(runs):
            begin = time.thread_time()
            run()
            if round_:
                best[number] = min(best[number], time.thread_time() - begin)
    return runs[best.index(min(best))]


def mkl(product: Product) -> Rival | None:
    """torch.mm: MKL's sgemm."""
    torch = find_torch()
    if torch is None:
        return None
    a, b, c = (torch.from_numpy(x) for x in (product.a, product.b, product.c))
    return Rival("MKL", False, lambda: torch.mm(b, a.t(), out=c))


def mkl_packed(product: Product) -> Rival | None:
    """MKL's packed interface, where torch was built with it."""
    torch = find_torch()
    if torch is None or not torch.backends.mkl.is_available():
        return None
    a, b = torch.from_numpy(product.a).contiguous(), torch.from_numpy(product.b).contiguous()
    packed = torch.ops.mkl._mkl_reorder_linear_weight(a, b.shape[0])
    return Rival("MKL", True, lambda: torch.ops.mkl._mkl_linear(b, packed, a, None, b.shape[0]))


def onednn(product: Product) -> Rival | None:
    """oneDNN's product on arrays as they lie, where it takes A as it is."""
    torch = find_torch()
    if torch is None or not product.a.flags.c_contiguous:
        return None
    a, b = torch.from_numpy(product.a), torch.from_numpy(product.b)
    return Rival("oneDNN", False, _linear(torch, b, a))


def onednn_packed(product: Product) -> Rival | None:
    """oneDNN's product with A reordered ahead."""
    torch = find_torch()
    if torch is None:
        return None
    a, b = torch.from_numpy(product.a).contiguous(), torch.from_numpy(product.b)
    packed = torch.ops.mkldnn._reorder_linear_weight(a, b.shape[0])
    return Rival("oneDNN", True, _linear(torch, b, packed))


def _linear(torch: Any, b: Any, a: Any) -> Run:
    return lambda: torch.ops.mkldnn._linear_pointwise(b, a, None, "none", [], "")


def torch_bf16(product: Product) -> Rival | None:
    """torch.mm: bf16 to bf16."""
    torch = find_torch()
    if torch is None:
        return None
    a, b = (torch.from_numpy(x).bfloat16() for x in (product.a, product.b))
    return Rival("torch", False, lambda: torch.mm(b, a.t()))


def onednn_bf16(product: Product) -> Rival | None:
    """oneDNN, bf16 to bf16, where it takes A as it is."""
    torch = find_torch()
    if torch is None or not product.a.flags.c_contiguous:
        return None
    a, b = (torch.from_numpy(x).bfloat16() for x in (product.a, product.b))
    return Rival("oneDNN", False, _linear(torch, b, a))


def onednn_bf16_packed(product: Product) -> Rival | None:
    """oneDNN, bf16 to bf16, A reordered ahead."""
    torch = find_torch()
    if torch is None:
        return None
    a, b = (torch.from_numpy(x).bfloat16() for x in (product.a, product.b))
    packed = torch.ops.mkldnn._reorder_linear_weight(a.contiguous(), b.shape[0])
    return Rival("oneDNN", True, _linear(torch, b.contiguous(), packed))


def torch_i8(product: Product) -> Rival | None:
    """torch._int_mm: both signed; it wants more than 16 rows."""
    torch = find_torch()
    if torch is None or product.b.shape[0] <= 16 or product.b.shape[1] % 8:
        return None
    a, b = torch.from_numpy(product.a), torch.from_numpy(product.b.view(np.int8))
    return Rival("torch", False, lambda: torch._int_mm(b, a.t()))


def onednn_i8_packed(product: Product) -> Rival | None:
    """oneDNN, u8 times i8 with scales of 1 to f32, A packed ahead."""
    torch = find_torch()
    if torch is None:
        return None
    a, b = torch.from_numpy(product.a).contiguous(), torch.from_numpy(product.b).contiguous()
    packed = torch.ops.onednn.qlinear_prepack(a, None)
    ones, zeros = torch.ones(a.shape[0]), torch.zeros(a.shape[0], dtype=torch.int64)
    return Rival("oneDNN", True, lambda: torch.ops.onednn.qlinear_pointwise(
        b, 1.0, 0, packed, ones, zeros, None, 1.0, 0, torch.float32, "none", [], ""
    ))  # fmt: skip


def xsmm(product: Product) -> Rival | None:
    """LIBXSMM with its best tile of a few."""
    library = find_xsmm()
    (n, k), m = product.b.shape, product.a.shape[0]
    if library is None or not product.b.flags.c_contiguous:
        return None
    steps = [c_int64(s // 4) for s in product.a.strides]
    a, b, c = (c_void_p(x.ctypes.data) for x in (product.a, product.b, product.c))
    library.xsmm_pack.restype = library.xsmm_run.restype = None
    runs: list[Run] = []
    for mb, nb, kb in XSMM_TILES:
        shape = (c_int64 * 6)(m, n, k, mb, nb, min(kb, k))
        rows, columns = -(-m // mb) * mb, -(-k // min(kb, k)) * min(kb, k)
        packed = np.zeros(rows * columns + 16, np.float32)
        place = c_void_p(packed.ctypes.data + -packed.ctypes.data % 64)
        library.xsmm_pack(shape, a, *steps, place)

        def run(shape: Any = shape, place: c_void_p = place, keep: Any = (packed, product)) -> None:
            library.xsmm_run(shape, place, b, c)

        runs.append(run)
    return Rival("LIBXSMM", True, _fastest(runs))
